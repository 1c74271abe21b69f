package remote

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Bounds of a document. Our choice, all of them: room for any use that makes
// sense, and too little to harm a reader.
const (
	// format is the format of documents that this package reads and writes.
	format = 1
	// maxSize is the most bytes that a document may have.
	maxSize = 256 << 10
	// maxVersion is the highest version: the highest whole number that all
	// readers of JSON agree on (RFC 8259, section 6).
	maxVersion = 1<<53 - 1
	// maxFeatures is the most features that may be off, maxFeature the most
	// bytes in the name of one.
	maxFeatures = 1000
	maxFeature  = 128
)

// Document is what the service tells its clients: "Remote configure your
// clients! Configure periodicity remotely. Maintain a remotely configured client
// feature blacklist" (Safe Client Behaviour).
//
// It says what is to be different from the program's own settings: a field that
// is absent, in Go zero, leaves the program's own in force. So a document
// without a field that the one before it had gives the program its own back.
//
// A plain value; as JSON it is what Parse reads, with the names that the package's
// comment lists. Schema returns its JSON schema.
type Document struct {
	// Format must be 1.
	Format int
	// Version orders a source's documents: 1 to 2^53 - 1. A document is put in
	// force only if its version is above that of the one in force; so to go back,
	// publish the old contents with a new version.
	Version uint64
	// Window is for limiters.
	Window struct {
		// Min and Max bound the window, in attempts: 1 <= Min <= Max <= 1048576.
		Min, Max float64
		// Factor is what a cut keeps of the window: greater than 0, less than 1.
		Factor float64
	}
	// Retry is for all that tries again.
	Retry struct {
		// MaxAttempts is the most attempts for one operation, the first one among
		// them: 1 (no retries) to 1000.
		MaxAttempts int
		// MaxPause is the longest pause between attempts that clients choose by
		// themselves: 1 ms to 1 h.
		MaxPause time.Duration
		// BudgetShare is the most of all requests that may be retries: greater than
		// 0, less than 1.
		BudgetShare float64
	}
	// Schedule is for work that repeats.
	Schedule struct {
		// Period is the time from one run to the next: 1 s to 168 h, a week.
		Period time.Duration
	}
	// FeaturesOff has the features (tag.Tags.Feature) that must send nothing
	// now: at most 1000, each once, of 1 to 128 bytes of printable
	// text with no space at its ends.
	FeaturesOff []string
}

// MarshalJSON writes what Parse reads: what is absent is left out, and a duration is
// text, as "1m30s".
func (d Document) MarshalJSON() ([]byte, error) {
	document := map[string]any{}
	for _, f := range fields {
		v, _ := f.check(&d)
		if v == nil {
			continue
		}
		if t, ok := v.(time.Duration); ok {
			v = t.String()
		}
		section, name, nested := strings.Cut(f.path, ".")
		if !nested {
			document[section] = v
			continue
		}
		if document[section] == nil {
			document[section] = map[string]any{}
		}
		document[section].(map[string]any)[name] = v
	}
	if len(d.FeaturesOff) > 0 {
		document["features_off"] = d.FeaturesOff
	}
	return json.Marshal(document)
}

// equal reports whether the documents say the same, features in any order.
func (d Document) equal(e Document) bool {
	a, b := slices.Sorted(slices.Values(d.FeaturesOff)), slices.Sorted(slices.Values(e.FeaturesOff))
	return d.Format == e.Format && d.Version == e.Version && d.Window == e.Window &&
		d.Retry == e.Retry && d.Schedule == e.Schedule && slices.Equal(a, b)
}

// clone is a copy that shares nothing.
func (d Document) clone() Document {
	d.FeaturesOff = slices.Clone(d.FeaturesOff)
	return d
}

//go:embed schema.json
var schema string

// Schema returns the JSON schema (draft 2020-12) of documents, for editors and
// for publishers. Parse is stricter in what a schema cannot say: each field
// at most once, min not above max.
func Schema() string { return schema }
