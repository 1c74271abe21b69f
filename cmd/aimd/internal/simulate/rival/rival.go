// Package rival has other ways to adapt a window, to compare with: congestion controls
// of TCP, and those that libraries and tools use. Each is written from its source with
// the defaults that are published there, as a law of this library's limiter, which
// counts what is in flight, queues and retries for all of them alike.
package rival

import (
	"time"

	"github.com/aimd-go/aimd/sim"
	"github.com/aimd-go/aimd/window"
)

// Strategies are the rivals, each with the initial window and the bounds of its source.
func Strategies() []sim.Strategy {
	return []sim.Strategy{
		{Name: "cubic", Window: sim.Window{NewLaw: newCubic, Initial: 10}},
		{Name: "vegas", Window: sim.Window{NewLaw: newVegas, Initial: 10}},
		{Name: "gradient2", Window: sim.Window{NewLaw: newGradient2, Initial: 20, Min: 20, Max: 200}},
		{Name: "netflix-aimd", Window: sim.Window{NewLaw: newNetflixAIMD, Initial: 10}},
		{Name: "arc", Window: sim.Window{NewLaw: newARC, Initial: 1, Max: 200}},
	}
}

// timed is embedded by laws, all of which read the clock.
type timed struct{}

func (timed) Timed() bool { return true }

// seconds of a round trip, never 0: a clock may stand still.
func seconds(d time.Duration) float64 { return max(d, time.Microsecond).Seconds() }

// full reports whether the window is what limits: less is in flight in a client that
// has nothing to send, and RFC 9438, section 5.8, lets its window stay.
func full(s window.State, a window.Answer) bool { return float64(a.Flying) > s.Cwnd-1 }
