package remote_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/setting"
)

const full = `{
	"format": 1,
	"version": 42,
	"window": {"min": 2, "max": 64, "max_rate": 50, "max_amount_rate": 3333},
	"retry": {"max_attempts": 4, "max_pause": "30s", "budget_share": 0.2},
	"schedule": {"period": "5m"},
	"features_off": ["prefetch of pictures", "thumbnails"]
}`

var fullDocument = said(42, func(d *remote.Document) {
	d.Window.Min, d.Window.Max, d.Window.MaxRate, d.Window.MaxAmountRate = 2, 64, 50, 3333
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
	require.Equal(t, remote.Document{Version: 1<<53 - 1}, d)

	doc, err := os.ReadFile("remote.go")
	require.NoError(t, err)
	sample := regexp.MustCompile(`(?s)\n//\t\{.*?\n//\t\}`).FindString(string(doc))
	d, err = remote.Parse([]byte(strings.ReplaceAll(sample, "\n//", "\n")))
	require.NoError(t, err, "the document in the package's comment")
	require.EqualValues(t, 42, d.Version)
}

// The error about a bad document has the field, its value and the allowed values.
func TestBadDocuments(t *testing.T) {
	const (
		head   = `{"format": 1, "version": 1, `
		window = " is not allowed, want a number from 1 to 1048576"
		json   = " is not allowed, want one JSON object with the fields that package remote lists"
		text   = " is not allowed, want printable text of 1 to 128 bytes, with no space at its ends, each once"
		once   = " is not allowed, want each field once"
		field  = " is not allowed, want fields as package remote lists them"
		period = ` is not allowed, want a duration from 1s to 168h0m0s, as "30s"`
		number = " is not allowed, want a whole number from 1 to 9007199254740991"
	)
	for _, c := range []struct{ document, want string }{
		{``, `document: unexpected end of JSON input` + json},
		{"<html>", `document: invalid character '<' looking for beginning of value` + json},
		{"{\"format\": 1, \"version\": 1}\n{}", `document: invalid character '{' after top-level value` + json},
		{strings.Repeat(" ", maxSize+1), `document: a size of 262145 bytes is not allowed, want 262144 bytes at most`},
		{`[7]`, `document: [7]` + json}, // and not a type of Go
		{`null`, `format: nothing is not allowed, want the number 1`},
		{`{"version": 1}`, `format: nothing is not allowed, want the number 1`},
		{`{"windows": {}, "format": 2}`, `format: 2 is not allowed, want the number 1`},
		{`{"format": "1"}`, `format: "1" is not allowed, want the number 1`},
		{`{"format": 1}`, `version: nothing` + number},
		{`{"format": 1, "version": 0}`, `version: 0` + number},
		{`{"format": 1, "version": null}`, `version: nothing` + number},
		{`{"format": 1, "version": 9007199254740992}`, `version: 9007199254740992` + number},
		{`{"format": 1, "version": 1.5}`, `version: 1.5` + number},
		{head + `"window": {"max": -8}}`, `window.max: -8` + window},
		{head + `"window": {"min": 0}}`, `window.min: 0 is not allowed, want a number from 1 to 1000`},
		{head + `"window": {"max_rate": 1e-999}}`, `window.max_rate: 1e-999 is not allowed, want a number from 0.0001 to 1000000`},
		{head + `"window": {"max": "NaN"}}`, `window.max: "NaN"` + window},
		{head + `"window": {"max": [` + "\n\t" + `8]}}`, `window.max: [8]` + window},
		{head + `"window": {"max": 1e999}}`, `window.max: 1e999` + window},
		{head + `"window": 8}`, `window: 8 is not allowed, want an object`},
		{head + `"window": {"min": 9, "max": 8}}`, `window.min: 9 is not allowed, want a number from 1 to window.max, which is 8`},
		{head + `"retry": {"max_attempts": 0}}`, `retry.max_attempts: 0 is not allowed, want a whole number from 1 to 1000`},
		{head + `"retry": {"max_attempts": 1001}}`, `retry.max_attempts: 1001 is not allowed, want a whole number from 1 to 1000`},
		{head + `"retry": {"budget_share": 0}}`, `retry.budget_share: 0 is not allowed, want a number greater than 0 and less than 1`},
		{head + `"retry": {"max_pause": "0s"}}`, `retry.max_pause: "0s" is not allowed, want a duration from 1ms to 1h0m0s, as "30s"`},
		{head + `"schedule": {"period": "5 min"}}`, `schedule.period: "5 min"` + period},
		{head + `"schedule": {"period": "` + "\u009b" + `2J"}}`, `schedule.period: "2J"` + period},
		{head + `"schedule": {"period": ""}}`, `schedule.period: ""` + period},
		{head + `"window": {"maximum": 8}}`, `document: the field "window.maximum"` + field},
		{head + `"retry": {"\u001b[2J": 1}}`, `document: the field "retry.\x1b[2J"` + field},
		{head + `"` + strings.Repeat("a", 1000) + `": 1}`, `document: the field "` + strings.Repeat("a", 60) + `"` + field},
		{`{"format":1,"version":1,"version":2}`, `version: a second time` + once},
		{head + `"features_off":["pay"],"features_off":[]}`, `features_off: a second time` + once},
		{head + `"window":{"max":4,"min":1,"max":400}}`, `window.max: a second time` + once},
		{head + `"retry":{},"window":{"max":4},"retry":{}}`, `retry: a second time` + once},
		{head + `"VERSION":2}`, `document: the field "VERSION"` + field},
		{`{"format":1,"verſion":1}`, `document: the field "verſion"` + field},
		{head + `"window":{"max":4},"Window":{"max":400}}`, `document: the field "Window"` + field},
		{head + `"features_off": "all"}`, `features_off: "all" is not allowed, want a list of 1000 names at most`},
		{head + `"features_off": ["` + "\xff" + `"]}`, `features_off[0]: "�"` + text},
		{head + `"features_off": ["a "]}`, `features_off[0]: "a "` + text},
		{head + `"features_off": ["a", "b", "a"]}`, `features_off[2]: "a"` + text},
		{head + `"features_off": ["a"` + strings.Repeat(`,"a"`, 1000) + `]}`, `features_off: ["a"` + strings.Repeat(`,"a"`, 15) + ` is not allowed, want a list of 1000 names at most`},
	} {
		d, err := remote.Parse([]byte(c.document))
		assert.EqualError(t, err, "remote: "+c.want)
		assert.Zero(t, d)
		require.ErrorAs(t, err, new(*setting.Error))
	}
}

// If two documents of one version differ, the second is refused.
func TestTheSameVersionSaysTheSame(t *testing.T) {
	source := &script{data: full}
	c := looked(t, source)
	for change, want := range map[string]string{
		`["thumbnails", "prefetch of pictures"]`: "", // the order of features says nothing
		`["thumbnails"]`:                         "with other contents",
	} {
		source.set(strings.Replace(full, `["prefetch of pictures", "thumbnails"]`, change, 1), nil)
		if err := c.Refresh(t.Context()); want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
}

// FuzzParse: it never panics, every refusal names a field in a short line, and what is read is within its bounds.
func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"format":1,"version":1,"x":` + strings.Repeat("[", 20_000))) // deeper than the reader goes
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
			var field *setting.Error
			require.True(t, errors.As(err, &field))
			require.NotEmpty(t, field.Name)
			require.NotEmpty(t, field.Value)
			require.NotEmpty(t, field.Want)
			require.Less(t, len(err.Error()), 500)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		w, r := d.Window, d.Retry
		require.True(t, 0 <= w.Min && (w.Max == 0 || w.Min <= w.Max) && w.Max <= 1<<20 && 0 <= w.MaxRate && w.MaxRate <= 1e6)
		require.True(t, 0 <= r.MaxAttempts && r.MaxAttempts <= 1000 && 0 <= r.BudgetShare && r.BudgetShare < 1)
		require.True(t, 0 <= r.MaxPause && r.MaxPause <= time.Hour && 0 <= d.Schedule.Period && d.Schedule.Period <= 168*time.Hour)
		require.True(t, d.Version >= 1 && slices.IsSorted(d.FeaturesOff))
	})
}

// Of each field the ends of what it may hold are allowed, and what is just beyond them is not.
func TestTheBoundsOfEachField(t *testing.T) {
	features := func(n, length int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%0*d", length, i))
		}
		data, err := json.Marshal(map[string]any{"features_off": all})
		require.NoError(t, err)
		return string(data[1 : len(data)-1])
	}
	for _, c := range []struct{ field, from, to, below, above string }{
		{`"window": {"min": %s}`, "1", "1000", "0.9", "1001"},
		{`"window": {"max": %s}`, "1", "1048576", "0.9", "1048577"},
		{`"window": {"max_rate": %s}`, "0.0001", "1000000", "0.00009", "1000001"},
		{`"window": {"max_amount_rate": %s}`, "0.0001", "1000000000000", "0.00009", "1000000000001"},
		{`"retry": {"max_attempts": %s}`, "1", "1000", "0", "1001"},
		{`"retry": {"max_pause": "%s"}`, "1ms", "1h", "999999ns", "1h1ns"},
		{`"retry": {"budget_share": %s}`, "1e-300", "0.999999", "0", "1"},
		{`"schedule": {"period": "%s"}`, "1s", "168h", "999ms", "168h1ns"},
		{"%s", features(1, 1), features(1000, 128), features(1, 129), features(1001, 4)},
	} {
		for i, value := range []string{c.from, c.to, c.below, c.above} {
			document := `{"format": 1, "version": 1, ` + fmt.Sprintf(c.field, value) + `}`
			_, err := remote.Parse([]byte(document))
			assert.Equal(t, i < 2, err == nil, "%.80s: %v", document, err)
		}
	}
}
