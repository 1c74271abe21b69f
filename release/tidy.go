package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tidyCommands runs go mod tidy for the work tree's commands. Without a replace
// directive they find our other modules at a proxy made of the same tree.
func (t *tree) tidyCommands(ctx context.Context) error {
	version, err := t.check()
	if err != nil {
		return err
	}
	return t.inClone(ctx, func(c *tree, tmp string) error {
		if err := c.tidy(ctx, version, tmp, true); err != nil {
			return err
		}
		for _, m := range c.modules {
			for _, name := range []string{"go.mod", "go.sum"} {
				if !m.isCommand() {
					continue
				}
				name = path.Join(m.dir, name)
				if err := copyFile(t.file(name), c.file(name)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// inClone calls do with a clone of the work tree as it is, and a folder beside
// the clone. Both are gone afterwards.
func (t *tree) inClone(ctx context.Context, do func(c *tree, tmp string) error) error {
	tmp, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	commit, err := t.snapshot(ctx)
	if err != nil {
		return err
	}
	c, err := t.clone(ctx, commit, filepath.Join(tmp, "clone"))
	if err != nil {
		return err
	}
	return do(c, tmp)
}

// tidy runs go mod tidy for the tree's commands against a proxy, below tmp, of
// the tree at the version.
//
// The sums of our own modules in their go.sum are those of the release that they
// require. In development the modules have moved on since: then they stay as
// they are. A release writes new ones.
func (t *tree) tidy(ctx context.Context, version, tmp string, keepSums bool) error {
	commit, err := t.snapshot(ctx)
	if err != nil {
		return err
	}
	proxy := filepath.Join(tmp, "proxy")
	if err := t.publish(ctx, commit, version, proxy); err != nil {
		return err
	}
	env, err := t.using(ctx, proxy, true)
	if err != nil {
		return err
	}
	for _, m := range t.modules {
		if !m.isCommand() {
			continue
		}
		sums := t.file(path.Join(m.dir, "go.sum"))
		kept, err := t.replaceSums(sums, nil)
		if err != nil {
			return err
		}
		if _, err := (command{t.file(m.dir), env}).run(ctx, "go", "mod", "tidy"); err != nil {
			return fmt.Errorf("%s: %w", m.dir, err)
		}
		if keepSums {
			if _, err := t.replaceSums(sums, kept); err != nil {
				return err
			}
		}
	}
	return t.read(ctx)
}

// replaceSums puts these lines in the place of those of our own modules in a
// go.sum, and returns the old ones. A file that is not there is empty.
func (t *tree) replaceSums(file string, lines []string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var own, other []string
	for l := range strings.Lines(string(text)) {
		if _, ours := t.own(strings.Fields(l + " .")[0]); ours {
			own = append(own, l)
		} else {
			other = append(other, l)
		}
	}
	// Lines are in the order of module paths, and ours begin with the root's.
	at := slices.IndexFunc(other, func(l string) bool { return l > t.modules[0].path })
	if at < 0 {
		at = len(other)
	}
	out := strings.Join(slices.Insert(other, at, lines...), "")
	return own, os.WriteFile(file, []byte(out), 0o644)
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
