package aimd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/verdict"
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

		require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.MinWindow = 4 }))
		synctest.Wait()
		require.Len(t, to, 2, "two more may go at once")
		s := l.Snapshot()
		require.EqualValues(t, 4, s.Cwnd)
		require.Equal(t, 4, s.InFlight)
		require.Equal(t, 2, s.Queued)
		require.Equal(t, event.Reconfigured, events[0].Kind)
		require.EqualValues(t, 2, events[0].Before)
		require.EqualValues(t, 4, events[0].Window.Cwnd)
		require.Equal(t, event.Admitted, events[1].Kind)
		p = append(p, (<-to).permit, (<-to).permit)

		require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.MinWindow, c.MaxWindow = 1, 1 }))
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

func TestTheDefaultSettings(t *testing.T) {
	l := newLimiter(t, 20)
	defaults := aimd.Config{
		MinWindow: 1, MaxWindow: window.MaxWindow, Peers: 1, PauseMin: 50 * time.Millisecond, PauseMax: 5 * time.Second,
		MaxRetryAfter: 5 * time.Minute, FirstContact: 10 * time.Second,
	}
	require.Equal(t, defaults, l.Snapshot().Config)
	require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.PauseMax, c.MaxWindow = 10*time.Millisecond, 30 }))
	require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.QueueBound = 7 }))
	want := defaults
	want.PauseMin, want.PauseMax, want.MaxWindow, want.QueueBound = 10*time.Millisecond, 10*time.Millisecond, 30, 7
	require.Equal(t, want, l.Snapshot().Config, "what is not named stays, and a default follows its bound")
	require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.PauseMax = 0 }))
	want.PauseMin, want.PauseMax = defaults.PauseMin, defaults.PauseMax
	require.Equal(t, want, l.Snapshot().Config)
	require.NoError(t, l.Reconfigure(exactly(aimd.Config{})), "zero fields mean the default")
	require.Equal(t, defaults, l.Snapshot().Config)
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
		require.ErrorContains(t, l.Reconfigure(exactly(bounds(0, 3))), want)
		wantWindow(t, l, 20, 1024)
		require.EqualValues(t, window.MaxWindow, l.Snapshot().Config.MaxWindow)
		acquire(t, l, 1)[0].Done(window.Success)
	}
}

// Tahoe restarts at its initial window, as near as the bounds let it.
func TestReconfigureKeepsTheInitialWindow(t *testing.T) {
	l := attempttest.Limiter(t, aimd.Config{Law: aimd.Tahoe(0.5, 8), InitialWindow: 8})
	cut := func() float64 {
		p := acquire(t, l, 1)[0]
		p.Done(window.Overload)
		acquire(t, l, 1)[0].Done(window.Success)
		return l.Snapshot().Cwnd
	}
	require.EqualValues(t, 8, cut())
	require.NoError(t, l.Reconfigure(exactly(bounds(0, 5))))
	require.EqualValues(t, 5, cut())
	require.NoError(t, l.Reconfigure(exactly(bounds(11, 0))))
	require.EqualValues(t, 11, cut())
	require.NoError(t, l.Reconfigure(exactly(aimd.Config{})))
	require.EqualValues(t, 8, cut())
}

func TestReconfigureChangesTheLimitsOfWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 20)
		runs := 0
		err := l.Do(t.Context(), func(ctx context.Context) error {
			switch runs++; runs {
			case 1:
				return status{HTTP: 500}
			case 2:
				require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.MaxAttempts, c.AttemptTimeout = 3, time.Second }))
				return status{HTTP: 500}
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
	for _, all := range [][]aimd.Config{{bounds(0, 1), bounds(6, 0), {QueueBound: 100}}, {bounds(0, 2), bounds(9, 9), wrong}} {
		tune.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					c := all[i%len(all)]
					assert.Equal(t, c.MinWindow > c.MaxWindow && c.MaxWindow > 0, l.Reconfigure(exactly(c)) != nil)
				}
			}
		})
	}
	work.Wait()
	close(stop)
	tune.Wait()
	require.NoError(t, l.Reconfigure(exactly(bounds(3, 3))))
	s := l.Snapshot()
	require.Equal(t, []uint64{8 * 2000, 0}, []uint64{s.Attempts, s.Late})
	require.Zero(t, s.InFlight+s.Queued)
	acquire(t, l, 3)
	_, ok := l.TryAcquire()
	require.False(t, ok)
}

// bounds are settings that bound the window; 0: the default.
func bounds(least, most float64) aimd.Config {
	return aimd.Config{MinWindow: least, MaxWindow: most}
}

// exactly is the change to exactly these settings.
func exactly(c aimd.Config) func(*aimd.Config) { return func(all *aimd.Config) { *all = c } }

// "Two calls at once take effect one after the other: the second gets the settings of the first."
func TestReconfigureLosesNoChange(t *testing.T) {
	l := newLimiter(t, 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				assert.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.QueueBound++ }))
			}
		})
	}
	all.Wait()
	require.Equal(t, 800, l.Snapshot().Config.QueueBound)
}

// "change is called once, without the lock: it may call the limiter"; so may an observer, which may reconfigure too.
func TestReconfigureHoldsNoLock(t *testing.T) {
	var l *aimd.Limiter
	again := 2
	l = newLimiter(t, 4, func(c *aimd.Config) {
		c.Observer = func(e aimd.Event) {
			if again--; again >= 0 {
				require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.MaxAttempts = again }))
			}
		}
	})
	require.Panics(t, func() { _ = l.Reconfigure(func(*aimd.Config) { panic("of the program") }) })
	require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.MaxWindow = 2 * l.Snapshot().Cwnd }))
	require.Equal(t, []any{8., 0, -1}, []any{l.Snapshot().Config.MaxWindow, l.Snapshot().Config.MaxAttempts, again})
}

