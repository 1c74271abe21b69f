package aimd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

func TestReconfigureAppliesToWhoWaitsAndDropsNothingThatFlies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []aimd.Event
		l := newLimiter(t, 2, func(c *aimd.Config) {
			c.Observer = func(e aimd.Event) { events = append(events, e) }
		})
		p := acquire(t, l, 2)
		to := make(chan got, 4)
		for i := range 4 {
			queueUp(t.Context(), fmt.Sprint(i), l.Acquire, to)
		}

		tuning := l.Snapshot().Rules
		tuning.MinWindow = 4
		require.NoError(t, l.Reconfigure(tuning))
		synctest.Wait()
		require.Len(t, to, 2, "two more may go at once")
		s := l.Snapshot()
		require.EqualValues(t, 4, s.Cwnd)
		require.Equal(t, 4, s.InFlight)
		require.Equal(t, 2, s.Queued)
		require.Equal(t, aimd.EventReconfigured, events[0].Kind)
		require.EqualValues(t, 2, events[0].Before)
		require.EqualValues(t, 4, events[0].Window.Cwnd)
		require.Equal(t, aimd.EventAdmitted, events[1].Kind)
		p = append(p, (<-to).permit, (<-to).permit)

		tuning.MinWindow, tuning.MaxWindow = 1, 1
		require.NoError(t, l.Reconfigure(tuning))
		require.Equal(t, 4, l.Snapshot().InFlight)
		for _, permit := range p[:3] {
			permit.Done(window.Success)
			synctest.Wait()
			require.Empty(t, to)
		}
		p[3].Done(window.Success)
		(<-to).permit.Done(window.Success)
		(<-to).permit.Done(window.Success)
		s = l.Snapshot()
		require.EqualValues(t, 6, s.Successes)
		require.EqualValues(t, 1, s.Cwnd)
		_, ok := l.TryAcquire()
		require.True(t, ok)
		_, ok = l.TryAcquire()
		require.False(t, ok, "a free slot laid out before is taken back")
	})
}

func TestTheDefaultRules(t *testing.T) {
	l := newLimiter(t, 20)
	defaults := aimd.Rules{
		MinWindow: 1, MaxWindow: window.MaxWindow, PauseMin: 50 * time.Millisecond, PauseMax: 5 * time.Second,
		MaxRetryAfter: 5 * time.Minute, FirstContact: 10 * time.Second,
	}
	require.Equal(t, defaults, l.Snapshot().Rules)
	require.NoError(t, l.Reconfigure(aimd.Rules{PauseMax: time.Minute, MaxWindow: 30}))
	require.NoError(t, l.Reconfigure(aimd.Rules{}), "zero fields mean the default")
	require.Equal(t, defaults, l.Snapshot().Rules)
}

// A law that says only the second time that it is timed, or is nil then, is refused, and the old one stays.
func TestReconfigureRefusesALaw(t *testing.T) {
	for want, then := range map[string]window.Law{
		"aimd: Law: one that needs round-trip times": timedLaw(nil), "aimd: Law: nil is not allowed": nil,
	} {
		calls := 0
		l, err := aimd.New(aimd.Config{Law: func(s window.Settings) window.Law {
			if calls++; calls > 1 {
				return then
			}
			return aimd.Reno(0.5)(s)
		}})
		require.NoError(t, err)
		require.ErrorContains(t, l.Reconfigure(bounds(0, 3)), want)
		wantWindow(t, l, 20, 1024)
		require.EqualValues(t, window.MaxWindow, l.Snapshot().Rules.MaxWindow)
		acquire(t, l, 1)[0].Done(window.Success)
	}
}

// Tahoe restarts at its initial window, as near as the bounds let it.
func TestReconfigureKeepsTheInitialWindow(t *testing.T) {
	l, err := aimd.New(aimd.Config{Law: aimd.Tahoe(0.5, 8), InitialWindow: 8})
	require.NoError(t, err)
	cut := func() float64 {
		p := acquire(t, l, 1)[0]
		p.Done(window.Overload)
		acquire(t, l, 1)[0].Done(window.Success)
		return l.Snapshot().Cwnd
	}
	require.EqualValues(t, 8, cut())
	require.NoError(t, l.Reconfigure(bounds(0, 5)))
	require.EqualValues(t, 5, cut())
	require.NoError(t, l.Reconfigure(bounds(11, 0)))
	require.EqualValues(t, 11, cut())
	require.NoError(t, l.Reconfigure(aimd.Rules{}))
	require.EqualValues(t, 8, cut())
}

func TestReconfigureChangesTheLimitsOfWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 20)
		runs := 0
		err := l.Do(t.Context(), func(ctx context.Context) error {
			switch runs++; runs {
			case 1:
				return status{code: 500}
			case 2:
				require.NoError(t, l.Reconfigure(aimd.Rules{MaxAttempts: 3, AttemptTimeout: time.Second}))
				return status{code: 500}
			}
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(t, err, aimd.ErrAttempts)
		require.Equal(t, 3, runs)
		require.EqualValues(t, 1, l.Snapshot().Timeouts)
	})
}

