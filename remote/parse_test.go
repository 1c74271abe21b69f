package remote_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

const full = `{
	"format": 1,
	"version": 42,
	"window": {"min": 2, "max": 64, "max_rate": 50},
	"retry": {"max_attempts": 4, "max_pause": "30s", "budget_share": 0.2},
	"schedule": {"period": "5m"},
	"features_off": ["prefetch of pictures", "thumbnails"]
}`

var fullDocument = said(42, func(d *remote.Document) {
	d.Window.Min, d.Window.Max, d.Window.MaxRate = 2, 64, 50
	d.Retry.MaxAttempts, d.Retry.MaxPause, d.Retry.BudgetShare = 4, 30*time.Second, 0.2
	d.Schedule.Period = 5 * time.Minute
	d.FeaturesOff = []string{"prefetch of pictures", "thumbnails"}
})

func TestParse(t *testing.T) {
	d, err := remote.Parse([]byte(full))
	require.NoError(t, err)
	require.Equal(t, fullDocument, d)

	d, err = remote.Parse([]byte(" {\"version\":9007199254740991,\"format\":1}\n"))
	require.NoError(t, err)
	require.Equal(t, remote.Document{Format: 1, Version: 1<<53 - 1}, d)

	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	sample := regexp.MustCompile(`(?s)\n//\t\{.*?\n//\t\}`).FindString(string(doc))
	d, err = remote.Parse([]byte(strings.ReplaceAll(sample, "\n//", "\n")))
	require.NoError(t, err, "the document in the package's comment")
	require.EqualValues(t, 42, d.Version)
}

func TestADocumentGoesThroughJSON(t *testing.T) {
	for _, d := range []remote.Document{fullDocument, {Format: 1, Version: 1}} {
		data, err := json.Marshal(d)
		require.NoError(t, err)
		var back remote.Document
		require.NoError(t, json.Unmarshal(data, &back), "%s", data)
		require.Equal(t, d, back)
	}
	d := fullDocument
	require.Error(t, json.Unmarshal([]byte(`{"format": 1, "version": 0}`), &d))
	require.Equal(t, fullDocument, d, "a bad one changes nothing")
}

