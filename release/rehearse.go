package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
)

// rehearse does what a release does, on a copy of the work tree, and then what
// users do with it, from empty folders: it fetches, builds and runs each
// library by itself, and installs each command.
func rehearse(ctx context.Context, t *tree) error {
	if _, err := t.check(); err != nil {
		return err
	}
	head, err := t.git.run(ctx, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	// A version that no cache can have yet: it tells this very second.
	version := module.PseudoVersion("", "", time.Now().UTC(), head[:12])
	return t.inClone(ctx, func(c *tree, tmp string) error {
		if err := c.require(version); err != nil {
			return err
		}
		if err := c.tidy(ctx, version, tmp, false); err != nil {
			return err
		}
		return c.tryOut(ctx, version, tmp)
	})
}

// tryOut publishes the tree at the version to a proxy below tmp, and uses it
// from there.
func (t *tree) tryOut(ctx context.Context, version, tmp string) (err error) {
	commit, err := t.snapshot(ctx)
	if err != nil {
		return err
	}
	proxy := filepath.Join(tmp, "published")
	if err := t.publish(ctx, commit, version, proxy); err != nil {
		return err
	}
	env, err := t.using(ctx, proxy, false)
	if err != nil {
		return err
	}
	// The user's own module cache has what the libraries need, built already.
	// Ours leave it again.
	defer func() { err = errors.Join(err, t.forget(ctx, version)) }()
	for _, m := range t.modules {
		switch {
		case m.isCommand():
			err = t.install(ctx, m, version, tmp, env)
		case m.released():
			err = t.use(ctx, m, version, tmp, env)
		}
		if err != nil {
			return fmt.Errorf("%s@%s: %w", m.path, version, err)
		}
	}
	return nil
}

// use fetches a library into an empty module, and builds and runs its program
// in release/testdata there.
func (t *tree) use(ctx context.Context, m nested, version, tmp string, env []string) error {
	name := path.Join("release/testdata", m.dir, "main.go")
	if _, err := os.Stat(t.file(name)); err != nil {
		return fmt.Errorf("no program to try it out with: %w", err)
	}
	dir := filepath.Join(tmp, "use", filepath.FromSlash(m.dir), "program")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(dir, "main.go"), t.file(name)); err != nil {
		return err
	}
	c := command{dir, env}
	for _, args := range [][]string{{"mod", "init", "program"}, {"get", m.path + "@" + version}, {"build", "-mod=mod", "-o", "program.exe", "."}} {
		if _, err := c.run(ctx, "go", args...); err != nil {
			return err
		}
	}
	out, err := c.run(ctx, filepath.Join(dir, "program.exe"))
	if err != nil {
		return err
	}
	return report(m, out)
}

// install installs a command and asks it for its version.
func (t *tree) install(ctx context.Context, m nested, version, tmp string, env []string) error {
	bin := filepath.Join(tmp, "bin")
	c := command{tmp, append(env, "GOBIN="+bin)}
	if _, err := c.run(ctx, "go", "install", m.path+"@"+version); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(bin, path.Base(m.path)+"*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%d programs installed, want one (%w)", len(found), err)
	}
	out, err := c.run(ctx, found[0], "--version")
	if err != nil {
		return err
	}
	commit := version[strings.LastIndex(version, "-")+1:]
	if strings.Contains(out, "\n") || !strings.Contains(out, version) || !strings.Contains(out, commit) {
		return fmt.Errorf("--version prints %q, want one line with version and commit", out)
	}
	return report(m, out)
}

func report(m nested, out string) error {
	if out == "" {
		return fmt.Errorf("%s: the program prints nothing", m.path)
	}
	_, err := fmt.Printf("works: %-40s %s\n", m.path, out)
	return err
}

// forget removes a version of our modules from the user's module cache.
func (t *tree) forget(ctx context.Context, version string) error {
	cache, err := goEnv(ctx, "GOMODCACHE")
	if err != nil {
		return err
	}
	for _, m := range t.modules {
		escaped, err := module.EscapePath(m.path)
		if err != nil {
			return err
		}
		at := filepath.FromSlash(escaped)
		found, err := filepath.Glob(filepath.Join(cache, "cache", "download", at, "@v", version+".*"))
		if err != nil {
			return err
		}
		for _, name := range append(found, filepath.Join(cache, at+"@"+version)) {
			if err := os.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	return nil
}
