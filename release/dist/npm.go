package main

import (
	_ "embed"
	"encoding/json"
	"path/filepath"
	"strings"
)

//go:embed npm/aimd.js
var script []byte

// npm makes the package of the platform: the program, for npm to choose by os and cpu.
func (p *program) npm(out string) error {
	of := node(p.os, p.arch)
	name, cpu, _ := strings.Cut(of, "-")
	return p.pack(out, of, map[string]any{"os": []string{name}, "cpu": []string{cpu}, "preferUnplugged": true},
		content{name: "bin/aimd" + p.exe(), mode: 0o755, path: p.aimd})
}

// launcher makes the package that people install. It has a script, and one platform's package beside it.
func launcher(out string, built []*program) error {
	if len(built) == 0 {
		return nil
	}
	needs := map[string]string{}
	for _, platform := range all {
		os, arch, _ := strings.Cut(platform, "/")
		needs["@aimd-go/"+node(os, arch)] = built[0].version()
	}
	return built[0].pack(out, "aimd", map[string]any{"bin": map[string]string{"aimd": "bin/aimd.js"}, "engines": map[string]string{"node": ">=18"}, "optionalDependencies": needs},
		content{name: "bin/aimd.js", mode: 0o755, text: script})
}

// node is node's name of a platform.
func node(os, arch string) string {
	return strings.NewReplacer("windows", "win32", "amd64", "x64").Replace(os + "-" + arch)
}

// pack makes a package with these fields and file.
func (p *program) pack(out, name string, fields map[string]any, file content) error {
	fields["name"], fields["version"], fields["description"], fields["license"] = "@aimd-go/"+name, p.version(), summary, "Apache-2.0"
	fields["repository"] = map[string]string{"type": "git", "url": "git+" + home + ".git"}
	text, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(out, "aimd-go-"+name+"-"+p.version()+".tgz") // as npm pack names it
	return tgz(path, p.at(), "package/", content{name: "package.json", mode: 0o644, text: text}, file, license)
}
