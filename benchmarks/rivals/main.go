// Command rivals is aimd with other ways to adapt a window, to compare with: congestion
// controls of TCP, and the ones of libraries and tools. Each is written from its source with
// the published defaults, as a law of this library's limiter, which counts the requests in
// flight, queues and retries for all alike.
//
//	go run ./rivals sim run law-100-a-second --strategies probe,cubic,vegas
package main

import (
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/tool"
	"github.com/aimd-go/aimd/sim"
	"github.com/aimd-go/aimd/window"
)

// rivals are the laws, each with the first window and the bounds of its source.
var rivals = []struct {
	name               string
	law                window.NewLaw
	first, least, most float64
}{
	{"cubic", newCubic, 10, 1, 1 << 20},
	{"vegas", newVegas, 10, 1, 1 << 20},
	{"gradient2", newGradient2, 20, 20, 200},
	{"netflix-aimd", newNetflixAIMD, 10, 1, 1 << 20},
	{"arc", newARC, 1, 1, 200},
}

func main() {
	register()
	tool.Main()
}

func register() {
	for _, r := range rivals {
		sim.Register(r.name, func(s window.Settings) window.Law {
			return &bounded{Law: r.law(s), first: r.first, least: r.least, most: r.most}
		})
	}
}

// bounded is a law with its own first window, which it has from the first answer on, and
// with its own bounds.
type bounded struct {
	window.Law
	first, least, most float64
	begun              bool
}

func (b *bounded) Answered(now time.Duration, s window.State, a window.Answer) window.State {
	if !b.begun {
		b.begun, s.Cwnd = true, b.first
	}
	s = b.Law.Answered(now, s, a)
	s.Cwnd = min(max(s.Cwnd, b.least), b.most)
	return s
}

// timed is embedded by laws that read the clock: all laws here.
type timed struct{}

func (timed) Timed() bool { return true }

// seconds of a round trip, never 0: a clock may stand still.
func seconds(d time.Duration) float64 { return max(d, time.Microsecond).Seconds() }

// full reports whether the window limits the client. RFC 9438, section 5.8, lets the window
// of an idle client stay.
func full(s window.State, a window.Answer) bool { return float64(a.Flying) > s.Cwnd-1 }
