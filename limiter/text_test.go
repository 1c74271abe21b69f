package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// ours is what is compared with the text: a gate, or the limiter that users have. send sends a request if it may, and
// returns what ends it.
type ours struct {
	send  func() (end func(window.Outcome), ok bool)
	state func() (cwnd, ssthresh float64, flying int)
}

func gateOf(t *testing.T, law window.NewLaw) ours {
	g, err := limiter.NewGate(law, limiter.Settings{PauseMax: -1})
	require.NoError(t, err)
	return ours{
		send: func() (func(window.Outcome), bool) {
			k, ok := g.Next(0, 1)
			return func(o window.Outcome) { g.Answered(0, k, o, 0) }, ok
		},
		state: func() (float64, float64, int) { return g.State().Cwnd, g.State().Ssthresh, g.Flying() },
	}
}

// ends are errors of attempts with these outcomes.
var ends = map[window.Outcome]error{window.Overload: aimd.Refused(errors.New("busy")), window.Neutral: context.Canceled}

func limiterOf(t *testing.T, law window.NewLaw) ours {
	l, err := aimd.New(aimd.Config{Law: law, PauseMax: -1})
	require.NoError(t, err)
	return ours{
		send: func() (func(window.Outcome), bool) {
			p, ok := l.TryAcquire()
			return func(o window.Outcome) { p.End(ends[o]) }, ok
		},
		state: func() (float64, float64, int) {
			s := l.Snapshot()
			return s.Cwnd, s.Ssthresh, s.InFlight
		},
	}
}

// The gate does what the text says at each of 200 000 random steps, and the limiter at each of 20 000: the twin of the
// text decides as well, and both have the same numbers after the step. The service takes more or fewer requests at a
// time as it goes.
func TestEachStepOfTheText(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    func(*testing.T, window.NewLaw) ours
		steps int
	}{{"gate", gateOf, 200_000}, {"limiter", limiterOf, 20_000}} {
		for law, tahoe := range map[string]bool{"Tahoe": true, "Reno": false} {
			for _, factor := range []float64{.5, .9} {
				t.Run(fmt.Sprint(c.name, law, factor), func(t *testing.T) {
					law := aimd.Reno(factor)
					if tahoe {
						law = aimd.Tahoe(factor, 20)
					}
					// "suitable starting values are e.g. 20 and 1024"
					w := &walk{t: t, ours: c.of(t, law), twin: newLiteralTwin(tahoe, 20, 1024, factor), random: rand.New(rand.NewPCG(6, 1))}
					for range c.steps {
						w.step()
					}
					require.Greater(t, w.twin.cuts, c.steps/200)
					require.Greater(t, w.most, 50)
				})
			}
		}
	}
}

// walk is ours beside the text, before a service with slots.
type walk struct {
	t      *testing.T
	ours   ours
	twin   *literalTwin
	random *rand.Rand

	slots, steps int
	flying       []sending
	last         func(window.Outcome) // ends the request that ended last
	most         int                  // in flight at a time
}

type sending struct {
	id  uint64
	op  int
	end func(window.Outcome)
}

func (w *walk) step() {
	if w.steps%5000 == 0 {
		w.slots = []int{50, 50, 12, 200, 0, 3, 1000}[w.random.IntN(7)]
	}
	w.steps++
	switch x := w.random.IntN(20); {
	case x < 9:
		if len(w.twin.queue) < 1000 {
			w.twin.arrived(w.steps)
		}
	case x == 9 && w.last != nil: // a second answer changes nothing
		w.last([]window.Outcome{window.Success, window.Overload}[w.random.IntN(2)])
	case len(w.flying) > 0:
		w.answer()
	}
	w.same()
	for len(w.twin.queue) > 0 {
		end, ok := w.ours.send()
		if ok != w.twin.mayFly() {
			w.t.Fatalf("step %d: sent: %v, the text: %v", w.steps, ok, !ok)
		}
		if !ok {
			break
		}
		id := uint64(w.steps)<<20 + uint64(len(w.flying))
		w.flying = append(w.flying, sending{id, w.twin.sent(id), end})
		w.most = max(w.most, len(w.flying))
		w.same()
	}
}

// answer ends a request, one of the older ones rather than one of the newer.
func (w *walk) answer() {
	n := len(w.flying)
	i := min(w.random.IntN(n), w.random.IntN(n))
	s := w.flying[i]
	w.flying, w.last = slices.Delete(w.flying, i, i+1), s.end
	if w.random.IntN(n) < w.slots {
		w.twin.succeeded(s.id)
		s.end(window.Success)
		return
	}
	w.twin.failed(s.id)
	w.twin.rejoined(s.op)
	s.end(window.Overload)
}

func (w *walk) same() {
	cwnd, ssthresh, flying := w.ours.state()
	if cwnd != w.twin.cwnd || ssthresh != w.twin.ssthresh || flying != len(w.twin.flying) {
		w.t.Fatalf("step %d: cwnd %v, ssthresh %v, flying %d; the text: %v, %v, %d",
			w.steps, cwnd, ssthresh, flying, w.twin.cwnd, w.twin.ssthresh, len(w.twin.flying))
	}
}
