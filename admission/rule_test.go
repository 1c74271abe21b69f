package admission

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/tag"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"", []string{"", "a"}, nil},
		{"*", []string{"", "a"}, nil},
		{"a", []string{"a"}, []string{"", "aa", "b"}},
		{"1.*", []string{"1.", "1.2.3"}, []string{"1", "2.1", "11."}},
		{"*-beta", []string{"-beta", "2-beta"}, []string{"2-beta1"}},
		{"a*a", []string{"aa", "aba"}, []string{"a"}},
		{"a*b*c", []string{"abc", "axbxc", "abbcc"}, []string{"ac", "acb"}},
		{"a**b", []string{"ab", "axb"}, []string{"a"}},
		{"a?", []string{"a?"}, []string{"ab"}},
	} {
		for _, text := range c.yes {
			assert.True(t, Rule{Client: c.pattern}.matches(tag.Tags{Client: text}), "%q %q", c.pattern, text)
		}
		for _, text := range c.no {
			assert.False(t, Rule{Client: c.pattern}.matches(tag.Tags{Client: text}), "%q %q", c.pattern, text)
		}
	}
	all := Rule{Client: "a", Version: "1", Feature: "f"}
	assert.True(t, all.matches(tag.Tags{Client: "a", Version: "1", Feature: "f"}))
	assert.False(t, all.matches(tag.Tags{Client: "a", Version: "1"}))
	assert.False(t, all.matches(tag.Tags{Client: "a", Version: "2", Feature: "f"}))
}

func FuzzPatternsAgainstRegexp(f *testing.F) {
	f.Add("a*b*c", "axbxc")
	f.Add("*a*a", "aaa")
	f.Add("ab*ba", "aba")
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
