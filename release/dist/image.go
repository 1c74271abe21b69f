package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// image makes the image of the proxy alone, for all platforms of Linux, as a tar of an OCI layout.
func image(out string, linux []*program) error {
	if len(linux) == 0 {
		return nil
	}
	index := v1.ImageIndex(mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	for _, p := range linux {
		of, err := p.image()
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: of, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}}})
	}
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	var all []content
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all = append(all, content{name: filepath.ToSlash(path[len(dir)+1:]), mode: 0o644, path: path})
		}
		return err
	})
	if err != nil {
		return err
	}
	name := "aimd-proxy_" + linux[0].version() + "_oci.tar"
	return create(filepath.Join(out, name), func(w io.Writer) error { return writeTar(w, linux[0].at(), "", all...) })
}

// image is one layer: the proxy, its license, and the certificates that it trusts.
func (p *program) image() (v1.Image, error) {
	var files bytes.Buffer
	program := content{name: "aimd-proxy", mode: 0o755, path: p.proxy}
	trusted := content{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: roots()}
	if err := writeTar(&files, p.at(), "", program, trusted, license); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	of, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, err
	}
	config, err := of.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: p.at()}
	config.Config = v1.Config{Entrypoint: []string{"/aimd-proxy"}, User: "65532:65532", Labels: map[string]string{
		"org.opencontainers.image.source": home, "org.opencontainers.image.version": p.version(), "org.opencontainers.image.licenses": "Apache-2.0",
	}}
	return mutate.ConfigFile(of, config)
}

// roots are Mozilla's certificates, but for those that are trusted under a condition.
func roots() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return all.Bytes()
}
