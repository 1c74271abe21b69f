package remote

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

// Bounds of a document, our choice: room for any sensible use, too little to harm a reader.
const (
	format  = 1
	maxSize = 256 << 10 // bytes
	// maxVersion is the highest whole number that all readers of JSON agree on (RFC 8259, section 6).
	maxVersion = 1<<53 - 1
	// maxFeature is in bytes of a name.
	maxFeatures, maxFeature = 1000, 128
)

// Document has the settings that a service asks of its clients. An absent field, in Go zero, leaves the
// program's own setting in force, or brings it back if the document before had the field.
type Document struct {
	// Format must be 1.
	Format int `json:"format"`
	// Version is 1 to 2^53 - 1. Only a document of a higher version than the one in force is put in force.
	Version uint64 `json:"version"`
	// Window is for limiters.
	Window struct {
		// Min and Max bound the window, in attempts: 1 <= Min <= Max <= 1048576.
		Min float64 `json:"min,omitzero"`
		Max float64 `json:"max,omitzero"`
		// MaxRate is the most attempts of a limiter in a second: 0.0001 to 1000000.
		MaxRate float64 `json:"max_rate,omitzero"`
	} `json:"window,omitzero"`
	// Retry is for all that tries again.
	Retry struct {
		// MaxAttempts is the most attempts for one operation: 1 (no retries) to 1000.
		MaxAttempts int
		// MaxPause is the longest pause between attempts that clients choose by themselves: 1 ms to 1 h.
		MaxPause time.Duration
		// BudgetShare is the most of all requests that may be retries: greater than 0, less than 1.
		BudgetShare float64
	} `json:"retry,omitzero"`
	// Schedule is for work that repeats.
	Schedule struct {
		// Period is the time from one run to the next: 1 s to 168 h, a week.
		Period time.Duration
	} `json:"schedule,omitzero"`
	// FeaturesOff are the features (tag.Tags.Feature) that are off: at most 1000, each once, of 1 to 128
	// bytes of printable text with no space at its ends.
	FeaturesOff []string `json:"features_off,omitempty"`
}

type plain Document

// written is a Document as JSON: the parts with durations, which are text, replace the plain ones.
type written struct {
	plain
	Retry struct {
		MaxAttempts int     `json:"max_attempts,omitzero"`
		MaxPause    string  `json:"max_pause,omitzero"`
		BudgetShare float64 `json:"budget_share,omitzero"`
	} `json:"retry,omitzero"`
	Schedule struct {
		Period string `json:"period,omitzero"`
	} `json:"schedule,omitzero"`
}

// MarshalJSON writes a document that Parse reads, with durations as text: "1m30s". The error is about the first
// field whose value is not allowed.
func (d Document) MarshalJSON() ([]byte, error) {
	if err := d.validate(); err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	w := written{plain: plain(d)}
	w.Retry.MaxAttempts, w.Retry.BudgetShare = d.Retry.MaxAttempts, d.Retry.BudgetShare
	if d.Retry.MaxPause != 0 {
		w.Retry.MaxPause = d.Retry.MaxPause.String()
	}
	if d.Schedule.Period != 0 {
		w.Schedule.Period = d.Schedule.Period.String()
	}
	return json.Marshal(w)
}

// UnmarshalJSON is Parse.
func (d *Document) UnmarshalJSON(data []byte) error {
	p, err := Parse(data)
	if err == nil {
		*d = p
	}
	return err
}

// Parse reads a document. It is strict, since a document steers many clients at once: the error is an
// aimd.SettingError about a field that is unknown, that is there twice, or whose value is not allowed, such as
// "window.max" or "features_off[3]"; "document" is the whole.
func Parse(data []byte) (Document, error) {
	d, err := parse(data)
	if err != nil {
		return Document{}, fmt.Errorf("remote: %w", err)
	}
	return d, nil
}

func parse(data []byte) (d Document, err error) {
	if len(data) > maxSize {
		return d, setting.Wrong("document", fmt.Sprint("a size of ", len(data), " bytes"), "%d bytes at most", maxSize)
	}
	// The format first: in another format the other fields may mean something else.
	var head struct{ Format any }
	if err := json.Unmarshal(data, &head); err != nil {
		return d, broken(err)
	}
	if head.Format != float64(format) {
		return d, setting.Wrong("format", text(head.Format), "the number %d", format)
	}
	var w written
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&w); err != nil {
		return d, broken(err)
	}
	d = Document(w.plain)
	d.Retry.MaxAttempts, d.Retry.BudgetShare = w.Retry.MaxAttempts, w.Retry.BudgetShare
	err = cmp.Or(
		once(json.NewDecoder(bytes.NewReader(data)), ""),
		duration("retry.max_pause", w.Retry.MaxPause, &d.Retry.MaxPause),
		duration("schedule.period", w.Schedule.Period, &d.Schedule.Period),
		d.validate(),
	)
	slices.Sort(d.FeaturesOff) // their order has no meaning
	return d, err
}

