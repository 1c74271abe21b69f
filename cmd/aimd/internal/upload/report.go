package upload

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/bucket"
)

// Summary is what became of all files.
type Summary struct {
	Uploaded int64 `json:"uploaded"`
	Skipped  int64 `json:"skipped"`
	Failed   int64 `json:"failed"`
	// NotBegun is how many files came up after the run was stopped.
	NotBegun int64 `json:"not_begun"`
	// Uncounted: there may be more of these.
	Uncounted bool `json:"uncounted,omitempty"`
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
	// Incomplete are uploads in parts that are left in the store, or may be, of
	// this run or of others: bucket.IncompleteMost of each at most.
	Incomplete []bucket.Incomplete `json:"incomplete_uploads,omitempty"`
}

type reporter struct {
	c     Config
	began time.Time
	// bytes is what is done with: sent, of files under way as well, or left out.
	bytes atomic.Int64
	// writing: standard output is written to, with mu held; its reader may take long.
	writing atomic.Bool

	mu sync.Mutex
	// Guarded by mu.
	Summary
	failed *list
	// broken is the first error of standard output. stop ends the run for want of readers.
	broken error
	stop   context.CancelCauseFunc
	// around has what is written to a terminal keep clear of the progress. terminal:
	// that goes for standard output as well.
	around   func(write func())
	terminal bool
}

// newReporter begins the list of what failed. Results are told through it only.
func newReporter(c Config, stop context.CancelCauseFunc) (*reporter, error) {
	r := &reporter{c: c, stop: stop, began: time.Now(), around: func(write func()) { write() }, terminal: terminal.Columns(c.Stdout) > 0}
	if c.Failed == "" {
		return r, nil
	}
	var err error
	if r.failed, err = newList(c.Failed); err != nil {
		return nil, fmt.Errorf("--failed: %w", err)
	}
	return r, nil
}

func (r *reporter) writes(path string) bool { return r.failed != nil && r.failed.is(path) }

func (r *reporter) list(path string) {
	if r.failed != nil {
		r.failed.add(path)
	}
}

func (r *reporter) notBegun(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.NotBegun++
	r.list(path)
}

func (r *reporter) left(x bucket.Incomplete) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.Incomplete) < 2*bucket.IncompleteMost && !slices.Contains(r.Incomplete, x) {
		r.Incomplete = append(r.Incomplete, x)
	}
}

// uncounted notes whether there was more that was not begun.
func (r *reporter) uncounted(more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Uncounted = r.Uncounted || more
}

func (r *reporter) tell(x Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes.Add(x.Size - x.sent)
	switch x.Status {
	case Uploaded:
		r.Uploaded++
		r.Bytes += x.Size
	case Planned:
		r.Planned++
		r.Bytes += x.Size
	case Skipped:
		r.Skipped++
	case Failed:
		r.Failed++
		r.list(x.Path)
	}
	r.write(x)
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
		r.stderr(x.String())
	case x.Status == Planned && !r.c.Quiet:
		r.stdout(func() error { _, err := fmt.Fprintln(r.c.Stdout, x); return err })
	}
}

func (r *reporter) json(x any) {
	r.stdout(func() error { return json.NewEncoder(r.c.Stdout).Encode(x) })
}

func (r *reporter) stderr(line string) {
	r.around(func() { _, _ = fmt.Fprintln(r.c.Stderr, line) })
}

// stdout writes, and stops the run if nobody reads any more what becomes of it.
func (r *reporter) stdout(write func() error) {
	r.writing.Store(true)
	defer r.writing.Store(false)
	var err error
	if r.terminal {
		r.around(func() { err = write() })
	} else {
		err = write() // the progress need not make room
	}
	if err != nil {
		if r.broken == nil {
			r.broken = fmt.Errorf("standard output: %w", err)
		}
		r.stop(r.broken)
	}
}

func (r *reporter) note(text string) {
	if r.c.Verbose {
		r.say(text)
	}
}

func (r *reporter) say(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stderr(text)
}

// keepClear has all that is written from now on go through around.
func (r *reporter) keepClear(around func(write func())) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.around = around
}

func (r *reporter) now() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.Summary
	s.Incomplete = slices.Clone(s.Incomplete)
	s.Seconds = time.Since(r.began).Seconds()
	return s
}

// close ends the list and tells the rest. unlisted is why the list is the old one.
func (r *reporter) close(s Summary) (unlisted, broken error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		// A list that lacks something must not replace one that may have it.
		if err := r.failed.close(!s.Uncounted); err != nil {
			unlisted = fmt.Errorf("--failed %s is not written: %w", r.c.Failed, err)
		}
	}
	for _, x := range s.Incomplete {
		r.stderr(fmt.Sprintf("incomplete: parts of %s are in the store, or may be (upload %s)", shown(x.Key), cmp.Or(shown(x.ID), "unknown")))
	}
	switch {
	case r.c.JSON:
		r.json(map[string]Summary{"summary": s})
	case !r.c.Quiet:
		r.stdout(func() error { _, err := fmt.Fprintln(r.c.Stdout, s); return err })
	}
	return unlisted, r.broken
}

// String is the summary for people.
func (s Summary) String() string {
	took := time.Duration(s.Seconds * float64(time.Second)).Round(10 * time.Millisecond)
	rest := fmt.Sprintf("%d skipped, %d failed", s.Skipped, s.Failed)
	if s.NotBegun > 0 || s.Uncounted {
		more := ""
		if s.Uncounted {
			more = " or more"
		}
		rest += fmt.Sprintf(", %d%s not begun", s.NotBegun, more)
	}
	if s.Planned > 0 {
		return fmt.Sprintf("would upload %d files (%s), %s", s.Planned, bytesShown(s.Bytes), rest)
	}
	return fmt.Sprintf("%d uploaded (%s), %s in %v; %d requests, %d refused", s.Uploaded, bytesShown(s.Bytes), rest, took, s.Attempts, s.Refused)
}

// patienceTime is how long a user who has stopped the run sees nothing.
const patienceTime = time.Second

// patience says once what the run waits for if it was stopped and does not end.
// Call done when it has ended.
func (u *run) patience(stopped context.Context) (done func()) {
	late, cancel := bucket.Outlast(stopped, patienceTime)
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-late.Done():
			const stopped, again = "stopped; waiting for ", "; Ctrl-C again ends it at once"
			if u.report.writing.Load() {
				fmt.Fprintln(u.Stderr, stopped+"the reader of standard output"+again) // which holds up all else
				return
			}
			u.report.say(stopped + u.waitingFor() + again)
		case <-ended:
		}
	})
	return func() {
		close(ended)
		wg.Wait()
		cancel()
	}
}

func (u *run) waitingFor() string {
	var parts []string
	for _, x := range u.bucket.Open() {
		parts = append(parts, fmt.Sprintf("%s (upload %s)", shown(x.Key), shown(x.ID)))
	}
	switch {
	case len(parts) > 0:
		return "the store to remove the parts of " + strings.Join(parts, ", ")
	case u.files.busy() > 0:
		return fmt.Sprintf("the store to answer for %d files", u.files.busy())
	}
	return fmt.Sprintf("the list of what was not begun, %d files so far", u.report.now().NotBegun)
}
