// Command dist makes what people install who have no Go, in a new folder:
//
//	archives of aimd for Linux, macOS and Windows, each with a list of its modules (CycloneDX)
//	packages for Debian and Red Hat, and for npm
//	an image of aimd proxy with nothing else, as an OCI layout
//	SHA256SUMS
//
// It needs Go and the module proxy, and no root, Docker or registry. The version is that of the program, which Go takes
// from the tag of the commit. It is a module of its own, which go.work does not have, since only a release needs it:
//
//	cd release/dist && GOWORK=off go run . -out FOLDER [GOOS/GOARCH...]
//
// goreleaser would not do: tags with the folder of a module, and npm, are in its paid edition, its images need Docker or a
// registry, and its lists of modules another program. Its library for packages is used here.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// all are the platforms without an argument.
var all = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// tree is the root of the repository, from the folder of this program.
const tree = "../.."

// program is what the go command built for a platform.
type program struct {
	os, arch string
	// aimd and proxy are the paths of the tool, and of the proxy alone.
	aimd, proxy string
	info        *buildinfo.BuildInfo
}

func main() {
	log.SetFlags(0)
	out := flag.String("out", "", "the `folder` to make")
	flag.Parse()
	if err := dist(*out, flag.Args()); err != nil {
		log.Fatal("dist: ", err)
	}
}

func dist(out string, platforms []string) error {
	if err := os.Mkdir(out, 0o755); err != nil {
		return fmt.Errorf("-out %s: want a folder that is not there: %w", out, err)
	}
	work, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if len(platforms) == 0 {
		platforms = all
	}
	var linux []*program
	for _, platform := range platforms {
		p, err := build(work, platform)
		if err == nil {
			err = cmp.Or(p.archive(out), p.modules(out), p.npm(out))
		}
		if err == nil && p.os == "linux" {
			linux = append(linux, p)
			err = p.packages(out)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	if err := cmp.Or(image(out, linux), launcher(out, linux)); err != nil {
		return err
	}
	return sums(out)
}

// build compiles the tool and the proxy alone. What whoever builds has in the environment changes no byte.
func build(work, platform string) (p *program, err error) {
	p = &program{}
	p.os, p.arch, _ = strings.Cut(platform, "/")
	dir := filepath.Join(work, p.os+"_"+p.arch)
	cmd := exec.Command("go", "build", "-buildvcs=auto", "-trimpath", "-ldflags=-s -w", "-o", dir+"/", ".", "./aimd-proxy")
	cmd.Dir, cmd.Stderr = filepath.Join(tree, "cmd", "aimd"), os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0", "GOWORK=", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	p.aimd, p.proxy = filepath.Join(dir, "aimd"+p.exe()), filepath.Join(dir, "aimd-proxy"+p.exe())
	p.info, err = buildinfo.ReadFile(p.aimd)
	return p, err
}

func (p *program) exe() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// version is that of the program, without a v. Without a repository it has none.
func (p *program) version() string {
	if v, ok := strings.CutPrefix(p.info.Main.Version, "v"); ok {
		return v
	}
	return "0.0.0-devel"
}

// name is the name of a file that has the version and the platform.
func (p *program) name(end string) string {
	return fmt.Sprintf("aimd_%s_%s_%s%s", p.version(), p.os, p.arch, end)
}

// at is the time of the commit, so that all who build it make the same files.
func (p *program) at() time.Time {
	for _, s := range p.info.Settings {
		if t, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
			return t
		}
	}
	return time.Unix(0, 0).UTC()
}

// sums writes the checksums of all files, as sha256sum -c reads them.
func sums(out string) error {
	entries, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(b), e.Name())
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(lines.String()), 0o644)
}
