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

	"github.com/aimd-go/aimd/internal/check"
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

// Document has the settings that a service asks of its clients. A zero field, absent in the JSON, leaves the
// program's own setting in force, or brings it back if the document before had the field.
type Document struct {
	// Version is 1 to 2^53 - 1. Only a document of a higher version replaces the document in force. So a Client
	// refuses a version above tomorrow's time in microseconds since 1970: such a version would keep out all later
	// documents.
	Version uint64
	// Window is for limiters.
	Window struct {
		// Min and Max bound the window, in attempts: 1 <= Min <= Max <= 1048576.
		Min, Max float64
		// MaxRate is the greatest number of attempts of a limiter in a second: 0.0001 to 1000000.
		MaxRate float64
		// MaxAmountRate is the greatest sum of the operations' amounts in a second (aimd.WithAmount): 0.0001 to 1e12.
		MaxAmountRate float64
	}
	// Retry is for limiters, policies and budgets.
	Retry struct {
		// MaxAttempts is the greatest number of attempts of an operation: 1 (no retries) to 1000.
		MaxAttempts int
		// MaxPause is the longest pause between attempts that a client chooses: 1 ms to 1 h.
		MaxPause time.Duration
		// BudgetShare is the greatest share of requests that may be retries: greater than 0, less than 1.
		BudgetShare float64
	}
	// Schedule is for work that repeats.
	Schedule struct {
		// Period is the time from one run to the next: 1 s to 168 h, a week.
		Period time.Duration
	}
	// FeaturesOff are the features (tag.Tags.Feature) that are off, in the order of their names: at most 1000, each
	// once. A name is 1 to 128 bytes of printable text with no space at its ends.
	FeaturesOff []string
}

// written is a document as JSON: a field that is absent is nil.
type written struct {
	Format  int
	Version uint64
	Window  struct {
		Min, Max      *float64
		MaxRate       *float64 `json:"max_rate"`
		MaxAmountRate *float64 `json:"max_amount_rate"`
	}
	Retry struct {
		MaxAttempts *int     `json:"max_attempts"`
		MaxPause    *string  `json:"max_pause"`
		BudgetShare *float64 `json:"budget_share"`
	}
	Schedule    struct{ Period *string }
	FeaturesOff []string `json:"features_off"`
}

// Parse reads a document. It is strict, since a document steers many clients at once. The error is a setting.Error.
// It names a field whose value is not allowed, or that is there twice: "window.max", "features_off[3]". It names
// the "document" if that is no JSON, or has an unknown field.
func Parse(data []byte) (Document, error) {
	d, err := parse(data)
	if err != nil {
		return Document{}, fmt.Errorf("remote: %w", err)
	}
	return d, nil
}

func parse(data []byte) (d Document, err error) {
	if len(data) > maxSize {
		return d, check.Wrong("document", fmt.Sprint("a size of ", len(data), " bytes"), "%d bytes at most", maxSize)
	}
	// The format first: in another format the other fields may mean something else.
	var head struct{ Format any }
	if err = json.Unmarshal(data, &head); err == nil && head.Format != float64(format) {
		return d, check.Wrong("format", cut(fmt.Sprintf("%#v", head.Format), 60), "the number %d", format)
	}
	var w written
	if err == nil {
		strict := json.NewDecoder(bytes.NewReader(data))
		strict.DisallowUnknownFields()
		err = strict.Decode(&w)
	}
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return d, check.Wrong(strings.ToLower(kind.Field), cut(kind.Value, 60), "a value as package remote lists it")
	case err != nil:
		return d, check.Wrong("document", cut(err.Error(), 200), "one JSON object with the fields that package remote lists")
	}
	if err = once(json.NewDecoder(bytes.NewReader(data)), ""); err != nil {
		return d, err
	}
	d.Version, d.FeaturesOff = w.Version, w.FeaturesOff
	switch err = w.settings(&d); {
	case d.Version < 1 || d.Version > maxVersion:
		return d, check.Wrong("version", d.Version, "a whole number from 1 to %d", uint64(maxVersion))
	case err != nil:
		return d, err
	case d.Window.Max > 0 && d.Window.Min > d.Window.Max:
		return d, check.Wrong("window.min", check.Plain(d.Window.Min), "a number from 1 to window.max, which is %v", d.Window.Max)
	}
	if err = features(d.FeaturesOff); err == nil {
		slices.Sort(d.FeaturesOff) // their order has no meaning
	}
	return d, err
}

