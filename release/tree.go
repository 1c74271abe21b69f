package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// tree is a git work tree with all of our modules.
type tree struct {
	git command
	// modules has the root first, then the others by folder.
	modules []nested
}

// nested is one of our modules.
type nested struct {
	// dir is its folder in the tree, with slashes; empty for the root.
	dir  string
	path string
	file *modfile.File
}

// isCommand reports whether the module is installed, and so must not replace.
func (m nested) isCommand() bool { return strings.HasPrefix(m.dir, "cmd/") }

// released reports whether the module gets a tag.
func (m nested) released() bool {
	return m.dir == "" || m.isCommand() || strings.HasPrefix(m.dir, "contrib/")
}

// tag is the name of the git tag for a version of the module.
func (m nested) tag(version string) string { return path.Join(m.dir, version) }

// open reads the go.mod files of the work tree that dir is in.
func open(ctx context.Context, dir string) (*tree, error) {
	top, err := command{dir: dir}.run(ctx, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	t := &tree{git: command{dir: top}}
	return t, t.read(ctx)
}

// read reads the go.mod files again.
func (t *tree) read(ctx context.Context) error {
	out, err := t.git.run(ctx, "git", "ls-files", "--cached", "--others", "--exclude-standard", "go.mod", "*/go.mod")
	if err != nil {
		return err
	}
	t.modules = nil
	for name := range strings.Lines(out) {
		name = strings.TrimSpace(name)
		text, err := os.ReadFile(t.file(name))
		if err != nil {
			return err
		}
		f, err := modfile.Parse(name, text, nil)
		if err != nil {
			return err
		}
		dir := strings.TrimSuffix(strings.TrimSuffix(name, "go.mod"), "/")
		t.modules = append(t.modules, nested{dir: dir, path: f.Module.Mod.Path, file: f})
	}
	slices.SortFunc(t.modules, func(a, b nested) int { return strings.Compare(a.dir, b.dir) })
	if len(t.modules) == 0 || t.modules[0].dir != "" {
		return fmt.Errorf("no go.mod at the top of %s", t.git.dir)
	}
	return nil
}

// file is the path of a file of the tree.
func (t *tree) file(name string) string { return filepath.Join(t.git.dir, filepath.FromSlash(name)) }

// own returns our module with this path.
func (t *tree) own(path string) (nested, bool) {
	i := slices.IndexFunc(t.modules, func(m nested) bool { return m.path == path })
	if i < 0 {
		return nested{}, false
	}
	return t.modules[i], true
}

// check returns the version at which our modules require each other, or an
// error where they do not agree or a replace directive is wrong.
func (t *tree) check() (string, error) {
	version, from := "", ""
	for _, m := range t.modules {
		for _, r := range m.file.Require {
			if _, ok := t.own(r.Mod.Path); !ok {
				continue
			}
			if version == "" {
				version, from = r.Mod.Version, m.dir
			}
			if r.Mod.Version != version {
				return "", fmt.Errorf("%s/go.mod requires %s, but %s/go.mod requires %s: our modules require each other at one version",
					m.dir, r.Mod, from, version)
			}
		}
		for _, r := range m.file.Replace {
			if err := t.checkReplace(m, r); err != nil {
				return "", err
			}
		}
	}
	return version, nil
}

// checkReplace returns an error unless the directive leads to a module of ours
// by a relative path, in a module that may have it.
func (t *tree) checkReplace(m nested, r *modfile.Replace) error {
	if m.isCommand() {
		return fmt.Errorf("%s/go.mod replaces %s: go install refuses that; go.work does it in development", m.dir, r.Old.Path)
	}
	o, ok := t.own(r.Old.Path)
	if !ok || m.dir == "" {
		return fmt.Errorf("%s/go.mod replaces %s: only nested modules replace, and only modules of this repository", m.dir, r.Old.Path)
	}
	if r.Old.Version != "" || path.Join(m.dir, r.New.Path) != path.Join(".", o.dir) {
		return fmt.Errorf("%s/go.mod replaces %s by %q, which is not its folder", m.dir, r.Old.Path, r.New.Path)
	}
	return nil
}

// require makes our modules require each other at the version.
func (t *tree) require(version string) error {
	for _, m := range t.modules {
		changed := false
		for _, r := range slices.Clone(m.file.Require) {
			if _, ok := t.own(r.Mod.Path); !ok || r.Mod.Version == version {
				continue
			}
			if err := m.file.AddRequire(r.Mod.Path, version); err != nil {
				return err
			}
			changed = true
		}
		if !changed {
			continue
		}
		text, err := m.file.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(t.file(path.Join(m.dir, "go.mod")), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// snapshot is a commit, on no branch, of the work tree as it is: changes and
// new files too.
func (t *tree) snapshot(ctx context.Context) (string, error) {
	tmp, err := os.MkdirTemp("", "release-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	g := command{dir: t.git.dir, env: append([]string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}, rehearser...)}
	if _, err := g.run(ctx, "git", "add", "--all"); err != nil {
		return "", err
	}
	id, err := g.run(ctx, "git", "write-tree")
	if err != nil {
		return "", err
	}
	return g.run(ctx, "git", "commit-tree", "-p", "HEAD", "-m", "snapshot", id)
}

// rehearser is who commits what no branch keeps.
var rehearser = []string{
	"GIT_AUTHOR_NAME=rehearsal", "GIT_AUTHOR_EMAIL=rehearsal@localhost",
	"GIT_COMMITTER_NAME=rehearsal", "GIT_COMMITTER_EMAIL=rehearsal@localhost",
}

// clone makes a clone of the tree at a commit, in a new folder.
func (t *tree) clone(ctx context.Context, commit, dir string) (*tree, error) {
	if _, err := t.git.run(ctx, "git", "clone", "--quiet", "--shared", "--no-checkout", t.git.dir, dir); err != nil {
		return nil, err
	}
	g := command{dir: dir}
	if _, err := g.run(ctx, "git", "checkout", "--quiet", "--detach", commit); err != nil {
		return nil, err
	}
	return open(ctx, dir)
}
