package remote

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

// Bounds of a document, our choice: room for any sensible use, and too little to harm a
// reader.
const (
	format  = 1
	maxSize = 256 << 10 // bytes
	// maxVersion is the highest whole number that all readers of JSON agree on (RFC 8259,
	// section 6).
	maxVersion = 1<<53 - 1
	// maxFeature is in bytes of a name.
	maxFeatures, maxFeature = 1000, 128
)

// Document has the settings that a service asks of its clients. A field that is absent, in
// Go zero, leaves the program's own setting in force, or brings it back if the document
// before had the field. It is a plain value; in JSON it has the names that the package's
// comment lists.
type Document struct {
	// Format must be 1.
	Format int
	// Version orders a source's documents: 1 to 2^53 - 1. A document is put in force only
	// if its version is above the version in force.
	Version uint64
	// Window is for limiters.
	Window struct {
		// Min and Max bound the window, in attempts: 1 <= Min <= Max <= 1048576.
		Min, Max float64
		// Factor is the part of the window that a cut keeps: greater than 0, less than 1.
		Factor float64
	}
	// Retry is for all that tries again.
	Retry struct {
		// MaxAttempts is the most attempts for one operation, the first one included: 1 (no
		// retries) to 1000.
		MaxAttempts int
		// MaxPause is the longest pause between attempts that clients choose by themselves:
		// 1 ms to 1 h.
		MaxPause time.Duration
		// BudgetShare is the most of all requests that may be retries: greater than 0, less
		// than 1.
		BudgetShare float64
	}
	// Schedule is for work that repeats.
	Schedule struct {
		// Period is the time from one run to the next: 1 s to 168 h, a week.
		Period time.Duration
	}
	// FeaturesOff are the features (tag.Tags.Feature) that are off: at most 1000, each
	// once, of 1 to 128 bytes of printable text with no space at its ends.
	FeaturesOff []string
}

// FieldError names a field of a document ("window.max", "features_off[3]", "document" for
// the whole), its value and the values allowed. All packages of this module have this error
// for a wrong setting.
type FieldError = setting.Error

func wrong(field, value, want string) error {
	return &FieldError{Name: field, Value: value, Want: want}
}

// Validate returns a *FieldError about the first field whose value is not allowed, or nil.
func (d Document) Validate() error {
	if err := d.validate(); err != nil {
		return fmt.Errorf("remote: %w", err)
	}
	return nil
}

// The bounds' functions take a zero, which is an absent field, as a value that is allowed.
func (d Document) validate() error {
	w, r := &d.Window, &d.Retry
	err := cmp.Or(
		setting.Number("window.min", &w.Min, 1, window.MinWindow, window.MaxWindow),
		setting.Number("window.max", &w.Max, window.MaxWindow, window.MinWindow, window.MaxWindow),
		setting.Share("window.factor", &w.Factor, 0.5),
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
		bad := name == "" || len(name) > maxFeature || strings.TrimSpace(name) != name || strings.ContainsFunc(name, odd)
		field := fmt.Sprintf("features_off[%d]", i)
		switch {
		case bad:
			return setting.Wrong(field, text(name), "printable text of 1 to %d bytes, with no space at its ends", maxFeature)
		case slices.Contains(d.FeaturesOff[:i], name):
			return wrong(field, fmt.Sprintf("%q a second time", name), "each feature once")
		}
	}
	return nil
}

// clone is a copy that shares no memory.
func (d Document) clone() Document {
	d.FeaturesOff = slices.Clone(d.FeaturesOff)
	return d
}

//go:embed schema.json
var schema string

// Schema returns the JSON schema (draft 2020-12) of documents, for editors and publishers.
// Parse also refuses a field that is there twice, and a min above max.
func Schema() string { return schema }
