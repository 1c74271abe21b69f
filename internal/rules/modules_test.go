package rules

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goMod is what go mod edit -json prints of a go.mod.
type goMod struct {
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// goMods returns the modules of the repository by folder.
func goMods(t *testing.T) map[string]goMod {
	t.Helper()
	all := map[string]goMod{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		out, err := exec.Command("go", "mod", "edit", "-json", path).Output()
		if err != nil {
			return err
		}
		var m goMod
		err = json.Unmarshal(out, &m)
		all[filepath.ToSlash(filepath.Dir(path))] = m
		return err
	}))
	return all
}

// Our modules require each other at one version, that of the last release. Modules replace
// each other by their own folder; those below cmd do not, because go install refuses that.
func TestModulesRequireAndReplaceEachOther(t *testing.T) {
	all := goMods(t)
	folder := map[string]string{}
	for dir, m := range all {
		folder[m.Module.Path] = dir
	}
	require.Contains(t, folder, module)
	versions := map[string]bool{}
	for dir, m := range all {
		replaced := map[string]bool{}
		for _, r := range m.Replace {
			to, ours := folder[r.Old.Path]
			assert.True(t, ours && dir != "." && !strings.HasPrefix(dir, "cmd/"), "%s/go.mod replaces %s", dir, r.Old.Path)
			assert.Empty(t, r.Old.Version)
			assert.Equal(t, to, filepath.ToSlash(filepath.Join(dir, r.New.Path)), "%s/go.mod replaces %s", dir, r.Old.Path)
			replaced[r.Old.Path] = true
		}
		for _, r := range m.Require {
			if _, ours := folder[r.Path]; ours {
				versions[r.Version] = true
				assert.True(t, replaced[r.Path] || strings.HasPrefix(dir, "cmd/"), "%s/go.mod does not replace %s", dir, r.Path)
			}
		}
	}
	assert.Len(t, versions, 1)
}