func duration(field, written string, d *time.Duration) (err error) {
	if written == "" {
		return nil
	}
	if *d, err = time.ParseDuration(written); err != nil || *d == 0 {
		return setting.Wrong(field, text(written), `a duration, as "30s"`)
	}
	return nil
}

// validate returns an error about the first field whose value is not allowed. The functions of setting take a
// zero, which is an absent field, as allowed.
func (d Document) validate() error {
	w, r := &d.Window, &d.Retry
	err := cmp.Or(
		setting.Number("window.min", &w.Min, 1, window.MinWindow, window.MaxWindow),
		setting.Number("window.max", &w.Max, window.MaxWindow, window.MinWindow, window.MaxWindow),
		setting.Number("window.max_rate", &w.MaxRate, 1, 0.0001, 1_000_000),
		setting.Count("retry.max_attempts", &r.MaxAttempts, 1, 1, 1000),
		setting.Duration("retry.max_pause", &r.MaxPause, time.Hour, time.Millisecond, time.Hour),
		setting.Share("retry.budget_share", &r.BudgetShare, 0.5),
		setting.Duration("schedule.period", &d.Schedule.Period, time.Hour, time.Second, 168*time.Hour),
	)
	switch {
	case d.Format != format:
		return setting.Wrong("format", d.Format, "the number %d", format)
	case d.Version < 1 || d.Version > maxVersion:
		return setting.Wrong("version", d.Version, "a whole number from 1 to %d", uint64(maxVersion))
	case err != nil:
		return err
	case w.Min > w.Max:
		return setting.Wrong("window.min", setting.Plain(w.Min), "a number from 1 to window.max, which is %v", w.Max)
	case len(d.FeaturesOff) > maxFeatures:
		return setting.Wrong("features_off", fmt.Sprint(len(d.FeaturesOff), " features"), "%d features at most", maxFeatures)
	}
	for i, name := range d.FeaturesOff {
		odd := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
		field := fmt.Sprintf("features_off[%d]", i)
		switch {
		case name == "", len(name) > maxFeature, strings.TrimSpace(name) != name, strings.ContainsFunc(name, odd):
			return setting.Wrong(field, text(name), "printable text of 1 to %d bytes, with no space at its ends", maxFeature)
		case slices.Contains(d.FeaturesOff[:i], name):
			return setting.Wrong(field, fmt.Sprintf("%q a second time", name), "each feature once")
		}
	}
	return nil
}

// clone is a copy that shares no memory.
func (d Document) clone() Document {
	d.FeaturesOff = slices.Clone(d.FeaturesOff)
	return d
}

// once refuses what encoding/json takes and a strict reader does not: a field that is there twice, a name in
// capital letters, and a null, a zero or an empty text, which would count as absent. The text was decoded
// before without an error.
func once(dec *json.Decoder, field string) error {
	t, _ := dec.Token()
	switch t {
	case nil, "", 0.0:
		return setting.Wrong(field, text(t), "a value that says something, or no such field")
	case json.Delim('['):
		for dec.More() {
			_, _ = dec.Token()
		}
		_, _ = dec.Token()
	case json.Delim('{'):
		seen := map[string]bool{}
		for dec.More() {
			key, _ := dec.Token()
			name := fmt.Sprint(key)
			path := strings.TrimPrefix(field+"."+name, ".")
			if seen[name] {
				return setting.Wrong(path, "a second value", "each field at most once")
			} else if name != strings.ToLower(name) {
				return unknown(name)
			}
			seen[name] = true
			if err := once(dec, path); err != nil {
				return err
			}
		}
		_, _ = dec.Token()
	}
	return nil
}

// broken is an error of encoding/json as a setting's error.
func broken(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	name, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case errors.As(err, &kind):
		field := cmp.Or(strings.TrimPrefix(kind.Field, "plain."), "document")
		return setting.Wrong(field, cut(kind.Value, 60), "%s", kinds.Replace(kind.Type.Kind().String()))
	case isUnknown:
		name, _ = strconv.Unquote(name)
		return unknown(name)
	case errors.As(err, &syntax):
		err = fmt.Errorf("%w, at byte %d", err, syntax.Offset)
	}
	return setting.Wrong("document", fmt.Sprintf("text that is no JSON (%v)", err), "one JSON object, and nothing after it")
}

// kinds are the kinds of Go in terms of JSON.
var kinds = strings.NewReplacer("struct", "an object", "slice", "an array", "string", "a text",
	"uint64", "a whole number", "float64", "a number", "int", "a whole number")

func unknown(name string) error {
	return setting.Wrong(text(name), "a field of that name", "one that the package's document lists")
}

// text is a value of JSON for an error: short, and without characters that a terminal would obey.
func text(v any) string {
	if v == nil {
		return "null"
	}
	return cut(fmt.Sprintf("%#v", v), 60)
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
