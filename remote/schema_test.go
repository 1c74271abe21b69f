package remote_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/remote"
)

// node is a part of a JSON schema, with the words that ours uses.
type node struct {
	Ref                                                  string `json:"$ref"`
	Type, Description, Pattern                           string
	Const                                                any
	Required                                             []string
	Properties                                           map[string]*node
	AdditionalProperties                                 *bool
	Minimum, Maximum, ExclusiveMinimum, ExclusiveMaximum *float64
	Items                                                *node
	MaxItems, MinLength, MaxLength                       *int
	UniqueItems                                          bool
	Defs                                                 map[string]*node `json:"$defs"`
}

// The schema and Parse agree on the ends of what each field may hold.
func TestTheSchemaIsWhatParseHolds(t *testing.T) {
	var root node
	data, err := os.ReadFile("schema.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &root))
	accepts := func(path, value string, want bool) {
		t.Helper()
		_, err := remote.Parse(with(path, value))
		if want {
			assert.NoError(t, err, "%s: %s", path, value)
		} else {
			assert.ErrorAs(t, err, new(*aimd.SettingError), "%s: %s", path, value)
		}
	}
	leaves := 0
	var walk func(path string, n *node)
	walk = func(path string, n *node) {
		if n.Properties != nil {
			require.Equal(t, "object", n.Type, path)
			require.False(t, *n.AdditionalProperties, path)
			for name, p := range n.Properties {
				walk(strings.TrimPrefix(path+"."+name, "."), p)
			}
			accepts(strings.TrimPrefix(path+".unheard_of", "."), "1", false)
			return
		}
		leaves++
		require.NotEmpty(t, n.Description, path)
		num := func(v float64) string { return fmt.Sprintf("%.17g", v) }
		switch {
		case n.Const != nil:
			accepts(path, fmt.Sprint(n.Const), true)
			accepts(path, "2", false)
		case n.ExclusiveMinimum != nil:
			accepts(path, num(*n.ExclusiveMinimum), false)
			accepts(path, num(*n.ExclusiveMinimum+1e-9), true)
			accepts(path, num(*n.ExclusiveMaximum-1e-9), true)
			accepts(path, num(*n.ExclusiveMaximum), false)
		case n.Type == "number", n.Type == "integer":
			accepts(path, num(*n.Minimum), true)
			accepts(path, num(*n.Maximum), true)
			accepts(path, num(*n.Minimum-1), false)
			accepts(path, num(*n.Maximum+1), false)
			accepts(path, num(*n.Minimum+0.5), n.Type == "number")
		case n.Ref == "#/$defs/duration":
			bounds := regexp.MustCompile(`from (\S+) to (\S+)\.`).FindStringSubmatch(n.Description)
			require.Len(t, bounds, 3, path)
			pattern := regexp.MustCompile(root.Defs["duration"].Pattern)
			for i, past := range []time.Duration{-1, 1} {
				require.Regexp(t, pattern, bounds[i+1])
				accepts(path, fmt.Sprintf("%q", bounds[i+1]), true)
				d, err := time.ParseDuration(bounds[i+1])
				require.NoError(t, err)
				require.Regexp(t, pattern, (d + past).String())
				accepts(path, fmt.Sprintf("%q", d+past), false)
			}
		case n.Type == "array":
			require.True(t, n.UniqueItems)
			accepts(path, `["a", "a"]`, false)
			for _, over := range []int{0, 1} {
				accepts(path, fmt.Sprintf(`["%s"]`, strings.Repeat("a", *n.Items.MaxLength+over)), over == 0)
				var many []string
				for i := range *n.MaxItems + over {
					many = append(many, fmt.Sprintf(`"f%d"`, i))
				}
				accepts(path, "["+strings.Join(many, ",")+"]", over == 0)
			}
			require.Equal(t, 1, *n.Items.MinLength)
			accepts(path, `[""]`, false)
		default:
			t.Errorf("%s: what is that?", path)
		}
	}
	walk("", &root)
	require.Equal(t, []string{"format", "version"}, root.Required)

	// The test has looked at every field.
	data, err = json.Marshal(fullDocument)
	require.NoError(t, err)
	require.Equal(t, leaves, strings.Count(string(data), ":")-strings.Count(string(data), ":{"))
}

// with is a document in which the field of that path has that value.
func with(path, value string) []byte {
	section, name, nested := strings.Cut(path, ".")
	if !nested {
		name, section = section, ""
	}
	members := []string{}
	for _, required := range []string{"format", "version"} {
		if required != path {
			members = append(members, fmt.Sprintf(`"%s": 1`, required))
		}
	}
	leaf := fmt.Sprintf(`"%s": %s`, name, value)
	if nested {
		leaf = fmt.Sprintf(`"%s": {%s}`, section, leaf)
	}
	return []byte("{" + strings.Join(slices.Concat(members, []string{leaf}), ", ") + "}")
}
