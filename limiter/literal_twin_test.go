package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// literalTwin is the algorithm of "Improve on exponential backoff" as it is written there: "use 2 scalar variables
// cwnd and sshthres ..., two sets of request ids flying and ignored ... (initialized to the empty set), and a queue to
// hold pending requests". It is slow and simple, and the gate must do just what it does.
//
// Two things are settled beside the text: one is always admitted when nothing is in flight, and cwnd
// stays in bounds, so never below 1.
type literalTwin struct {
	cwnd, ssthresh  float64
	flying, ignored map[uint64]bool
	// queue has the operations; the first returned of them were put back.
	queue    []int
	returned int

	tahoe           bool
	initial, factor float64
	min, max        float64
	streak          int
	cuts            int
}

func newLiteralTwin(tahoe bool, initial, ssthresh, factor float64) *literalTwin {
	return &literalTwin{
		cwnd: initial, ssthresh: ssthresh, tahoe: tahoe, initial: initial, factor: factor,
		min: 1, max: window.MaxWindow,
		flying: map[uint64]bool{}, ignored: map[uint64]bool{},
	}
}

// mayFly: "as long as the number of outstanding requests (size of flying) is less than the current value
// of cwnd", for a cwnd of whole requests.
func (s *literalTwin) mayFly() bool {
	return len(s.flying) == 0 || float64(len(s.flying)+1) <= s.cwnd
}

// arrived: "add new requests to the queue".
func (s *literalTwin) arrived(op int) { s.queue = append(s.queue, op) }

func (s *literalTwin) rejoined(op int) {
	s.queue = slices.Insert(s.queue, s.returned, op)
	s.returned++
}

func (s *literalTwin) cancelled(op int) {
	i := slices.Index(s.queue, op)
	s.queue = slices.Delete(s.queue, i, i+1)
	if i < s.returned {
		s.returned--
	}
}

// sent: "extract a request from the queue and send it. Add the ids of sent requests to flying".
func (s *literalTwin) sent(id uint64) int {
	op := s.queue[0]
	s.cancelled(op)
	s.flying[id] = true
	return op
}

// succeeded: "on succesful response, set cwnd to max (cwnd, min(size(flying) + 1, cwnd + 1)) if
// size(flying) < sshthres or max (cwnd, min(size(flying) + 1, cwnd + 1.0/cwnd)) otherwise".
func (s *literalTwin) succeeded(id uint64) {
	n := float64(len(s.flying))
	if n < s.ssthresh {
		s.cwnd = max(s.cwnd, min(n+1, s.cwnd+1))
	} else {
		s.cwnd = max(s.cwnd, min(n+1, s.cwnd+1.0/s.cwnd))
	}
	s.bound()
	s.streak = 0
	delete(s.flying, id)
}

// failed: "on error response, if the request id is not in ignored, set sshthres to cwnd * 0.5 and cwnd to
// either the initial value (“Tahoe”) or the new sshthres (“Reno”); discard the current value of ignored,
// replacing it with the current value of flying (i.e., you need an immutable/functional structure or a
// deep copy)". And "remove [the ids from flying] when you get the corresponding responses/errors".
func (s *literalTwin) failed(id uint64) {
	if !s.ignored[id] {
		s.ssthresh = s.cwnd * s.factor
		if s.tahoe {
			s.cwnd = s.initial
		} else {
			s.cwnd = s.ssthresh
		}
		s.bound()
		s.ssthresh = max(1, s.ssthresh)
		if !s.pending() {
			s.streak++
		}
		s.ignored = maps.Clone(s.flying)
		s.cuts++
	}
	delete(s.flying, id)
}

// reconfigured: bounds and a factor from elsewhere, and nothing else changes.
func (s *literalTwin) reconfigured(lo, hi, factor, initial float64) {
	s.min, s.max, s.factor = lo, hi, factor
	s.initial = min(max(initial, lo), hi)
	s.bound()
}

func (s *literalTwin) bound() { s.cwnd = min(max(s.cwnd, s.min), s.max) }

// pending: something that flew at the last reaction has no answer yet.
func (s *literalTwin) pending() bool {
	for id := range s.ignored {
		if s.flying[id] {
			return true
		}
	}
	return false
}

// gone: the attempt ended and says nothing about load.
func (s *literalTwin) gone(id uint64) { delete(s.flying, id) }

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
