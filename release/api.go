package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

// apidiff is the Go project's own judge of API changes.
const apidiff = "golang.org/x/exp/cmd/apidiff@v0.0.0-20250305212735-054e65f0b394"

// checkAPI refuses a release that breaks the API of a module and does not say
// so: before v1 a break needs a new minor version, from then on there is none.
func (t *tree) checkAPI(ctx context.Context, last, version, tmp string) error {
	if last == "" || semver.Major(version) == "v0" && semver.MajorMinor(version) != semver.MajorMinor(last) ||
		semver.Major(version) != semver.Major(last) {
		return nil
	}
	old, err := t.clone(ctx, last, filepath.Join(tmp, "last"))
	if err != nil {
		return err
	}
	for _, m := range old.modules {
		if _, still := t.own(m.path); !m.released() || m.isCommand() || !still {
			continue
		}
		broken, err := t.incompatible(ctx, old, m, tmp)
		if err != nil {
			return err
		}
		if broken != "" {
			return fmt.Errorf("%s breaks the API of %s, so %s is not enough:\n%s", m.path, last, version, broken)
		}
	}
	return nil
}

// incompatible lists what of the module's old API no longer holds.
func (t *tree) incompatible(ctx context.Context, old *tree, m nested, tmp string) (string, error) {
	env := []string{"GOWORK=off"}
	was, is := filepath.Join(tmp, "was.export"), filepath.Join(tmp, "is.export")
	for file, in := range map[string]*tree{was: old, is: t} {
		if _, err := (command{in.file(m.dir), env}).run(ctx, "go", "run", "-trimpath", apidiff, "-m", "-w", file, m.path); err != nil {
			return "", err
		}
	}
	out, err := command{tmp, env}.run(ctx, "go", "run", "-trimpath", apidiff, "-m", "-incompatible", was, is)
	return strings.TrimSpace(out), err
}
