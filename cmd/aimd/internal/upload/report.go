package upload

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// Summary counts all files, and is the last line of --json.
type Summary struct {
	Stored  int64 `json:"stored"`
	Skipped int64 `json:"skipped"`
	Failed  int64 `json:"failed"`
	Planned int64 `json:"planned,omitempty"`
	// Attempts counts the answers of the store, Refused its refusals.
	Attempts uint64 `json:"attempts"`
	Refused  uint64 `json:"refused"`
	// Bytes is the size of the files that are stored or planned.
	Bytes       int64   `json:"bytes"`
	Seconds     float64 `json:"seconds"`
	Interrupted bool    `json:"interrupted"`
	// Incomplete are uploads in parts that are in the store, or may be, of this run or others.
	Incomplete []incomplete `json:"incomplete_uploads,omitempty"`
}

func (s Summary) files() int64 { return s.Stored + s.Skipped + s.Failed + s.Planned }

// The status of a file.
const (
	stored  = "stored"  // the store has it, and did not have it before
	skipped = "skipped" // the store had it already; or it is no file to upload, then with a reason
	failed  = "failed"  // the store may not have it
	planned = "planned" // a dry run would upload it
)

// result is a file's line of --json.
type result struct {
	Path   string `json:"path"`
	Key    string `json:"key"`
	Size   int64  `json:"size"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// String is the line for people, who see what a name has in it.
func (r result) String() string {
	if r.Error != "" {
		return fmt.Sprintf("%s: %q: %s", r.Status, r.Path, r.Error)
	}
	return fmt.Sprintf("%s: %q -> %q", r.Status, r.Path, r.Key)
}

// reporter takes the results. It is safe for several goroutines.
type reporter struct {
	Config
	began time.Time
	// progress is the line that shows how far the run is; what is written to a terminal goes above it.
	progress *progress.Line
	// stop ends the run if the reader of standard output is gone.
	stop func(error)

	mu sync.Mutex
	// Summary is guarded by mu.
	Summary
}

// add counts the result of a file, and writes its line.
func (r *reporter) add(x result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch x.Status {
	case stored:
		r.Stored++
		r.Bytes += x.Size
	case planned:
		r.Planned++
		r.Bytes += x.Size
	case skipped:
		r.Skipped++
	case failed:
		r.Failed++
	}
	switch {
	case r.JSON:
		r.json(x)
	case x.Status == failed && x.Error != errStopped, x.Status == skipped && x.Error != "" && !r.Quiet:
		r.stderr(x.String())
	case x.Status == planned && !r.Quiet:
		r.stdout(x.String())
	}
}

func (r *reporter) json(x any) {
	line, _ := json.Marshal(x)
	r.stdout(string(line))
}

func (r *reporter) stdout(line string) {
	var err error
	write := func() { _, err = io.WriteString(r.Stdout, line+"\n") }
	if terminal.Columns(r.Stdout) > 0 {
		r.progress.Around(write)
	} else {
		write() // which leaves the progress where it is
	}
	if err != nil {
		r.stop(fmt.Errorf("standard output: %w", err))
	}
}

func (r *reporter) stderr(line string) {
	r.progress.Around(func() { _, _ = fmt.Fprintln(r.Stderr, line) })
}

func (r *reporter) now() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.Summary
	s.Seconds = time.Since(r.began).Seconds()
	return s
}

// close writes the end of the report.
func (r *reporter) close(s Summary) {
	for _, x := range s.Incomplete {
		r.stderr(fmt.Sprintf("incomplete: parts of %q are in the store, or may be (upload %s)", x.Key, x.ID))
	}
	switch {
	case r.JSON:
		r.json(s)
	case !r.Quiet:
		r.stdout(s.String())
	}
}

// String is the summary for people.
func (s Summary) String() string {
	rest := fmt.Sprintf("(%s), %d skipped, %d failed", mib(s.Bytes), s.Skipped, s.Failed)
	if s.Planned > 0 {
		return fmt.Sprintf("would upload %d files %s", s.Planned, rest)
	}
	took := time.Duration(s.Seconds * float64(time.Second)).Round(10 * time.Millisecond)
	text := fmt.Sprintf("%d stored %s in %v; %d requests, %d refused", s.Stored, rest, took, s.Attempts, s.Refused)
	if s.Interrupted {
		text += "; stopped before the end: run it again to continue"
	}
	return text
}

// line is how far the run is.
func (u *run) line() string {
	if u.Quiet {
		return ""
	}
	s, l, sent := u.report.now(), u.limiter.Snapshot(), u.store.sent.Load()
	rate := mib(int64(float64(sent) / s.Seconds))
	text := fmt.Sprintf("%d files  %s  %s/s  cwnd %.1f  %d refused", s.files(), mib(sent), rate, l.Cwnd, l.Overloads)
	if s.Failed > 0 {
		text += fmt.Sprintf("  %d failed", s.Failed)
	}
	if u.seen.Swap(l.Successes) != l.Successes {
		u.trouble.Store("")
	}
	if why := u.trouble.Load(); why != "" {
		return "waiting: " + why + "  " + text
	}
	return text
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