// Many acquire and release while others reconfigure: nobody is lost, and at the end the limiter is as the
// last one said.
func TestReconfigureUnderLoad(t *testing.T) {
	l := newLimiter(t, 20)
	var work, tune sync.WaitGroup
	outcomes := []window.Outcome{window.Neutral, window.Timeout, window.Success, window.Success}
	for range 8 {
		work.Go(func() {
			for i := range 2000 {
				p, err := l.Acquire(context.Background())
				assert.NoError(t, err)
				p.Done(outcomes[i%len(outcomes)])
			}
		})
	}
	stop, wrong := make(chan struct{}), bounds(2, 1)
	for _, rules := range [][]aimd.Rules{{bounds(0, 1), bounds(6, 0), {QueueBound: 100}}, {bounds(0, 2), bounds(9, 9), wrong}} {
		tune.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					r := rules[i%len(rules)]
					assert.Equal(t, r == wrong, l.Reconfigure(r) != nil)
				}
			}
		})
	}
	work.Wait()
	close(stop)
	tune.Wait()
	require.NoError(t, l.Reconfigure(bounds(3, 3)))
	s := l.Snapshot()
	require.Equal(t, []uint64{8 * 2000, 0}, []uint64{s.Attempts, s.Late})
	require.Zero(t, s.InFlight+s.Queued)
	acquire(t, l, 3)
	_, ok := l.TryAcquire()
	require.False(t, ok)
}

// bounds are settings that bound the window; 0: the default.
func bounds(least, most float64) aimd.Rules {
	return aimd.Rules{MinWindow: least, MaxWindow: most}
}

func TestASnapshotGoesThroughJSONToTheNextLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 8)
		refuseBursts(t, l, 1)
		data, err := json.Marshal(l.Snapshot())
		require.NoError(t, err)
		require.JSONEq(t, `{"at":"2000-01-01T00:00:00Z","law":"aimd.reno","cwnd":4,"ssthresh":4,"in_flight":0,"queued":0,"attempts":1,
			"successes":0,"overloads":1,"timeouts":0,"neutrals":0,"client_errors":0,"cuts":1,"pauses":0,"late":0}`, string(data))
		restore := func(c *aimd.Config) { require.NoError(t, json.Unmarshal(data, &c.Restore)) }
		next := newLimiter(t, 20, restore)
		require.Equal(t, stateOf(l), stateOf(next))
		acquire(t, next, 4)
		_, ok := next.TryAcquire()
		require.False(t, ok)

		time.Sleep(time.Hour) // of the bubble's time
		require.EqualValues(t, 4, newLimiter(t, 20, restore).Snapshot().Cwnd)
		time.Sleep(time.Nanosecond)
		require.EqualValues(t, 20, newLimiter(t, 20, restore).Snapshot().Cwnd, "too old")
		undated := func(c *aimd.Config) { restore(c); c.Restore.At = time.Time{} }
		require.EqualValues(t, 4, newLimiter(t, 20, undated).Snapshot().Cwnd, "it does not say when it was")
	})
}

// stateOf is what Restore takes from a limiter's snapshot.
func stateOf(l *aimd.Limiter) window.State {
	s := l.Snapshot()
	return window.State{Cwnd: s.Cwnd, Ssthresh: s.Ssthresh, Pace: s.Pace, Trip: s.Trip}
}

// A threshold and a spaced window mean something to the law that set them alone.
func TestASnapshotOfAnotherLawIsItsWindowAlone(t *testing.T) {
	s := aimd.Snapshot{Law: "aimd.reno", Cwnd: 48, Ssthresh: 32, Pace: window.Spaced, Trip: time.Second}
	restored := func(law window.NewLaw) window.State {
		l, err := aimd.New(aimd.Config{Law: law, Restore: s})
		require.NoError(t, err)
		return stateOf(l)
	}
	require.Equal(t, window.State{Cwnd: 48, Ssthresh: 32}, restored(aimd.Reno(0.5)))
	require.Equal(t, window.State{Cwnd: 48, Ssthresh: 48}, restored(aimd.Probe))
	s.Law = ""
	require.Equal(t, window.State{Cwnd: 48, Ssthresh: 32, Pace: window.Spaced, Trip: time.Second}, restored(aimd.Probe), "it does not say which")
}

// timedLaw is a law that answers what the function says, and is told the time.
type timedLaw func(s window.State, a window.Answer) window.State

func (f timedLaw) Answered(_ time.Duration, s window.State, a window.Answer) window.State {
	return f(s, a)
}
func (timedLaw) Timed() bool { return true }
