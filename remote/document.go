package remote

import (
	_ "embed"
	"slices"
	"time"
)

// Bounds of a document. Our choice, all of them: room for any use that makes
// sense, and too little to harm who reads it.
const (
	// Format is the format of documents that this package reads and writes.
	Format = 1
	// MaxSize is the most bytes that a document may have.
	MaxSize = 256 << 10
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
// A plain value; as JSON it is what Parse reads. Schema returns its JSON schema.
type Document struct {
	// Format must be 1, the constant Format.
	Format int `json:"format"`
	// Version orders a source's documents: 1 to 2^53 - 1. A document is put in
	// force only if its version is above that of the one in force; so to go back,
	// publish the old contents with a new version.
	Version uint64 `json:"version"`
	// Window is for limiters.
	Window Window `json:"window,omitzero"`
	// Retry is for all that tries again.
	Retry Retry `json:"retry,omitzero"`
	// Schedule is for work that repeats.
	Schedule Schedule `json:"schedule,omitzero"`
	// FeaturesOff has the features (tag.Tags.Feature) that must send nothing
	// now: at most 1000, each once, of 1 to 128 bytes of printable
	// text with no space at its ends.
	FeaturesOff []string `json:"features_off,omitempty"`
}

// Window is what a document says about congestion windows.
type Window struct {
	// Min and Max bound the window, in attempts: 1 <= Min <= Max <= 1048576.
	Min float64 `json:"min,omitzero"`
	Max float64 `json:"max,omitzero"`
	// Factor is what a cut keeps of the window: greater than 0, less than 1.
	Factor float64 `json:"factor,omitzero"`
}

// Retry is what a document says about retries.
type Retry struct {
	// MaxAttempts is the most attempts for one operation, the first one among
	// them: 1 (no retries) to 1000.
	MaxAttempts int `json:"max_attempts,omitzero"`
	// MaxPause is the longest pause between attempts that clients choose by
	// themselves: 1 ms to 1 h.
	MaxPause Duration `json:"max_pause,omitzero"`
	// BudgetShare is the most of all requests that may be retries: greater than
	// 0, less than 1.
	BudgetShare float64 `json:"budget_share,omitzero"`
}

// Schedule is what a document says about work that repeats.
type Schedule struct {
	// Period is the time from one run to the next: 1 s to 168 h, a week.
	Period Duration `json:"period,omitzero"`
}

// Duration is a time.Duration that is text in JSON: "1m30s".
type Duration time.Duration

// String returns the duration as text: "1m30s".
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns the duration as text.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

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
// for who publishes. Parse is stricter in what a schema cannot say: each field
// at most once, min not above max.
func Schema() string { return schema }
