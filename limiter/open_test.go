package limiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// watched is a gate with a window of two whose attempts are open answers, while operations wait.
type watched struct {
	t *testing.T
	limiter.Gate
	now  time.Duration
	open []window.Ticket
}

func newWatched(t *testing.T, s limiter.Settings) *watched {
	s.Window.Initial = 2
	g, err := limiter.NewGate(aimd.Reno(0.5), s)
	require.NoError(t, err)
	w := &watched{t: t, Gate: g, now: time.Second}
	for range 2 {
		w.opens(w.sent())
	}
	return w
}

func (w *watched) sent() window.Ticket {
	w.t.Helper()
	t, ok := w.Next(w.now, 1)
	require.True(w.t, ok)
	return t
}

func (w *watched) opens(t window.Ticket) {
	w.HeadCame(w.now, t)
	w.open = append(w.open, t)
}

// trial sends the attempt more that is due after a time, and no sooner.
func (w *watched) trial(after time.Duration) window.Ticket {
	w.t.Helper()
	at, ok := w.Deadline(1)
	require.True(w.t, ok)
	require.Equal(w.t, after, at-w.now)
	w.now = at - 1
	_, ok = w.Next(w.now, 1)
	require.False(w.t, ok)
	w.now = at
	quiet, _ := w.Quiet(w.now)
	require.Equal(w.t, after, quiet)
	return w.sent()
}

const second = time.Second

// docs/design.md: "nothing was sent, began or ended for ten seconds or two round trips".
func TestATrialIsSentWhileNothingButOpenAnswersFlies(t *testing.T) {
	w := newWatched(t, limiter.Settings{})
	trial := w.trial(10 * second)
	_, ok := w.Deadline(1)
	require.False(t, ok, "it is the only one, until it is taken")
	w.opens(trial)
	require.Equal(t, 2, w.Flying())
	require.Equal(t, 1, w.Outside())
	require.True(t, w.Left(w.open[0]), "the oldest has left")
	require.False(t, w.Left(w.open[1]))
	require.False(t, w.Left(trial))
}

// docs/design.md: "nothing was sent, began or ended for ten seconds or two round trips".
func TestWhatPutsATrialOff(t *testing.T) {
	w := newWatched(t, limiter.Settings{})
	w.now += 9 * second
	w.Lived(w.now)
	w.Lived(w.now - second)
	w.trial(10 * second)

	w = newWatched(t, limiter.Settings{})
	w.now += 9 * second
	w.Answered(w.now, w.open[0], window.Neutral, 0) // one that is closed
	next := w.sent()
	_, ok := w.Deadline(1)
	require.False(t, ok, "not all are open")
	w.now += second
	w.opens(next)
	w.now += 3 * second
	_, ok = w.Tried(w.now) // so that operations wait from now on
	require.False(t, ok)
	w.trial(10 * second)

	g, err := limiter.NewGate(aimd.Probe(), limiter.Settings{Window: window.Settings{Initial: 1}})
	require.NoError(t, err)
	w = &watched{t: t, Gate: g}
	first := w.sent()
	w.now += 40 * second
	w.Answered(w.now, first, window.Success, 0)
	for w.Open() {
		at, ok := w.Deadline(1)
		if ok {
			w.now = at
		}
		w.opens(w.sent())
	}
	w.trial(2 * w.State().Trip)
}

// docs/design.md: "After a trial that was taken the next comes after half of the time, 1.25 s at least; after a refused
// one, which is neutral, after twice the time, 320 s at most".
func TestTheTimeToTheNextTrial(t *testing.T) {
	w := newWatched(t, limiter.Settings{})
	for _, after := range []time.Duration{10, 5, 2.5 * 1000, 1.25 * 1000, 1250, 1250} {
		if after < 1000 {
			after *= 1000
		}
		w.opens(w.trial(after * time.Millisecond))
	}
	require.Equal(t, 6, w.Outside())
	before := w.State()
	for _, after := range []time.Duration{1250, 20_000, 40_000, 80_000, 160_000, 320_000, 320_000} {
		a, ok := w.Answered(w.now, w.trial(after*time.Millisecond), window.Overload, 0)
		require.True(t, ok)
		require.Equal(t, window.Neutral, a.Outcome)
	}
	require.Equal(t, before, w.State(), "the law hears nothing of a trial that is refused")
	require.Equal(t, 6, w.Outside())
	trial := w.trial(320 * second)
	w.Answered(w.now, trial, window.Success, 0) // it needs no head
	require.Equal(t, 7, w.Outside())
	require.True(t, w.Open())
}

// docs/design.md: "the law hears nothing of its end".
func TestTheLawHearsNothingOfAnAnswerThatHasLeft(t *testing.T) {
	for _, o := range []window.Outcome{window.Success, window.Overload, window.Timeout, window.Neutral} {
		w := newWatched(t, limiter.Settings{})
		w.opens(w.trial(10 * second))
		before := w.State()
		w.now += time.Hour
		a, ok := w.Answered(w.now, w.open[0], o, 0)
		require.True(t, ok)
		require.Equal(t, window.End{Outcome: window.Neutral}, a)
		require.Equal(t, before, w.State())
		require.Zero(t, w.Outside())
		require.Equal(t, 2, w.Flying())
		_, ok = w.Answered(w.now, w.open[0], o, 0)
		require.False(t, ok, "late")
	}
}

// docs/design.md: "MaxWindow and a bound that the service told hold for those that left, too".
func TestABoundHoldsForThoseThatLeft(t *testing.T) {
	w := newWatched(t, limiter.Settings{Window: window.Settings{Max: 4}})
	for _, after := range []time.Duration{10 * second, 5 * second} {
		w.opens(w.trial(after))
	}
	_, ok := w.Deadline(1)
	require.False(t, ok)
	w.Answered(w.now, w.open[0], window.Success, 0)
	w.trial(2500 * time.Millisecond)

	w = newWatched(t, limiter.Settings{Window: window.Settings{Max: 2}})
	_, ok = w.Deadline(1)
	require.False(t, ok, "MaxWindow is hard")
}
