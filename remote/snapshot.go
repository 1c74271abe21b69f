package remote

import (
	"fmt"
	"time"
)

// Snapshot is how a Client stood at one moment: what is in force, since when,
// from where, and what is wrong.
type Snapshot struct {
	// Document is the one in force, and Version its version; zero: none.
	Document Document `json:"document,omitzero"`
	Version  uint64   `json:"version"`
	// From is where it came from: the source, or the store.
	From string `json:"from,omitempty"`
	// Applied is when it was put in force.
	Applied time.Time `json:"applied,omitzero"`
	// Source is the name of the source.
	Source string `json:"source"`
	// Looked is when the source was last looked at, whatever came of it, and
	// Confirmed when it last said that the document in force is the present one.
	Looked    time.Time `json:"looked,omitzero"`
	Confirmed time.Time `json:"confirmed,omitzero"`
	// Looks counts the looks at the source since the start, Failures those that
	// came to nothing.
	Looks    uint64 `json:"looks"`
	Failures uint64 `json:"failures"`
	// LastError is why the last look came to nothing, "" if it did not.
	LastError string `json:"last_error,omitempty"`
	// StoreError is why the document in force is not kept on disk, or why what
	// was kept there was not used; "": neither.
	StoreError string `json:"store_error,omitempty"`
}

// String returns the snapshot in one line.
func (s Snapshot) String() string {
	line := fmt.Sprintf("version=%d", s.Version)
	if s.Version > 0 {
		line += fmt.Sprintf(" from=%s applied=%s", s.From, s.Applied.Format(time.RFC3339))
	}
	if !s.Confirmed.IsZero() {
		line += " confirmed=" + s.Confirmed.Format(time.RFC3339)
	}
	line += fmt.Sprintf(" looks=%d failures=%d", s.Looks, s.Failures)
	if s.LastError != "" {
		line += fmt.Sprintf(" error=%q", s.LastError)
	}
	if s.StoreError != "" {
		line += fmt.Sprintf(" store-error=%q", s.StoreError)
	}
	return line
}
