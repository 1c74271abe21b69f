package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// publish writes a module proxy into a folder: each released module of the
// commit at the version, packed as the go command packs it from git.
func (t *tree) publish(ctx context.Context, commit, version, dir string) error {
	for _, m := range t.modules {
		if !m.released() {
			continue
		}
		if err := t.publishModule(ctx, m, commit, version, dir); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

func (t *tree) publishModule(ctx context.Context, m nested, commit, version, dir string) (err error) {
	v := module.Version{Path: m.path, Version: version}
	escaped, err := module.EscapePath(m.path)
	if err != nil {
		return err
	}
	base := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	mod, err := t.git.run(ctx, "git", "show", commit+":"+path.Join(m.dir, "go.mod"))
	if err != nil {
		return err
	}
	told, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		version + ".mod": mod + "\n", version + ".info": string(told), "list": version + "\n",
	} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(base, version+".zip"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return zip.CreateFromVCS(f, v, t.git.dir, commit, m.dir)
}

// using returns the environment in which the go command fetches our modules
// from a proxy that publish wrote, and all others as it is set up to. With
// ownCache it keeps them in a folder beside the proxy, so that a version that
// will be published otherwise never gets into the user's cache; what is in that
// cache serves as a proxy.
func (t *tree) using(ctx context.Context, proxy string, ownCache bool) ([]string, error) {
	var set [4]string
	for i, name := range []string{"GOPROXY", "GONOSUMDB", "GOMODCACHE", "GOFLAGS"} {
		v, err := goEnv(ctx, name)
		if err != nil {
			return nil, err
		}
		set[i] = v
	}
	sources := fileURL(proxy)
	env := []string{"GOWORK=off", "GOFLAGS=" + strings.TrimSpace(set[3]+" -modcacherw")}
	if ownCache {
		sources += "," + fileURL(filepath.Join(set[2], "cache", "download"))
		env = append(env, "GOMODCACHE="+filepath.Join(filepath.Dir(proxy), "modcache"))
	}
	return append(env, "GOPROXY="+sources+","+set[0],
		"GONOSUMDB="+strings.Trim(set[1]+","+t.modules[0].path, ",")), nil
}

func fileURL(dir string) string {
	p := filepath.ToSlash(dir)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}
