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

	"github.com/aimd-go/aimd/internal/setting"
)

// written is a Document as JSON.
type written struct {
	Format  int    `json:"format"`
	Version uint64 `json:"version"`
	Window  struct {
		Min    float64 `json:"min,omitzero"`
		Max    float64 `json:"max,omitzero"`
		Factor float64 `json:"factor,omitzero"`
	} `json:"window,omitzero"`
	Retry struct {
		MaxAttempts int     `json:"max_attempts,omitzero"`
		MaxPause    string  `json:"max_pause,omitzero"`
		BudgetShare float64 `json:"budget_share,omitzero"`
	} `json:"retry,omitzero"`
	Schedule struct {
		Period string `json:"period,omitzero"`
	} `json:"schedule,omitzero"`
	FeaturesOff []string `json:"features_off,omitempty"`
}

// Parse reads a document. It is strict, since a document steers many clients at once: the
// error is a *FieldError about a field that is unknown, that is there twice, or whose
// value is not allowed. A document that Parse returns without an error is valid.
func Parse(data []byte) (Document, error) {
	d, err := parse(data)
	if err != nil {
		return Document{}, fmt.Errorf("remote: %w", err)
	}
	return d, nil
}

// UnmarshalJSON is Parse.
func (d *Document) UnmarshalJSON(data []byte) error {
	p, err := Parse(data)
	if err == nil {
		*d = p
	}
	return err
}

// MarshalJSON writes what Parse reads: an absent field is left out, and a duration is
// text, as "1m30s".
func (d Document) MarshalJSON() ([]byte, error) {
	w := written{Format: d.Format, Version: d.Version, FeaturesOff: d.FeaturesOff}
	w.Window.Min, w.Window.Max, w.Window.Factor = d.Window.Min, d.Window.Max, d.Window.Factor
	w.Retry.MaxAttempts, w.Retry.BudgetShare = d.Retry.MaxAttempts, d.Retry.BudgetShare
	if d.Retry.MaxPause != 0 {
		w.Retry.MaxPause = d.Retry.MaxPause.String()
	}
	if d.Schedule.Period != 0 {
		w.Schedule.Period = d.Schedule.Period.String()
	}
	return json.Marshal(w)
}

func parse(data []byte) (d Document, err error) {
	if len(data) > maxSize {
		return d, setting.Wrong("document", fmt.Sprint("a size of ", len(data), " bytes"), "%d bytes at most", maxSize)
	}
	// The format first, and with it whether the whole is JSON: in another format the other
	// fields may mean something else.
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
	d.Format, d.Version, d.FeaturesOff = w.Format, w.Version, w.FeaturesOff
	d.Window.Min, d.Window.Max, d.Window.Factor = w.Window.Min, w.Window.Max, w.Window.Factor
	d.Retry.MaxAttempts, d.Retry.BudgetShare = w.Retry.MaxAttempts, w.Retry.BudgetShare
	err = cmp.Or(
		once(json.NewDecoder(bytes.NewReader(data)), ""),
		duration("retry.max_pause", w.Retry.MaxPause, &d.Retry.MaxPause),
		duration("schedule.period", w.Schedule.Period, &d.Schedule.Period),
		d.validate(),
	)
	if err != nil {
		return Document{}, err
	}
	slices.Sort(d.FeaturesOff) // their order has no meaning
	return d, nil
}

func duration(field, written string, d *time.Duration) (err error) {
	if written == "" {
		return nil
	}
	if *d, err = time.ParseDuration(written); err != nil || *d == 0 {
		return wrong(field, text(written), `a duration, as "30s"`)
	}
	return nil
}

// once refuses what encoding/json takes: a field that is there twice, a name in capital
// letters, and a null, a zero or an empty text, which would count as an absent field. The
// text was decoded once, so it has known fields only and no errors.
func once(dec *json.Decoder, field string) error {
	t, _ := dec.Token()
	switch t {
	case nil, "", 0.0:
		return wrong(field, text(t), "a value that says something, or no such field")
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
				return wrong(path, "a second value", "each field at most once")
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

// broken is an error of encoding/json as a *FieldError.
func broken(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	name, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case errors.As(err, &kind):
		return setting.Wrong(cmp.Or(kind.Field, "document"), short(kind.Value), "%s", plain.Replace(kind.Type.Kind().String()))
	case isUnknown:
		name, _ = strconv.Unquote(name)
		return unknown(name)
	case errors.As(err, &syntax):
		err = fmt.Errorf("%w, at byte %d", err, syntax.Offset)
	}
	return wrong("document", fmt.Sprintf("text that is no JSON (%v)", err), "one JSON object, and nothing after it")
}

// plain names the kinds of Go in terms of JSON.
var plain = strings.NewReplacer("struct", "an object", "slice", "an array", "string", "a text",
	"uint64", "a whole number", "float64", "a number", "int", "a whole number")

func unknown(name string) error {
	return wrong(text(name), "a field of that name", "one that the package's document lists")
}

// text is a value of JSON as an error has it, without what a terminal would obey.
func text(v any) string {
	if v == nil {
		return "null"
	}
	return short(fmt.Sprintf("%#v", v))
}

// short cuts a value that is long.
func short(s string) string { return cut(s, 60) }

// cut cuts what is longer than most bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
