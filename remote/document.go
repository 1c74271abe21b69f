package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"weak"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Bounds of a document, our choice: room for any sensible use, too little to harm a reader.
const (
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
		// Min and Max bound the window, in attempts: 1 <= Min <= Max <= 1048576, and Min <= 1000, since so many are sent
		// at a time whatever the service answers.
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

// Parse reads a document. It is strict, since a document steers many clients at once. The error is a setting.Error.
// It names a field whose value is not allowed, or that is there twice: "window.max", "features_off[3]". It names
// the "document" if that is no JSON, or has an unknown field. A null is an absent field.
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
	var head struct{ Format json.RawMessage }
	if err = json.Unmarshal(data, &head); err != nil {
		wrong := err.Error()
		if json.Valid(data) { // the error would show a type of Go
			wrong = string(data)
		}
		return d, check.Wrong("document", answer.Cleaned(wrong), "one JSON object with the fields that package remote lists")
	}
	if string(head.Format) != "1" {
		return d, check.Wrong("format", cmp.Or(answer.Cleaned(string(head.Format)), "nothing"), "the number 1")
	}
	err = object(map[string]reader{
		"format":  func(string, []byte) error { return nil },
		"version": number("a whole number", &d.Version, 1, maxVersion),
		"window": object(map[string]reader{
			"min":             number("a number", &d.Window.Min, window.MinWindow, 1000), // our choice: aimd.Each began as many items, and a process may often open 1024 files
			"max":             number("a number", &d.Window.Max, window.MinWindow, window.MaxWindow),
			"max_rate":        number("a number", &d.Window.MaxRate, 0.0001, 1_000_000),
			"max_amount_rate": number("a number", &d.Window.MaxAmountRate, 0.0001, 1e12),
		}),
		"retry": object(map[string]reader{
			"max_attempts": number("a whole number", &d.Retry.MaxAttempts, 1, 1000),
			"max_pause":    duration(&d.Retry.MaxPause, time.Millisecond, time.Hour),
			"budget_share": value(&d.Retry.BudgetShare, "a number greater than 0 and less than 1", func(x float64) bool { return 0 < x && x < 1 }),
		}),
		"schedule":     object(map[string]reader{"period": duration(&d.Schedule.Period, time.Second, 168*time.Hour)}),
		"features_off": d.features,
	})("", data)
	switch {
	case err != nil:
		return d, err
	case d.Version == 0:
		return d, check.Wrong("version", "nothing", "a whole number from 1 to %d", uint64(maxVersion))
	case d.Window.Max > 0 && d.Window.Min > d.Window.Max:
		return d, check.Wrong("window.min", check.Plain(d.Window.Min), "a number from 1 to window.max, which is %v", d.Window.Max)
	}
	return d, nil
}

// A reader puts the text of a field, which is JSON, into the document, or returns an error that has the field's name.
type reader func(name string, text []byte) error

// object reads the fields of an object. encoding/json would take a name in another case, and the last of two.
func object(fields map[string]reader) reader {
	return func(in string, text []byte) error {
		from := json.NewDecoder(bytes.NewReader(text))
		if start, _ := from.Token(); start != json.Delim('{') {
			return check.Wrong(in, answer.Cleaned(string(text)), "an object")
		}
		seen := map[string]bool{}
		for from.More() {
			token, _ := from.Token()
			name := token.(string)
			var text json.RawMessage
			_ = from.Decode(&text)
			field := strings.TrimPrefix(in+"."+name, ".")
			switch read := fields[name]; {
			case read == nil:
				return check.Wrong("document", fmt.Sprintf("the field %.60q", field), "fields as package remote lists them")
			case seen[name]:
				return check.Wrong(field, "a second time", "each field once")
			case string(text) != "null":
				if err := read(field, text); err != nil {
					return err
				}
			}
			seen[name] = true
		}
		return nil
	}
}

// value reads a value that is right.
func value[T any](to *T, want string, right func(T) bool) reader {
	return func(name string, text []byte) error {
		if json.Unmarshal(text, to) != nil || !right(*to) {
			return check.Wrong(name, answer.Cleaned(string(text)), "%s", want)
		}
		return nil
	}
}

func number[T int | uint64 | float64](kind string, to *T, lo, hi T) reader {
	want := fmt.Sprintf("%s from %s to %s", kind, check.Plain(float64(lo)), check.Plain(float64(hi)))
	return value(to, want, func(x T) bool { return lo <= x && x <= hi })
}

func duration(to *time.Duration, lo, hi time.Duration) reader {
	return value(new(string), fmt.Sprintf(`a duration from %v to %v, as "30s"`, lo, hi), func(text string) bool {
		d, err := time.ParseDuration(text)
		*to = d
		return err == nil && lo <= d && d <= hi
	})
}