// The error about a bad document has the field, its value and the allowed values.
func TestBadDocuments(t *testing.T) {
	const (
		head   = `{"format": 1, "version": 1, `
		window = "want a number from 1 to 1048576"
		json   = " is not allowed, want one JSON object, and nothing after it"
		says   = " is not allowed, want a value that says something, or no such field"
		known  = ": a field of that name is not allowed, want one that the package's document lists"
		text   = " is not allowed, want printable text of 1 to 128 bytes, with no space at its ends"
		number = " is not allowed, want a whole number from 1 to 9007199254740991"
	)
	for _, c := range []struct{ document, want string }{
		{``, `document: text that is no JSON (unexpected end of JSON input, at byte 0)` + json},
		{"{\"format\": 1,\n", `document: text that is no JSON (unexpected end of JSON input, at byte 14)` + json},
		{"<html>", `document: text that is no JSON (invalid character '<' looking for beginning of value, at byte 1)` + json},
		{"{\"format\": 1, \"version\": 1}\n{}", `document: text that is no JSON (invalid character '{' after top-level value, at byte 29)` + json},
		{strings.Repeat(" ", maxSize+1), `document: a size of 262145 bytes is not allowed, want 262144 bytes at most`},
		{`null`, `format: null is not allowed, want the number 1`},
		{`[1]`, `document: array is not allowed, want an object`},
		{`{"version": 1}`, `format: null is not allowed, want the number 1`},
		{`{"windows": {}, "format": 2}`, `format: 2 is not allowed, want the number 1`},
		{`{"format": "1"}`, `format: "1" is not allowed, want the number 1`},
		{`{"format": 1}`, `version: 0` + number},
		{`{"format": 1, "version": 9007199254740992}`, `version: 9007199254740992` + number},
		{`{"format": 1, "version": -1}`, `version: number -1 is not allowed, want a whole number`},
		{`{"format": 1, "version": 1.5}`, `version: number 1.5 is not allowed, want a whole number`},
		{head + `"features_off": ["` + "\xff" + `"]}`, `features_off[0]: "�"` + text},
		{head + `"window": {"max": -8}}`, `window.max: -8 is not allowed, ` + window},
		{head + `"window": {"min": 0}}`, `window.min: 0` + says},
		{head + `"window": {"max": 1e999}}`, `window.max: number 1e999 is not allowed, want a number`},
		{head + `"window": {"max_rate": 1e-999}}`, `window.max_rate: 0` + says},
		{head + `"window": {"max_rate": -1}}`, `window.max_rate: -1 is not allowed, want a number from 0.0001 to 1000000`},
		{head + `"window": {"max": "NaN"}}`, `window.max: string is not allowed, want a number`},
		{head + `"window": {"max": null}}`, `window.max: null` + says},
		{head + `"window": {"max": {"a": 1}}}`, `window.max: object is not allowed, want a number`},
		{head + `"window": 8}`, `window: number is not allowed, want an object`},
		{head + `"window": null}`, `window: null` + says},
		{head + `"window": {"min": 9, "max": 8}}`, `window.min: 9 is not allowed, want a number from 1 to window.max, which is 8`},
		{head + `"retry": {"max_attempts": 0}}`, `retry.max_attempts: 0` + says},
		{head + `"retry": {"max_attempts": 1001}}`, `retry.max_attempts: 1001 is not allowed, want a number from 1 to 1000`},
		{head + `"retry": {"max_pause": 30}}`, `retry.max_pause: number is not allowed, want a text`},
		{head + `"retry": {"max_pause": "0s"}}`, `retry.max_pause: "0s" is not allowed, want a duration, as "30s"`},
		{head + `"schedule": {"period": "5 min"}}`, `schedule.period: "5 min" is not allowed, want a duration, as "30s"`},
		{head + `"schedule": {"period": "` + "\u009b" + `2J"}}`, `schedule.period: "\u009b2J" is not allowed, want a duration, as "30s"`},
		{head + `"schedule": {"period": "-5m"}}`, `schedule.period: -5m0s is not allowed, want a duration from 1s to 168h0m0s`},
		{head + `"schedule": {"period": ""}}`, `schedule.period: ""` + says},
		{head + `"window": {"maximum": 8}}`, `"maximum"` + known},
		{head + `"Window": {}}`, `"Window"` + known},
		{head + `"window": {"MAX": 8}}`, `"MAX"` + known},
		{head + `"window.max": 8}`, `"window.max"` + known},
		{head + `"retry": {"\u001b[2J": 1}}`, `"\x1b[2J"` + known},
		{head + `"` + strings.Repeat("a", 1000) + `": 1}`, `"` + strings.Repeat("a", 59) + `...` + known},
		{head + `"version": 2}`, `version: a second value is not allowed, want each field at most once`},
		{head + `"window": {"max": 8, "m\u0061x": 9}}`, `window.max: a second value is not allowed, want each field at most once`},
		{head + `"window": {"max": 1` + strings.Repeat("0", 5000) + `}}`, `window.max: number 1` + strings.Repeat("0", 52) + `... is not allowed, want a number`},
		{head + `"features_off": "all"}`, `features_off: string is not allowed, want an array`},
		{head + `"features_off": ["a", 7]}`, `features_off: number is not allowed, want a text`},
		{head + `"features_off": [""]}`, `features_off[0]: ""` + text},
		{head + `"features_off": ["a "]}`, `features_off[0]: "a "` + text},
		{head + `"features_off": ["a", "b", "a"]}`, `features_off[2]: "a" a second time is not allowed, want each feature once`},
		{head + `"features_off": ["a"` + strings.Repeat(`,"a"`, 1000) + `]}`, `features_off: 1001 features is not allowed, want 1000 features at most`},
	} {
		d, err := remote.Parse([]byte(c.document))
		assert.EqualError(t, err, "remote: "+c.want)
		assert.Zero(t, d)
		var field *aimd.SettingError
		require.ErrorAs(t, err, &field)
		assert.True(t, strings.HasPrefix(c.want, field.Name+": "))
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	for _, open := range []string{"[", `{"window":`, `{"a":`} {
		deep := strings.Repeat(open, maxSize/len(open))
		for _, d := range []string{deep, `{"format": 1, "version": 1, "window": ` + deep[:200_000], `{"format":1,"version":1,"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}"} {
			_, err := remote.Parse([]byte(d))
			var field *aimd.SettingError
			require.ErrorAs(t, err, &field)
			require.Less(t, len(err.Error()), 300)
		}
	}
}

// A document is written by the rules by which it is read.
func TestABadDocumentIsNotWritten(t *testing.T) {
	for want, change := range map[string]func(*remote.Document){
		"remote: format: 0 is not allowed, want the number 1":                            func(d *remote.Document) { d.Format = 0 },
		"remote: window.max: NaN is not allowed, want a number from 1 to 1048576":        func(d *remote.Document) { d.Window.Max = math.NaN() },
		"remote: window.min: +Inf is not allowed, want a number from 1 to 1048576":       func(d *remote.Document) { d.Window.Min = math.Inf(1) },
		"remote: features_off: 1001 features is not allowed, want 1000 features at most": func(d *remote.Document) { d.FeaturesOff = make([]string, 1001) },
	} {
		d := fullDocument
		change(&d)
		_, err := d.MarshalJSON()
		assert.EqualError(t, err, want)
	}
}

// If two documents of one version differ, the second is refused.
func TestTheSameVersionSaysTheSame(t *testing.T) {
	source := &script{data: full}
	c := started(t, source, remote.Settings{})
	offer := func(d remote.Document) error {
		data, err := json.Marshal(d)
		require.NoError(t, err)
		source.set(string(data), nil)
		return c.Refresh(t.Context())
	}
	d, err := remote.Parse([]byte(full))
	require.NoError(t, err)
	d.FeaturesOff[0], d.FeaturesOff[1] = d.FeaturesOff[1], d.FeaturesOff[0]
	assert.NoError(t, offer(d), "the order of features says nothing")
	for _, change := range []func(*remote.Document){
		func(d *remote.Document) { d.Window.Min = 0 },
		func(d *remote.Document) { d.Retry.MaxAttempts = 0 },
		func(d *remote.Document) { d.Schedule.Period++ },
		func(d *remote.Document) { d.FeaturesOff = d.FeaturesOff[:1] },
	} {
		e := d
		change(&e)
		assert.ErrorContains(t, offer(e), "with other contents")
	}
}

// FuzzParse: it never panics, accepts only documents that can be written, and every refusal names a field.
func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	for _, s := range []string{
		`{"format": 1, "version": 1, "window": {"max": 1e999}, "x": null}`,
		`{"format": 1, "version": 1, "version": 2}`, `[[[[`, `{"format": 1, "features_off": ["a", "a", 3, "\ud800"]}`,
		`{"format":1,"version":18446744073709551616}`, `{"format":1,"version":1,"retry":{"max_pause":"1h1ns"}} x`, "null", "", `{"":0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := remote.Parse(data)
		if err != nil {
			require.Zero(t, d)
			var field *aimd.SettingError
			require.True(t, errors.As(err, &field))
			require.NotEmpty(t, field.Name)
			require.NotEmpty(t, field.Value)
			require.NotEmpty(t, field.Want)
			require.Less(t, len(err.Error()), 500)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		again, err := json.Marshal(d)
		require.NoError(t, err)
		back, err := remote.Parse(again)
		require.NoError(t, err)
		d.FeaturesOff = append([]string(nil), d.FeaturesOff...) // none is nil
		require.Equal(t, d, back)
		// The strict reader and encoding/json agree on the values.
		var plain struct {
			Version uint64
			Window  struct {
				Min, Max float64
				MaxRate  float64 `json:"max_rate"`
			}
			Off []string `json:"features_off"`
		}
		require.NoError(t, json.Unmarshal(data, &plain))
		require.Equal(t, plain.Version, d.Version)
		require.Equal(t, fmt.Sprint(plain.Window), fmt.Sprint(d.Window))
		require.Equal(t, len(plain.Off), len(d.FeaturesOff))
	})
}

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
