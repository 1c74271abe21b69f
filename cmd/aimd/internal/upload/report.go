package upload

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// Summary counts all files.
type Summary struct {
	Status  string `json:"status"`
	Stored  int64  `json:"stored"`
	Skipped int64  `json:"skipped"`
	Failed  int64  `json:"failed"`
	Planned int64  `json:"planned"`
	// Attempts counts the answers of the store, Refused its refusals.
	Attempts uint64 `json:"requests"`
	Refused  uint64 `json:"refused"`
	// Bytes is the size of the files that are stored or planned.
	Bytes       int64 `json:"bytes"`
	Interrupted bool  `json:"interrupted"`
	// Seconds is the time of the whole run.
	Seconds float64 `json:"seconds"`
	// passed is the size of the files that were not sent.
	passed int64
}

func (s Summary) files() int64 { return s.Stored + s.Skipped + s.Failed + s.Planned }

// The status of a file.
const (
	stored  = "stored"  // the store has it, and did not have it before
	skipped = "skipped" // the store had it already; or it is no file to upload, then with a reason
	failed  = "failed"  // the store may not have it
	planned = "planned" // a dry run would upload it
)

// result is what became of a file.
type result struct {
	Status string `json:"status"`
	Path   string `json:"path"`
	Key    string `json:"key"`
	Size   int64  `json:"size"`
	// Why is the reason of a failure, and of a file that was left out.
	Why string `json:"why,omitempty"`
}

// String is a line, in which people see what a name has in it.
func (r result) String() string {
	if r.Why != "" {
		return fmt.Sprintf("%s: %q: %s", r.Status, r.Path, r.Why)
	}
	return fmt.Sprintf("%s: %q -> %q", r.Status, r.Path, r.Key)
}

// told is a name as JSON has it. One that is not UTF-8 is in quotes, like "a\xff": two of them would look alike.
func told(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strconv.Quote(name)
}

// reporter takes the results. It is safe for several goroutines.
type reporter struct {
	Config
	began time.Time
	// progress is the line that shows how far the run is; output to a terminal goes above it.
	progress *progress.Line
	// stop ends the run if the reader of standard output is gone.
	stop func(error)

	mu sync.Mutex
	// Summary is guarded by mu.
	Summary
}

// add counts the result of a file, and writes its line if a person should see it.
func (r *reporter) add(x result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.JSON {
		r.line(result{x.Status, told(x.Path), told(x.Key), x.Size, x.Why})
	}
	if x.Status != stored {
		r.passed += x.Size
	}
	switch x.Status {
	case stored:
		r.Stored++
		r.Bytes += x.Size
	case planned:
		r.Planned++
		r.Bytes += x.Size
		if !r.Quiet && !r.JSON {
			r.stdout(x.String())
		}
	case skipped:
		if r.Skipped++; x.Why != "" && !r.Quiet {
			r.stderr(x.String())
		}
	case failed:
		if r.Failed++; x.Why != errStopped {
			r.stderr(x.String())
		}
	}
}

// line writes a line of JSON.
func (r *reporter) line(x any) {
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // a type without JSON
	}
	r.stdout(string(text))
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
	s.Status, s.Seconds = "summary", time.Since(r.began).Seconds()
	return s
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

// line is the progress of the run.
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
	if left, ok := u.left(s); ok {
		text += fmt.Sprintf("  some %v left", left)
	}
	if u.seen.Swap(l.Successes) != l.Successes {
		u.trouble.Store("")
		u.refused.Store("")
		u.worked.Store(time.Now())
	}
	why := u.trouble.Load()
	if time.Since(u.worked.Load()) >= silent {
		why = cmp.Or(why, u.refused.Load())
	}
	if why != "" {
		return "waiting: " + why + "  " + text
	}
	return text
}

// aFile is the weight of a file in addition to its bytes: the time for its request. Our choice: as 64 KiB, a tenth of a
// second at 5 Mbit/s.
const aFile = 64 << 10

// count sums up what all files weigh, while the first are sent.
func (u *run) count(ctx context.Context) {
	var all int64
	for e := range u.entries(ctx) {
		if ctx.Err() != nil {
			return
		}
		all += aFile + e.size
	}
	u.work.Store(all)
}

// left is the time that the rest takes at the pace until now, if it is known what all is.
func (u *run) left(s Summary) (time.Duration, bool) {
	all, done := u.work.Load(), u.store.sent.Load()+s.passed+aFile*s.files()
	left := s.Seconds / float64(done) * float64(all-done)
	return time.Duration(left * float64(time.Second)).Round(time.Second), 0 < done && done < all
}

// silent is the time without a success after which the progress says why, whatever it is. Our choice: a wait of some
// seconds is usual where a store refuses.
const silent = 5 * time.Second

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
