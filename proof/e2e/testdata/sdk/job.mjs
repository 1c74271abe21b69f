// Sends requests by an SDK as it comes: job.mjs KIND ADDRESS AT_A_TIME REQUESTS. It prints how many were lost.
import { createHash } from "node:crypto"
import { Readable } from "node:stream"
import Anthropic from "@anthropic-ai/sdk"
import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3"
import { getSignedUrl } from "@aws-sdk/s3-request-presigner"
import { NodeHttpHandler } from "@smithy/node-http-handler"
import OpenAI from "openai"

const [kind, address, atATime, requests] = process.argv.slice(2)
const openai = new OpenAI({ apiKey: "k", baseURL: `http://${address}/v1` })
const anthropic = new Anthropic({ apiKey: "k", baseURL: `http://${address}` })
const store = {
  region: "us-east-1", forcePathStyle: true, credentials: { accessKeyId: "e2e", secretAccessKey: "e2e-secret-key" },
}
const [hostname, port] = address.split(":")

// Through sends what is signed for AWS to the proxy.
class Through extends NodeHttpHandler {
  handle(request, options) {
    return super.handle(Object.assign(request, { protocol: "http:", hostname, port }), options)
  }
}

const s3 = new S3Client(kind === "s3-aws" ? { ...store, requestHandler: new Through() } : { ...store, endpoint: `http://${address}` })
const object = i => ({ Bucket: "bucket", Key: `${kind}/${i} ü+` })
const bytes = i => Buffer.alloc(16384, createHash("md5").update(`${i}`).digest())
const read = async i => Buffer.from(await (await s3.send(new GetObjectCommand(object(i)))).Body.transformToByteArray())
const ask = i => ({ model: "m", max_tokens: 9, messages: [{ role: "user", content: `prompt ${i}` }] })

// Each kind returns whether the answer is the right one.
const kinds = {
  async openai(i) {
    return (await openai.chat.completions.create(ask(i))).choices[0].message.content === `answer to prompt ${i}`
  },
  async "openai-stream"(i) {
    let text = ""
    for await (const part of await openai.chat.completions.create({ ...ask(i), stream: true })) text += part.choices[0].delta.content
    return text === `answer to prompt ${i}`
  },
  async anthropic(i) {
    return (await anthropic.messages.create(ask(i))).content[0].text === `answer to prompt ${i}`
  },
  async "anthropic-stream"(i) {
    return (await anthropic.messages.stream(ask(i)).finalText()) === `answer to prompt ${i}`
  },
  async s3(i) {
    await s3.send(new PutObjectCommand({ ...object(i), Body: bytes(i) }))
    return bytes(i).equals(await read(i))
  },
  async "s3-stream"(i) {
    await s3.send(new PutObjectCommand({ ...object(i), Body: Readable.from([bytes(i)]), ContentLength: 16384 }))
    return bytes(i).equals(await read(i))
  },
  async "s3-presigned"(i) {
    const put = await getSignedUrl(s3, new PutObjectCommand(object(i)), { expiresIn: 600 })
    if (!(await fetch(put, { method: "PUT", body: bytes(i) })).ok) return false
    const got = await fetch(await getSignedUrl(s3, new GetObjectCommand(object(i)), { expiresIn: 600 }))
    return bytes(i).equals(Buffer.from(await got.arrayBuffer()))
  },
}
kinds["s3-aws"] = kinds.s3

const reasons = {}
let lost = 0
let next = 0
const began = performance.now()
await Promise.all(Array.from({ length: +atATime }, async () => {
  for (let i; (i = next++) < +requests;) {
    let fine = false
    try {
      fine = await kinds[kind](i)
    } catch (e) {
      const reason = `${e}`.slice(0, 200)
      reasons[reason] = (reasons[reason] ?? 0) + 1
    }
    if (!fine) lost++
  }
}))
console.log(JSON.stringify({ lost, seconds: (performance.now() - began) / 1000, reasons }))
process.exit(0)
