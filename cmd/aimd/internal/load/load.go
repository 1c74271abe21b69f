// Package load is a service to crash, and the clients that crash it: aimd server and aimd
// client, after "Exponential Backoff or how not to crash a server".
package load

import (
	"context"
	"embed"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

//go:embed help
var help embed.FS

// period is the time between two lines that a program writes, and the time that it works; 0: until Ctrl-C.
type period struct{ every, most time.Duration }

func (p *period) flags(f *pflag.FlagSet, work string) {
	f.Var(value.Duration(&p.every, 100*time.Millisecond, time.Hour), "report", "how often a line is written")
	f.Var(value.Duration(&p.most, 0, 30*24*time.Hour), "duration", "how long to "+work+"; 0s: until Ctrl-C")
}

// bound returns a context that is cancelled after the time. It has no deadline: a retry that is
// due after a deadline is given up, and its client would send a new request in the place of the
// delay.
func (p period) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if p.most > 0 {
		time.AfterFunc(p.most, cancel)
	}
	return ctx, cancel
}

// lines writes a line at each interval until the context ends, or something fails. At the end a
// span of less than half an interval has no line.
func (p period) lines(ctx context.Context, w io.Writer, failed <-chan error, line func(at time.Time, span time.Duration) string) error {
	t := time.NewTicker(p.every)
	defer t.Stop()
	for last := time.Now(); ctx.Err() == nil; {
		select {
		case <-t.C:
		case <-ctx.Done():
		case err := <-failed:
			return err
		}
		at := time.Now()
		if at.Sub(last) < p.every/2 {
			continue
		}
		if _, err := fmt.Fprintln(w, line(at, at.Sub(last))); err != nil {
			return err
		}
		last = at
	}
	return nil
}
