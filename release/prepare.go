package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// prepare makes the commit and the tags of a release. All is done in a clone;
// the work tree gets the commit and the tags at the end, or nothing.
func prepare(ctx context.Context, t *tree, version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version || semver.Major(version) > "v1" {
		return fmt.Errorf("version %q: want v0.Y.Z or v1.Y.Z", version)
	}
	dirty, err := t.git.run(ctx, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if dirty != "" {
		return fmt.Errorf("the work tree has changes that are not committed:\n%s", dirty)
	}
	last, err := t.lastVersion(ctx)
	if err != nil {
		return err
	}
	if semver.Compare(version, last) <= 0 {
		return fmt.Errorf("version %s is not after the last one, %s", version, last)
	}
	if _, err := t.check(); err != nil {
		return err
	}
	return t.inClone(ctx, func(c *tree, tmp string) error {
		if err := c.release(ctx, version, tmp); err != nil {
			return err
		}
		if err := c.checkAPI(ctx, last, version, tmp); err != nil {
			return err
		}
		return t.take(ctx, c, version)
	})
}

// release makes of the tree what the tags of a release show.
func (t *tree) release(ctx context.Context, version, tmp string) error {
	text, err := os.ReadFile(t.file("CHANGELOG.md"))
	if err != nil {
		return err
	}
	closed, err := closeChangelog(string(text), version, time.Now().UTC().Format(time.DateOnly))
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.file("CHANGELOG.md"), []byte(closed), 0o644); err != nil {
		return err
	}
	if err := t.require(version); err != nil {
		return err
	}
	return t.tidy(ctx, version, tmp, false)
}

// take brings the clone's changes into the work tree, commits and tags them.
func (t *tree) take(ctx context.Context, c *tree, version string) error {
	if _, err := c.git.run(ctx, "git", "add", "--all"); err != nil {
		return err
	}
	changes, err := c.git.run(ctx, "git", "diff", "--cached", "--name-only", "HEAD")
	if err != nil {
		return err
	}
	names := strings.Fields(changes)
	for _, name := range names {
		if err := copyFile(t.file(name), c.file(name)); err != nil {
			return err
		}
	}
	if _, err := t.git.run(ctx, "git", append([]string{"add", "--"}, names...)...); err != nil {
		return err
	}
	if _, err := t.git.run(ctx, "git", "commit", "--quiet", "--message", "release "+version); err != nil {
		return err
	}
	var tags []string
	for _, m := range t.modules {
		if !m.released() {
			continue
		}
		tags = append(tags, m.tag(version))
		if _, err := t.git.run(ctx, "git", "tag", "--annotate", "--message", m.path+" "+version, m.tag(version)); err != nil {
			return err
		}
	}
	fmt.Printf("%s is committed and tagged, not pushed. To publish it:\n\n    git push --atomic origin HEAD %s\n", version, strings.Join(tags, " "))
	return nil
}

// lastVersion is the version of the root's latest release before HEAD; empty if
// there is none.
func (t *tree) lastVersion(ctx context.Context) (string, error) {
	out, err := t.git.run(ctx, "git", "tag", "--list", "v*")
	if err != nil {
		return "", err
	}
	last := ""
	for _, tag := range strings.Fields(out) {
		if semver.IsValid(tag) && semver.Compare(tag, last) > 0 {
			last = tag
		}
	}
	return last, nil
}