func (d *Document) features(name string, text []byte) error {
	if json.Unmarshal(text, &d.FeaturesOff) != nil || len(d.FeaturesOff) > maxFeatures {
		return check.Wrong(name, answer.Cleaned(string(text)), "a list of %d names at most", maxFeatures)
	}
	odd := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	for i, f := range d.FeaturesOff {
		if f == "" || len(f) > maxFeature || strings.TrimSpace(f) != f || strings.ContainsFunc(f, odd) || slices.Contains(d.FeaturesOff[:i], f) {
			return check.Wrong(fmt.Sprintf("%s[%d]", name, i), fmt.Sprintf("%.60q", f),
				"printable text of 1 to %d bytes, with no space at its ends, each once", maxFeature)
		}
	}
	slices.Sort(d.FeaturesOff) // their order has no meaning
	return nil
}

func (d Document) clone() Document {
	d.FeaturesOff = slices.Clone(d.FeaturesOff)
	return d
}

// Limiters brings documents to limiters: window.min and max, retry.max_attempts and retry.max_pause, which turns
// pauses on. If a document lacks a field, the limiter gets its setting at the time of Add. With a retry.Policy a
// limiter keeps to the lower of both attempt limits: bring the document to the policy too.
//
// Limiters may be added at any time, as an [aimd.Keyed] makes them, and are not kept alive. It is safe for
// any number of goroutines; the observer of a limiter must not call it. The zero value has no limiters.
type Limiters struct {
	mu sync.Mutex
	// all has the limiters, and the settings that each had when it was added. It is guarded by mu, as are most, the size
	// at which the limiters that are no more are forgotten, and document, the one in force, at first zero.
	all      map[weak.Pointer[aimd.Limiter]]aimd.Config
	most     int
	document Document
}

// Add adds a limiter and brings the document in force to it. If the document does not fit, the error says why, and
// the limiter keeps its own settings until the next document. Log the error, and use the limiter anyway.
func (ls *Limiters) Add(l *aimd.Limiter) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	p, own := weak.Make(l), l.Snapshot().Config
	if _, known := ls.all[p]; known {
		return nil
	}
	if len(ls.all) >= ls.most { // so an Add looks at two others, in the mean
		maps.DeleteFunc(ls.all, func(p weak.Pointer[aimd.Limiter], _ aimd.Config) bool { return p.Value() == nil })
		ls.most = max(64, 2*len(ls.all))
	}
	if ls.all == nil {
		ls.all = map[weak.Pointer[aimd.Limiter]]aimd.Config{}
	}
	ls.all[p] = own
	if ls.document.Version == 0 {
		return nil
	}
	return l.Reconfigure(ls.document.over(own))
}

// Apply reconfigures the limiters. A limiter that the document does not fit, such as one whose own min
// is above the document's max, keeps its settings. The error is that of one such limiter.
func (ls *Limiters) Apply(d Document) (err error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.document = d
	for p, own := range ls.all {
		if l := p.Value(); l != nil {
			err = cmp.Or(err, l.Reconfigure(d.over(own)))
		}
	}
	return err
}

// over gives a limiter the document's fields, and its own settings for those that the document lacks.
func (d Document) over(own aimd.Config) func(*aimd.Config) {
	return func(c *aimd.Config) {
		c.MinWindow = cmp.Or(d.Window.Min, own.MinWindow)
		c.MaxWindow = cmp.Or(d.Window.Max, own.MaxWindow)
		c.MaxRate = cmp.Or(d.Window.MaxRate, own.MaxRate)
		c.MaxAmountRate = cmp.Or(d.Window.MaxAmountRate, own.MaxAmountRate)
		c.MaxAttempts = cmp.Or(d.Retry.MaxAttempts, own.MaxAttempts)
		c.PauseMax, c.PauseMin = cmp.Or(d.Retry.MaxPause, own.PauseMax), own.PauseMin
		if c.PauseMax > 0 { // else pauses are off
			c.PauseMin = min(c.PauseMin, c.PauseMax)
		}
	}
}

// ErrFeatureOff: the feature of the request is off; the text names it. The service was not asked, and no retry helps:
// limiters count it as neutral and final.
var ErrFeatureOff = verdict.With(errors.New("aimd: feature is off"),
	verdict.Facts{Verdict: verdict.Verdict{Meaning: answer.Final}, Reach: verdict.Unsent})

// Features refuses the requests of features in a document's features_off. A request belongs to the feature of its
// context's tags (tag.WithFeature). A request without a feature is never refused.
//
// It is an attempt.Guard for limiters and policies: each attempt asks it before it is sent. It is safe for any number of
// goroutines. In the zero value no feature is off.
type Features struct {
	off atomic.Pointer[[]string]
}

// Admit returns an error that matches ErrFeatureOff if the context's feature is off.
func (f *Features) Admit(ctx context.Context, _ int) error {
	feature := tag.FromContext(ctx).Feature
	if off := f.off.Load(); off != nil && slices.Contains(*off, feature) {
		return fmt.Errorf("%w: %q", ErrFeatureOff, feature)
	}
	return nil
}

// Ended is there for attempt.Guard; how attempts end makes no difference.
func (f *Features) Ended(context.Context, window.Outcome) {}

// Apply refuses the features that the document has, and no others.
func (f *Features) Apply(d Document) error {
	off := slices.Clone(d.FeaturesOff)
	f.off.Store(&off)
	return nil
}
