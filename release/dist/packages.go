package main

import (
	"io"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	home    = "https://github.com/aimd-go/aimd"
	summary = "All that a remote service will give, and no more: congestion control for concurrency"
)

// packages makes the packages for Debian and Red Hat.
func (p *program) packages(out string) error {
	for _, format := range []string{"deb", "rpm"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "aimd", Arch: p.arch, Platform: "linux", Version: p.version(), MTime: p.at(),
			Maintainer: "aimd maintainers <maintainers@users.noreply.github.com>", Description: summary, Homepage: home, License: "Apache-2.0",
			Overridables: nfpm.Overridables{Contents: files.Contents{
				{Source: p.aimd, Destination: "/usr/bin/aimd", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: p.at()}},
				{Source: license.path, Destination: "/usr/share/doc/aimd/copyright", FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: p.at()}},
			}},
		})
		path := filepath.Join(out, packager.ConventionalFileName(info))
		if err := create(path, func(w io.Writer) error { return packager.Package(info, w) }); err != nil {
			return err
		}
	}
	return nil
}
