package upload

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// namesMost is how many failed files the summary for people names.
const namesMost = 20

// Summary is what became of all files, and the last line of --json.
type Summary struct {
	Stored  int64 `json:"stored"`
	Skipped int64 `json:"skipped"`
	Failed  int64 `json:"failed"`
	// Planned is what a dry run would upload.
	Planned int64 `json:"planned,omitempty"`
	// Attempts is how many requests were answered, of any kind; Refused how many of these
	// answers were refusals.
	Attempts uint64 `json:"attempts"`
	Refused  uint64 `json:"refused"`
	// Bytes is the size of the files that were stored, or would be.
	Bytes       int64   `json:"bytes"`
	Seconds     float64 `json:"seconds"`
	Interrupted bool    `json:"interrupted"`
	// Incomplete are uploads in parts that are in the store, or may be, of this run or others.
	Incomplete []incomplete `json:"incomplete_uploads,omitempty"`
	// left is the size of the files that were not sent.
	left int64
}

// status is what became of a file.
type status string

const (
	// stored: the store has it, and did not have it before.
	stored status = "stored"
	// skipped: the store had it already, or it is no file to upload; then there is a reason.
	skipped status = "skipped"
	// failed: the store may not have it, for the reason.
	failed status = "failed"
	// planned: a dry run would upload it.
	planned status = "planned"
)

// result is what became of a file, and its line of --json.
type result struct {
	Path string `json:"path"`
	// PathBase64 is there if the path is not UTF-8, as JSON must be.
	PathBase64 []byte `json:"path_base64,omitempty"`
	Key        string `json:"key"`
	Size       int64  `json:"size"`
	Status     status `json:"status"`
	Error      string `json:"error,omitempty"`
}

// String is the result in a line for people.
func (r result) String() string {
	s := fmt.Sprintf("%s: %s", r.Status, shown(r.Path))
	switch {
	case r.Error != "":
		return s + ": " + strings.TrimPrefix(r.Error, "open "+r.Path+": ")
	case r.Status == skipped:
		return s
	}
	return fmt.Sprintf("%s -> %s (%s)", s, shown(r.Key), bytesShown(r.Size))
}

// shown is a name, quoted if it has characters that could upset a terminal.
func shown(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// bytesShown is a number of bytes in a unit that suits it.
func bytesShown(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/(1<<10), 0
	for ; x >= 999.95 && unit < 3; unit++ {
		x /= 1 << 10
	}
	return fmt.Sprintf("%.1f %s", x, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}

// reporter takes the results. It is safe for several goroutines.
type reporter struct {
	c     Config
	began time.Time
	// around keeps what is written to a terminal clear of the progress. That goes for
	// standard output too if it is a terminal.
	around   func(write func())
	terminal bool

	mu sync.Mutex
	// All below is guarded by mu.
	Summary
	// failures are the first that failed, broken is the first error of standard output,
	// and stop ends the run if nobody reads any more.
	failures []result
	broken   error
	stop     context.CancelCauseFunc
}

func newReporter(c Config, stop context.CancelCauseFunc) *reporter {
	return &reporter{c: c, stop: stop, began: time.Now(), around: func(write func()) { write() }, terminal: terminal.Columns(c.Stdout) > 0}
}

// tell takes the result of a file.
func (r *reporter) tell(x result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := x.Error != "" && !r.c.Quiet
	if x.Status != stored {
		r.left += x.Size
	}
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
		if reason = false; x.Error != errStopped && len(r.failures) < namesMost {
			r.failures = append(r.failures, x)
		}
	}
	switch {
	case r.c.JSON:
		r.json(x)
	case r.c.Verbose, reason:
		r.stderr(x.String())
	case x.Status == planned && !r.c.Quiet:
		r.stdout(x.String())
	}
}

func (r *reporter) json(x any) {
	line, _ := json.Marshal(x)
	r.stdout(string(line))
}

// stdout writes a line, and stops the run if nobody reads any more.
func (r *reporter) stdout(line string) {
	var err error
	write := func() { _, err = io.WriteString(r.c.Stdout, line+"\n") }
	if r.terminal {
		r.around(write)
	} else {
		write() // the progress need not make room
	}
	if err != nil && r.broken == nil {
		r.broken = fmt.Errorf("standard output: %w", err)
		r.stop(r.broken)
	}
}

func (r *reporter) stderr(line string) {
	r.around(func() { _, _ = fmt.Fprintln(r.c.Stderr, line) })
}

func (r *reporter) now() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.Summary
	s.Seconds = time.Since(r.began).Seconds()
	return s
}

// close writes the end of the report, and returns the first error of standard output.
func (r *reporter) close(s Summary) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range s.Incomplete {
		r.stderr(fmt.Sprintf("incomplete: parts of %s are in the store, or may be (upload %s)", shown(x.Key), shown(x.ID)))
	}
	if r.c.JSON {
		r.json(s)
		return r.broken
	}
	for _, x := range r.failures {
		r.stderr(x.String())
	}
	if more := s.Failed - int64(len(r.failures)); more > 0 && len(r.failures) > 0 {
		r.stderr(fmt.Sprintf("and %d more failed; --json names all", more))
	}
	if !r.c.Quiet {
		r.stdout(s.String())
	}
	return r.broken
}

// String is the summary for people.
func (s Summary) String() string {
	rest := fmt.Sprintf("%d skipped, %d failed", s.Skipped, s.Failed)
	if s.Planned > 0 {
		return fmt.Sprintf("would upload %d files (%s), %s", s.Planned, bytesShown(s.Bytes), rest)
	}
	took := time.Duration(s.Seconds * float64(time.Second)).Round(10 * time.Millisecond)
	text := fmt.Sprintf("%d stored (%s), %s in %v; %d requests, %d refused", s.Stored, bytesShown(s.Bytes), rest, took, s.Attempts, s.Refused)
	if s.Interrupted {
		text += "; stopped before the end: run it again to go on"
	}
	return text
}
