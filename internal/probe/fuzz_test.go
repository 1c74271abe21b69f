package probe_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/probe"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// walk drives a window with the law Probe through anything that may happen, and holds it
// to what every law must keep.
type walk struct {
	w        window.Window
	min, max float64
	now      time.Duration
	flying   []window.Ticket
}

// settings are bounds of a window, mostly none.
func settings(r *rand.Rand) window.Settings {
	var s window.Settings
	if r.IntN(2) == 0 {
		s.Min = 1 + math.Floor(r.ExpFloat64()*4)
	}
	if r.IntN(2) == 0 {
		s.Max = max(1, s.Min) + math.Floor(r.ExpFloat64()*100)
	}
	return s
}

// span is a time of any size: mostly none, milliseconds or seconds, now and then hours.
func span(r *rand.Rand) time.Duration {
	switch r.IntN(16) {
	case 0, 1, 2:
		return 0
	case 3:
		return time.Duration(r.Int64N(int64(100 * time.Hour)))
	case 4, 5:
		return time.Duration(r.Int64N(int64(5 * time.Second)))
	}
	return time.Duration(r.Int64N(int64(50 * time.Millisecond)))
}

func newWalk(t require.TestingT, r *rand.Rand) *walk {
	c := &walk{}
	c.configure(t, r, func(s window.Settings) (err error) { c.w, err = window.New(probe.New, s); return err })
	if r.IntN(2) == 0 {
		s := window.State{Cwnd: 1 + r.ExpFloat64()*100, Ssthresh: 1 + r.ExpFloat64()*1000, Pace: window.Pace(r.IntN(3)), Trip: min(span(r), 24*time.Hour)}
		require.NoError(t, c.w.Restored(s))
	}
	return c
}

func (c *walk) configure(t require.TestingT, r *rand.Rand, apply func(window.Settings) error) {
	s := settings(r)
	require.NoError(t, apply(s))
	full, err := limiter.Settings{Window: s}.WithDefaults()
	require.NoError(t, err)
	c.min, c.max = full.Window.Min, full.Window.Max
}

// step is one thing that happens.
func (c *walk) step(t require.TestingT, r *rand.Rand) {
	switch n := r.IntN(1000); {
	case n == 0:
		c.configure(t, r, func(s window.Settings) error { return c.w.Reconfigured(probe.New, s) })
	case n < 500 && c.w.Open() && len(c.flying) < 4096:
		c.flying = append(c.flying, c.w.Sent(c.now))
	case n < 700:
		c.now += span(r)
	case len(c.flying) > 0:
		i := r.IntN(min(len(c.flying), 8))
		ticket := c.flying[i]
		c.flying[i] = c.flying[0]
		c.flying = c.flying[1:]
		if n < 710 {
			c.w.Withdrawn(ticket)
			return
		}
		// Good and bad times, of 4096 ids each.
		often := 1 + (ticket.ID()>>12)*7%31
		o := window.Success
		if r.Uint64N(often) == 0 {
			o = window.Outcome(1 + r.IntN(5))
		}
		c.w.Answered(c.now, ticket, o, span(r))
	}
}

// broken names the invariant that does not hold, "" if all do.
func (c *walk) broken() string {
	s := c.w.State()
	switch {
	case !(s.Cwnd > 0 && s.Cwnd <= c.max) || s.Cwnd < c.min && (c.min > 1 || s.Pace == window.AtOnce):
		return "the window keeps to its bounds, and is a number"
	case !(s.Ssthresh >= window.MinWindow && s.Ssthresh <= window.MaxWindow):
		return "the ceiling keeps to its bounds, and is a number"
	case c.w.Gap() < 0 || c.w.Gap() > 15*time.Second:
		return "the gap keeps to its bounds"
	case c.w.Flying() == 0 && !c.w.Open():
		return "one may always go when nothing flies"
	}
	return ""
}

// recovers reports whether the window is at work again once all succeeds: nothing stops
// it permanently.
func (c *walk) recovers() bool {
	for _, ticket := range c.flying {
		c.w.Withdrawn(ticket)
	}
	c.flying = nil
	for range 200 {
		sent := []window.Ticket{c.w.Sent(c.now)}
		for c.w.Open() && len(sent) < 64 {
			sent = append(sent, c.w.Sent(c.now))
		}
		c.now += 100 * time.Millisecond
		for _, ticket := range sent {
			c.w.Answered(c.now, ticket, window.Success, 0)
		}
		c.now += c.w.Gap()
	}
	return c.w.Gap() < time.Second
}

func FuzzProbe(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(seed, uint16(20_000))
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16) {
		r := rand.New(rand.NewPCG(seed, 0))
		c := newWalk(t, r)
		for i := range steps {
			c.step(t, r)
			require.Empty(t, c.broken(), "after step %d: %+v", i, c.w.State())
		}
		require.True(t, c.recovers(), "%+v", c.w.State())
	})
}

// BenchmarkProbe is the cost of the law itself: an answer, with those that fly.
func BenchmarkProbe(b *testing.B) {
	for name, o := range map[string]window.Outcome{"success": window.Success, "refusal": window.Overload} {
		b.Run(name, func(b *testing.B) {
			law := probe.New(window.Settings{Initial: 20, Min: 1, Max: 64})
			state := window.State{Cwnd: 64, Ssthresh: 64, Trip: 100 * time.Millisecond}
			a := window.End{Outcome: window.Overload, Flying: 64, RTT: 100 * time.Millisecond}
			now := time.Second
			state = law.Answered(now, state, a)
			state.Trip, a.Outcome = a.RTT, o
			b.ReportAllocs()
			for b.Loop() {
				now += time.Millisecond
				state = law.Answered(now, state, a)
				state.Trip = a.RTT
			}
		})
	}
}

// An answer is on every request's path.
func TestProbeDoesNotAllocate(t *testing.T) {
	law := probe.New(window.Settings{Initial: 20, Min: 1, Max: 1000})
	state, now := window.State{Cwnd: 20, Ssthresh: window.MaxWindow}, time.Duration(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += time.Millisecond
		state.Trip = ms
		state = law.Answered(now, state, window.End{Outcome: window.Success, Flying: 20, RTT: ms})
		state = law.Answered(now, state, window.End{Outcome: window.Overload, Flying: 20, RTT: ms})
	}))
}
