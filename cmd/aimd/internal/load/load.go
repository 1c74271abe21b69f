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

const path = "/api"

// period is the time between two lines that a program writes, and the time that it works; 0: until Ctrl-C.
type period struct{ every, most time.Duration }

func (p *period) flags(f *pflag.FlagSet, work string) {
	f.Var(value.Duration(&p.every, 100*time.Millisecond, time.Hour), "report", "time from a line to the next")
	f.Var(value.Duration(&p.most, 0, 30*24*time.Hour), "duration", "time to "+work+"; 0s: until Ctrl-C")
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

// lines writes a line for each interval until the context ends.
func (p period) lines(ctx context.Context, w io.Writer, line func(at time.Time) string) error {
	t := time.NewTicker(p.every)
	defer t.Stop()
	for {
		select {
		case at := <-t.C:
			if _, err := fmt.Fprintln(w, line(at)); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}
