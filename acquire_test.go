package aimd_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// newLimiter is a Reno limiter with that window at the start.
func newLimiter(t *testing.T, initial float64, change ...func(*aimd.Config)) *aimd.Limiter {
	t.Helper()
	c := aimd.Config{InitialWindow: initial}
	for _, f := range change {
		f(&c)
	}
	c.Law = aimd.Reno(0.5)
	return attempttest.Limiter(t, c)
}

func acquire(t *testing.T, l *aimd.Limiter, n int) []aimd.Permit {
	t.Helper()
	all := make([]aimd.Permit, n)
	for i := range all {
		p, ok := l.TryAcquire()
		require.True(t, ok, "slot %d is free", i)
		all[i] = p
	}
	return all
}

// "To read a clock twice costs more than all the rest" (docs/design.md, rule 14)
func TestHowOftenTheClockIsRead(t *testing.T) {
	for _, c := range []struct {
		law      window.NewLaw
		observer func(aimd.Event)
		want     int
	}{
		{aimd.Probe(), nil, 2 * 100}, {aimd.Reno(0.5), nil, 0}, {aimd.Tahoe(0.5, 20), nil, 0},
		{aimd.Probe(), func(aimd.Event) {}, 2 * 100},
	} {
		watch := &counting{Clock: clock.NewMock()}
		l := attempttest.Limiter(t, aimd.Config{Law: c.law, Observer: c.observer})
		l.SetClock(watch)
		for range 100 {
			acquire(t, l, 1)[0].Done(window.Success)
		}
		require.EqualValues(t, c.want, watch.read.Load())
	}
}

// queueUp starts a goroutine that acquires and sends its name and error.
type got struct {
	name   string
	permit aimd.Permit
	err    error
}

func queueUp(ctx context.Context, name string, how func(context.Context) (aimd.Permit, error), to chan<- got) {
	go func() {
		p, err := how(ctx)
		to <- got{name, p, err}
	}()
	synctest.Wait()
}

func TestPermitTakesExactlyOneOutcome(t *testing.T) {
	l := newLimiter(t, 2)
	p := acquire(t, l, 2)
	_, ok := l.TryAcquire()
	require.False(t, ok)

	p[0].Done(window.Neutral)
	for range 3 {
		p[0].Done(window.Overload)                            // no effect
		p[0].Settle(verdict.Verdict{Meaning: answer.Refused}) // no effect
	}
	acquire(t, l, 1)
	_, ok = l.TryAcquire()
	require.False(t, ok, "the second release gave no second slot")

	s := l.Snapshot()
	require.EqualValues(t, 6, s.Late)
	require.EqualValues(t, 2, s.Cwnd, "and told the law nothing")
	require.EqualValues(t, 1, s.Attempts)
	aimd.Permit{}.Done(window.Success) // no effect
}

func TestAcquireIsFirstInFirstOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 1, func(c *aimd.Config) { c.QueueBound = 5 })
		p := acquire(t, l, 1)[0]
		to := make(chan got, 10)
		for i := range 5 {
			queueUp(t.Context(), fmt.Sprint(i), l.Acquire, to)
		}
		_, err := l.Acquire(t.Context())
		require.Equal(t, aimd.ErrQueueFull, err)
		queueUp(t.Context(), "failed before", l.Reacquire, to)
		queueUp(t.Context(), "failed after", l.Reacquire, to)
		require.Equal(t, 7, l.Snapshot().Queued)
		for _, want := range []string{"failed before", "failed after", "0", "1", "2", "3", "4"} {
			_, ok := l.TryAcquire()
			require.False(t, ok, "nobody jumps the queue")
			p.Done(window.Neutral)
			g := <-to
			require.NoError(t, g.err)
			require.Equal(t, want, g.name)
			synctest.Wait()
			require.Empty(t, to, "one slot, one waiter")
			p = g.permit
		}
		p.Done(window.Neutral)
		require.Zero(t, l.Snapshot().InFlight)
	})
}

func TestACancelledWaiterLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 1)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := l.Acquire(over)
		require.Equal(t, context.Canceled, err)
		require.Zero(t, l.Snapshot().InFlight)
		p := acquire(t, l, 1)[0]
		to := make(chan got, 10)
		first, giveUp := context.WithCancel(t.Context())
		queueUp(first, "first", l.Acquire, to)
		queueUp(t.Context(), "last", l.Acquire, to)

		giveUp()
		g := <-to
		require.Equal(t, "first", g.name)
		require.Equal(t, context.Canceled, g.err, "as it is, unwrapped")
		require.Equal(t, 1, l.Snapshot().Queued)
		p.Done(window.Success)
		g = <-to
		require.Equal(t, "last", g.name)
		require.NoError(t, g.err)
		g.permit.Done(window.Success)
	})
}

