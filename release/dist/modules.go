package main

import (
	"io"
	"path/filepath"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// modules lists what the tool was built of, as the go command wrote it into the program.
func (p *program) modules(out string) error {
	own := p.info.Main.Path
	list := []cdx.Component{{Type: cdx.ComponentTypeLibrary, Name: "std", Version: p.info.GoVersion, PackageURL: "pkg:golang/std@" + p.info.GoVersion[2:]}}
	for _, m := range p.info.Deps {
		version := m.Version
		if version == "(devel)" { // of this commit
			version = "v" + p.version()
		}
		list = append(list, cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: version, PackageURL: "pkg:golang/" + m.Path + "@" + version})
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: p.at().Format("2006-01-02T15:04:05Z07:00"),
		Component: &cdx.Component{Type: cdx.ComponentTypeApplication, Name: own, Version: "v" + p.version(), PackageURL: "pkg:golang/" + own + "@v" + p.version()},
	}
	bom.Components = &list
	return create(filepath.Join(out, p.name(".cdx.json")), func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}