// "Law, Name, InitialWindow, Rand, Observer, Classifier, Policy and Guards cannot change."
func TestReconfigureNamesWhatCannotChange(t *testing.T) {
	l := newLimiter(t, 4, func(c *aimd.Config) { c.Name = "photos" })
	fixed := map[string]func(*aimd.Config){
		"Law": func(c *aimd.Config) { c.Law = aimd.Probe() }, "Name": func(c *aimd.Config) { c.Name = "videos" },
		"InitialWindow": func(c *aimd.Config) { c.InitialWindow = 8 }, "Rand": func(c *aimd.Config) { c.Rand = noJitter() },
		"Observer":   func(c *aimd.Config) { c.Observer = func(aimd.Event) {} },
		"Classifier": func(c *aimd.Config) { c.Classifier = verdict.Classify },
		"Policy":     func(c *aimd.Config) { c.Policy = policy(nil) },
		"Guards":     func(c *aimd.Config) { c.Guards = []attempt.Guard{nil} },
	}
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[aimd.Config]()) {
		if names = append(names, f.Name); f.Name == "Guards" {
			break
		}
	}
	require.ElementsMatch(t, names, slices.Collect(maps.Keys(fixed)))
	for name, change := range fixed {
		err := l.Reconfigure(func(c *aimd.Config) {
			require.Zero(t, c.Name)
			c.MaxWindow = 5
			change(c)
		})
		require.EqualError(t, err, "aimd: "+name+": a change is not allowed, want the one of New")
		require.ErrorAs(t, err, new(*setting.Error))
		require.EqualValues(t, window.MaxWindow, l.Snapshot().Config.MaxWindow)
	}
	require.EqualError(t, l.Reconfigure(nil), "aimd: change: nil is not allowed")
}

func TestASnapshotGoesThroughJSONToTheNextLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 8)
		refuseBursts(t, l, 1)
		data, err := json.Marshal(l.Snapshot())
		require.NoError(t, err)
		require.JSONEq(t, `{"at":"2000-01-01T00:00:00Z","law":"aimd.reno","cwnd":4,"ssthresh":4,"in_flight":0,"queued":0,"attempts":1,
			"successes":0,"overloads":1,"timeouts":0,"neutrals":0,"client_errors":0,"cuts":1,"pauses":0,"late":0}`, string(data))
		var old aimd.Snapshot
		require.NoError(t, json.Unmarshal(data, &old))
		require.Equal(t, l.Snapshot().State, old.State)
		restored := func(at time.Time) *aimd.Limiter {
			next := newLimiter(t, 20)
			require.NoError(t, next.Restore(old.State, at))
			return next
		}
		next := restored(old.At)
		require.Equal(t, l.Snapshot().State, next.Snapshot().State)
		acquire(t, next, 4)
		_, ok := next.TryAcquire()
		require.False(t, ok)
		require.EqualError(t, next.Restore(old.State, old.At), "aimd: Restore: the limiter has made attempts already")

		time.Sleep(time.Hour) // of the bubble's time
		require.EqualValues(t, 4, restored(old.At).Snapshot().Cwnd)
		time.Sleep(time.Nanosecond)
		require.EqualValues(t, 20, restored(old.At).Snapshot().Cwnd, "too old")
		require.EqualValues(t, 4, restored(time.Time{}).Snapshot().Cwnd, "its age does not matter")
		require.NoError(t, next.Restore(window.State{}, old.At), "none")
	})
}

// "From another law's State take only Cwnd: an Ssthresh of 0 means Cwnd." A law without times has no use for the
// others.
func TestAWindowWithoutItsThreshold(t *testing.T) {
	restored := func(law window.NewLaw, s window.State) window.State {
		l := attempttest.Limiter(t, aimd.Config{Law: law})
		require.NoError(t, l.Restore(s, time.Time{}))
		return l.Snapshot().State
	}
	spaced := window.State{Cwnd: 48, Ssthresh: 32, Pace: window.Spaced, Trip: time.Second}
	require.Equal(t, window.State{Cwnd: 48, Ssthresh: 32}, restored(aimd.Reno(0.5), spaced))
	require.Equal(t, spaced, restored(aimd.Probe(), spaced))
	require.Equal(t, window.State{Cwnd: 48, Ssthresh: 48}, restored(aimd.Probe(), window.State{Cwnd: 48}))
	require.Equal(t, window.State{Cwnd: 1, Ssthresh: 1}, restored(aimd.Reno(0.5), window.State{Cwnd: 0.5}))
	l := newLimiter(t, 20)
	err := l.Restore(window.State{Ssthresh: 1}, time.Time{})
	require.EqualError(t, err, "aimd: Restore: Cwnd: 0 is not allowed, want a number above 0, at most 1048576")
	require.ErrorAs(t, err, new(*setting.Error))
	require.EqualValues(t, 20, l.Snapshot().Cwnd)
}

// timedLaw is a law that answers what the function says, and is told the time.
type timedLaw func(s window.State, a window.End) window.State

func (f timedLaw) Answered(_ time.Duration, s window.State, a window.End) window.State {
	return f(s, a)
}
func (timedLaw) Timed() bool { return true }