// The window of a race: the slot is given and the context ends at the same moment. Whatever wins, no slot
// is lost and nobody is stranded.
func TestCancellationWhileBeingAdmitted(t *testing.T) {
	const slots, workers, rounds = 3, 16, 300
	l := newLimiter(t, slots, func(c *aimd.Config) { c.MaxWindow = slots })
	var wg sync.WaitGroup
	var flying atomic.Int64
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			for range rounds {
				ctx, cancel := context.WithCancel(context.Background())
				if r.IntN(2) == 0 {
					go cancel() // at about the time that it is admitted
				}
				if p, err := l.Acquire(ctx); err == nil {
					assert.LessOrEqual(t, flying.Inc(), int64(slots))
					flying.Dec()
					p.Done(window.Success)
				} else {
					assert.ErrorIs(t, err, context.Canceled)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	s := l.Snapshot()
	require.Zero(t, s.InFlight)
	require.Zero(t, s.Queued)
	acquire(t, l, slots)
}

func TestCloseAndShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2)
		p := acquire(t, l, 2)
		to := make(chan got, 10)
		queueUp(t.Context(), "a", l.Acquire, to)
		queueUp(t.Context(), "b", l.Reacquire, to)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := l.Shutdown(short)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, "aimd: 2 attempts still in flight: context deadline exceeded")
		for range 2 {
			require.Equal(t, aimd.ErrClosed, (<-to).err)
		}
		_, err = l.Acquire(t.Context())
		require.Equal(t, aimd.ErrClosed, err)
		_, ok := l.TryAcquire()
		require.False(t, ok)
		require.ErrorIs(t, l.Do(t.Context(), func(context.Context) error { t.Error("no new work"); return nil }), aimd.ErrClosed)

		shut := make(chan error)
		go func() { shut <- l.Shutdown(t.Context()) }()
		synctest.Wait()
		p[0].Done(window.Success)
		synctest.Wait()
		require.Empty(t, shut)
		p[1].Done(window.Overload) // what is in flight ends as before
		require.NoError(t, <-shut)
		require.NoError(t, l.Shutdown(t.Context()), "once more is fine")
		l.Close()
		p[1].Done(window.Overload) // no effect
		require.NoError(t, l.Reconfigure(exactly(bounds(9, 0))))
		_, ok = l.TryAcquire()
		require.False(t, ok)

		require.Error(t, short.Err())
		require.NoError(t, newLimiter(t, 2).Shutdown(short), "an idle limiter, though the context is over")
	})
}

// refuseBursts makes so many cuts with no success in between: from two on, a pause.
func refuseBursts(t *testing.T, l *aimd.Limiter, n int) {
	t.Helper()
	for range n {
		acquire(t, l, 1)[0].Done(window.Overload)
	}
}

// early is a clock whose timers fire too early.
type early struct {
	clock.Clock
	set int
}

func (c *early) AfterFunc(d time.Duration, f func()) *clock.Timer {
	c.set++
	return c.Clock.AfterFunc(d/2, f)
}

// A timer that is too early is set again.
func TestAPauseEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &early{Clock: clock.New()}
		l := newLimiter(t, 8, func(c *aimd.Config) { c.PauseMin = time.Second })
		l.SetClock(source)
		refuseBursts(t, l, 2)
		_, ok := l.TryAcquire()
		require.False(t, ok, "a pause, though nothing is in flight")
		require.EqualValues(t, 1, l.Snapshot().Pauses)
		until := l.Snapshot().PausedUntil
		require.GreaterOrEqual(t, time.Until(until), 500*time.Millisecond)

		to := make(chan got, 2)
		queueUp(t.Context(), "a", l.Acquire, to)
		queueUp(t.Context(), "b", l.Acquire, to)
		require.NoError(t, (<-to).err)
		require.Equal(t, until, time.Now())
		require.NoError(t, (<-to).err)
		require.Equal(t, 2, l.Snapshot().InFlight, "cwnd is 2 by now")
		require.Equal(t, 1, source.set, "the limiter's clock has all its timers")
	})
}

// counting is a clock that counts how often it is read.
type counting struct {
	clock.Clock
	read atomic.Int64
}

func (c *counting) Since(t time.Time) time.Duration { c.read.Inc(); return c.Clock.Since(t) }

func TestSnapshotInOneLine(t *testing.T) {
	s := aimd.Snapshot{State: window.State{Cwnd: 2.5, Ssthresh: 2.5}, InFlight: 1, Successes: 3, Overloads: 1, Timeouts: 1, Neutrals: 1, Cuts: 1, Late: 1}
	require.Equal(t, "cwnd=2.5 ssthresh=2.5 in-flight=1 queued=0 success=3 overload=1 timeout=1 neutral=1 client-error=0 "+
		"cuts=1 pauses=0 late=1", s.String())
}

// A loop of one's own gives a slot back with the error of its attempt, whatever the error.
func TestAPermitEndsWithAnError(t *testing.T) {
	mine := errors.New("mine")
	l := newLimiter(t, 4, func(c *aimd.Config) {
		c.Classifier = verdict.FirstOf(func(err error) verdict.Verdict {
			if errors.Is(err, mine) {
				return verdict.Verdict{Meaning: answer.Refused, Wait: time.Second}
			}
			return verdict.Verdict{}
		}, verdict.Classify)
	})
	for _, c := range []struct {
		err  error
		want verdict.Verdict
	}{
		{nil, verdict.Verdict{Meaning: answer.Success}},
		{mine, verdict.Verdict{Meaning: answer.Refused, Wait: time.Second}},
		{errors.New("unheard of"), verdict.Verdict{Meaning: answer.Final}},
	} {
		p := attempttest.Acquire(t, l)
		require.Equal(t, c.want, p.End(c.err))
		p.End(nil)
	}
	p := attempttest.Acquire(t, l)
	p.End(context.Canceled)
	s := l.Snapshot()
	require.Equal(t, []uint64{1, 1, 2, 3}, []uint64{s.Successes, s.Overloads, s.Neutrals, s.Late})
	require.Zero(t, s.InFlight)
}
