package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"time"
)

// content is a file of an archive: its name there, and where it is, or its text.
type content struct {
	name string
	mode int64
	path string
	text []byte
}

func (c content) read() ([]byte, error) {
	if c.path == "" {
		return c.text, nil
	}
	return os.ReadFile(c.path)
}

var license = content{name: "LICENSE", mode: 0o644, path: filepath.Join(tree, "LICENSE")}

// writeTar writes a tar of the files, whose names begin with the prefix.
func writeTar(w io.Writer, at time.Time, prefix string, all ...content) error {
	to := tar.NewWriter(w)
	for _, c := range all {
		b, err := c.read()
		if err != nil {
			return err
		}
		if err := to.WriteHeader(&tar.Header{Name: prefix + c.name, Mode: c.mode, Size: int64(len(b)), ModTime: at, Format: tar.FormatPAX}); err != nil {
			return err
		}
		if _, err := to.Write(b); err != nil {
			return err
		}
	}
	return to.Close()
}

// tgz makes a compressed tar.
func tgz(path string, at time.Time, prefix string, all ...content) error {
	return create(path, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := writeTar(z, at, prefix, all...); err != nil {
			return err
		}
		return z.Close()
	})
}

func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}

// archive makes the archive of the tool: zip for Windows.
func (p *program) archive(out string) error {
	all := []content{{name: "aimd" + p.exe(), mode: 0o755, path: p.aimd}, license}
	if p.os != "windows" {
		return tgz(filepath.Join(out, p.name(".tar.gz")), p.at(), "", all...)
	}
	return create(filepath.Join(out, p.name(".zip")), func(w io.Writer) error {
		to := zip.NewWriter(w)
		for _, c := range all {
			b, err := c.read()
			if err != nil {
				return err
			}
			f, err := to.CreateHeader(&zip.FileHeader{Name: c.name, Method: zip.Deflate, Modified: p.at()})
			if err != nil {
				return err
			}
			if _, err := f.Write(b); err != nil {
				return err
			}
		}
		return to.Close()
	})
}
