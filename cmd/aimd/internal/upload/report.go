package upload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sync/atomic"
)

// Summary is what became of all files.
type Summary struct {
	Uploaded int64 `json:"uploaded"`
	Skipped  int64 `json:"skipped"`
	Failed   int64 `json:"failed"`
	// Planned is what a dry run would upload.
	Planned int64 `json:"planned,omitempty"`
	// Bytes is the size of what was uploaded, or would be.
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// Attempts is how many requests were answered, of any kind; Refused how many
	// of these with "too much".
	Attempts    uint64 `json:"attempts"`
	Refused     uint64 `json:"refused"`
	Interrupted bool   `json:"interrupted"`
}

// reporter tells of results as they come.
type reporter struct {
	c     Config
	began time.Time
	// bytes is what is done with: sent, of files under way as well, or left out.
	bytes atomic.Int64

	mu sync.Mutex
	// Guarded by mu.
	Summary
	failed *os.File
	// broken is the first error of writing.
	broken error
	// around has what is written to a terminal keep clear of the progress.
	around func(write func())
}

// newReporter opens the list of what failed. Results are told through it only.
func newReporter(c Config) (*reporter, error) {
	r := &reporter{c: c, began: time.Now(), around: func(write func()) { write() }}
	if c.Failed == "" {
		return r, nil
	}
	f, err := os.Create(c.Failed)
	if err != nil {
		return nil, fmt.Errorf("--failed: %w", err)
	}
	r.failed = f
	return r, nil
}

// writes reports whether the path is that of the list of what failed.
func (r *reporter) writes(path string) bool {
	if r.failed == nil || filepath.Base(path) != filepath.Base(r.c.Failed) {
		return false
	}
	here, err := os.Stat(path)
	if err != nil {
		return false
	}
	list, err := r.failed.Stat()
	return err == nil && os.SameFile(here, list)
}

// tell tells of one file.
func (r *reporter) tell(x Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch x.Status {
	case Uploaded:
		r.Uploaded++
		r.Bytes += x.Size
	case Planned:
		r.Planned++
		r.Bytes += x.Size
		r.bytes.Add(x.Size)
	case Skipped:
		r.Skipped++
		r.bytes.Add(x.Size)
	case Failed:
		r.Failed++
		r.bytes.Add(x.Size - x.sent)
		if r.failed != nil {
			_, err := r.failed.WriteString(x.Path + "\x00")
			r.keep("--failed", err)
		}
	}
	r.around(func() { r.write(x) })
}

// write writes the line of one file: to standard output as JSON, or for people
// to standard error what they need to know.
func (r *reporter) write(x Result) {
	if r.c.JSON {
		r.json(x)
		return
	}
	reason := x.Err != nil && !x.cut
	switch {
	case r.c.Verbose, x.Status == Failed && reason, reason && !r.c.Quiet:
		_, _ = fmt.Fprintln(r.c.Stderr, x)
	case x.Status == Planned && !r.c.Quiet:
		_, err := fmt.Fprintln(r.c.Stdout, x)
		r.keep("standard output", err)
	}
}

func (r *reporter) json(x any) {
	r.keep("standard output", json.NewEncoder(r.c.Stdout).Encode(x))
}

func (r *reporter) keep(what string, err error) {
	if r.broken == nil && err != nil {
		r.broken = fmt.Errorf("%s: %w", what, err)
	}
}

// note tells people who want to know more something that is about no file.
func (r *reporter) note(text string) {
	if !r.c.Verbose {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.around(func() { _, _ = fmt.Fprintln(r.c.Stderr, text) })
}

// keepClear has all that is written from now on go through around.
func (r *reporter) keepClear(around func(write func())) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.around = around
}

// now is how things stand.
func (r *reporter) now() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.Summary
	s.Seconds = time.Since(r.began).Seconds()
	return s
}

// close tells of the whole.
func (r *reporter) close(s Summary) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		r.keep("--failed", r.failed.Close())
	}
	switch {
	case r.c.JSON:
		r.json(map[string]Summary{"summary": s})
	case !r.c.Quiet:
		_, err := fmt.Fprintln(r.c.Stdout, s)
		r.keep("standard output", err)
	}
	if errors.Is(r.broken, io.ErrClosedPipe) {
		return nil
	}
	return r.broken
}

// String is the summary for people.
func (s Summary) String() string {
	took := time.Duration(s.Seconds * float64(time.Second)).Round(10 * time.Millisecond)
	if s.Planned > 0 {
		return fmt.Sprintf("would upload %d files (%s), %d skipped, %d failed", s.Planned, bytesShown(s.Bytes), s.Skipped, s.Failed)
	}
	return fmt.Sprintf("%d uploaded (%s), %d skipped, %d failed in %v; %d requests, %d refused",
		s.Uploaded, bytesShown(s.Bytes), s.Skipped, s.Failed, took, s.Attempts, s.Refused)
}
