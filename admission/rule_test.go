package admission

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/tag"
)

func TestAllPatternsOfARuleMatch(t *testing.T) {
	all := Rule{Client: "a", Version: "1", Feature: "f"}
	assert.True(t, all.matches(tag.Tags{Client: "a", Version: "1", Feature: "f"}))
	for _, other := range []tag.Tags{{Client: "a", Version: "1"}, {Client: "a", Version: "2", Feature: "f"}, {Version: "1", Feature: "f"}} {
		assert.False(t, all.matches(other))
		assert.True(t, Rule{}.matches(other), "an empty pattern matches all")
	}
}

func FuzzPatternsAgainstRegexp(f *testing.F) {
	for _, pattern := range []string{"*", "a", "1.*", "*-beta", "a*a", "a*b*c", "a**b", "a?", "*a*a", "ab*ba"} {
		for _, text := range strings.Split(" a aa aaa aba ab ac acb b abc axbxc abbcc axb a? 1 1. 1.2.3 2.1 11. -beta 2-beta 2-beta1", " ") {
			f.Add(pattern, text)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if pattern == "" || len(pattern) > 100 || len(text) > 200 {
			return
		}
		re, err := regexp.Compile(`(?s)\A` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`) + `\z`)
		if err != nil || strings.ToValidUTF8(text, "") != text {
			return // what regexp does not take as it is
		}
		require.Equal(t, re.MatchString(text), Rule{Feature: pattern}.matches(tag.Tags{Feature: text}))
	})
}
