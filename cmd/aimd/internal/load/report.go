package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// reports writes how a run stands, from time to time.
type reports struct {
	every time.Duration
	json  bool
	to    io.Writer
}

// flags adds the flags of the reports, and a flag for the duration of the run.
func (r *reports) flags(f *pflag.FlagSet, every time.Duration, duration, also string) (most *time.Duration) {
	r.every, most = every, new(time.Duration)
	f.Var(value.Duration(&r.every, 100*time.Millisecond, time.Hour), "report", "how often a line is written")
	f.Var(value.Duration(most, 0, 30*24*time.Hour), "duration", duration+"; 0s: until Ctrl-C")
	f.BoolVar(&r.json, "json", false, "the lines are JSON objects; they also have "+also)
	return most
}

// report is a line for people, and the object that --json writes for it.
type report struct {
	line   string
	object any
}

func (r reports) write(x report) error {
	if r.json {
		return json.NewEncoder(r.to).Encode(x.object)
	}
	_, err := fmt.Fprintln(r.to, x.line)
	return err
}

// until writes a report at each interval until the context ends, or something fails. At the
// end a span of less than half an interval has no report.
func (r reports) until(ctx context.Context, failed <-chan error, now func(at time.Time, span time.Duration) report) error {
	t := time.NewTicker(r.every)
	defer t.Stop()
	for last := time.Now(); ctx.Err() == nil; {
		select {
		case <-t.C:
		case <-ctx.Done():
		case err := <-failed:
			return err
		}
		at := time.Now()
		if at.Sub(last) < r.every/2 {
			continue
		}
		if err := r.write(now(at, at.Sub(last))); err != nil {
			return err
		}
		last = at
	}
	return nil
}

// counter has the counts of a run. It is safe for several goroutines.
type counter[T any] struct {
	mu     sync.Mutex
	counts T
}

// change changes the counts, and returns them.
func (c *counter[T]) change(f func(*T)) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.counts)
	return c.counts
}

func (c *counter[T]) now() T { return c.change(func(*T) {}) }
