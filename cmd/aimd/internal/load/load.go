// Package load is a service to crash, and the clients that crash it: aimd server and aimd
// client, after "Exponential Backoff or how not to crash a server".
package load

import (
	"context"
	"embed"
	"fmt"
	"io"
	"time"
)

//go:embed help
var help embed.FS

const path = "/api"

// lines writes a line for each interval until the context ends.
func lines(ctx context.Context, w io.Writer, every time.Duration, line func(at time.Time) string) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case at := <-t.C:
			fmt.Fprintln(w, line(at))
		case <-ctx.Done():
			return
		}
	}
}