// once returns an error about a field that an object has twice or under another case: encoding/json would take the
// last such field. The document is JSON.
func once(from *json.Decoder, in string) error {
	token, err := from.Token()
	delim, _ := token.(json.Delim)
	names := map[string]bool{}
	for delim != 0 && err == nil && from.More() {
		field := in
		if delim == '{' {
			token, _ = from.Token()
			name := token.(string)
			field = strings.TrimPrefix(in+"."+name, ".")
			switch {
			case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "":
				return check.Wrong("document", "the field "+quoted(name), "fields as package remote lists them, in lower case")
			case names[name]:
				return check.Wrong(cut(field, 60), "a second time", "each field once")
			}
			names[name] = true
		}
		err = once(from, field)
	}
	if delim != 0 && err == nil {
		_, err = from.Token() // its end
	}
	return err
}

// settings puts the numbers and durations into the document, or returns an error about the first that is wrong.
func (w *written) settings(d *Document) error {
	return cmp.Or(
		number("window.min", w.Window.Min, &d.Window.Min, window.MinWindow, window.MaxWindow),
		number("window.max", w.Window.Max, &d.Window.Max, window.MinWindow, window.MaxWindow),
		number("window.max_rate", w.Window.MaxRate, &d.Window.MaxRate, 0.0001, 1_000_000),
		number("window.max_amount_rate", w.Window.MaxAmountRate, &d.Window.MaxAmountRate, 0.0001, 1e12),
		put(w.Retry.MaxAttempts, &d.Retry.MaxAttempts, func(n *int) error { return check.Count("retry.max_attempts", n, 0, 1, 1000) }),
		duration("retry.max_pause", w.Retry.MaxPause, &d.Retry.MaxPause, time.Millisecond, time.Hour),
		put(w.Retry.BudgetShare, &d.Retry.BudgetShare, func(x *float64) error { return check.Share("retry.budget_share", x, 0) }),
		duration("schedule.period", w.Schedule.Period, &d.Schedule.Period, time.Second, 168*time.Hour),
	)
}

// put checks a value and puts it into its field, unless it is absent.
func put[T any](from, to *T, check func(*T) error) error {
	if from == nil {
		return nil
	}
	*to = *from
	return check(to)
}

func number(field string, from, to *float64, lo, hi float64) error {
	return put(from, to, func(x *float64) error { return check.Number(field, x, 0, lo, hi) })
}

func duration(field string, from *string, to *time.Duration, lo, hi time.Duration) (err error) {
	if from == nil {
		return nil
	}
	if *to, err = time.ParseDuration(*from); err != nil {
		return check.Wrong(field, quoted(*from), `a duration, as "30s"`)
	}
	return check.Duration(field, to, 0, lo, hi)
}

func features(names []string) error {
	if len(names) > maxFeatures {
		return check.Wrong("features_off", fmt.Sprint(len(names), " features"), "%d features at most", maxFeatures)
	}
	odd := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	for i, name := range names {
		field := fmt.Sprintf("features_off[%d]", i)
		switch {
		case name == "", len(name) > maxFeature, strings.TrimSpace(name) != name, strings.ContainsFunc(name, odd):
			return check.Wrong(field, quoted(name), "printable text of 1 to %d bytes, with no space at its ends", maxFeature)
		case slices.Contains(names[:i], name):
			return check.Wrong(field, quoted(name)+" a second time", "each feature once")
		}
	}
	return nil
}

func (d Document) clone() Document {
	d.FeaturesOff = slices.Clone(d.FeaturesOff)
	return d
}

// quoted is a text for an error: short, and without characters that a terminal would obey.
func quoted(s string) string { return cut(strconv.Quote(s), 60) }

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
