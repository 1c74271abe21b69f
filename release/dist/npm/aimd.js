#!/usr/bin/env node
// Starts the program, which is in the package of this platform.
const { spawn } = require("node:child_process")

const from = `@aimd-go/${process.platform}-${process.arch}`
let path
try {
  path = require.resolve(`${from}/bin/aimd${process.platform === "win32" ? ".exe" : ""}`)
} catch {
  console.error(`aimd: the package ${from} is missing: install without --omit=optional, or there is none for this platform`)
  process.exit(1)
}
const program = spawn(path, process.argv.slice(2), { stdio: "inherit" })
// A terminal sends Ctrl-C to both.
process.on("SIGINT", () => {})
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => program.kill(signal))
program.on("error", error => { console.error(`aimd: ${error.message}`); process.exit(1) })
program.on("exit", (code, signal) => process.exit(signal ? 1 : code))
