package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Families hold scenarios without a sweep, each in one of them, and measures that exist.
func TestFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Index.Families {
		assert.NotContains(t, Builtins(), f.Name, "its figure would replace that of the scenario")
		assert.Subset(t, Measures(), f.Measures[:])
		for _, name := range f.Scenarios {
			assert.Contains(t, Index.Laws, name)
			assert.False(t, seen[name], name)
			seen[name] = true
			_, text, err := Builtin(name)
			assert.NoError(t, err)
			assert.NotContains(t, string(text), "\nsweep:", name)
		}
	}
	assert.Len(t, Index.Families, 6)
}
