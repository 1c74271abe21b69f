package limiter_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

func TestObserverIsToldEverythingWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []limiter.Event
		l := newLimiter(t, 2, func(c *limiter.Config) {
			c.QueueBound = 1
			c.Observer = func(e limiter.Event) { events = append(events, e) }
		})
		kinds := func() (got []limiter.Kind) {
			for _, e := range events {
				got = append(got, e.Kind)
			}
			events = nil
			return got
		}

		p := acquire(t, l, 2)
		require.Empty(t, kinds(), "who goes at once is no news")
		to := make(chan got, 1)
		queueUp(t.Context(), "waits", l.Acquire, to)
		_, err := l.Acquire(t.Context())
		require.Equal(t, attempt.ErrQueueFull, err)
		require.Equal(t, []limiter.Kind{limiter.Full}, kinds())

		time.Sleep(time.Second) // of the bubble's time
		require.NoError(t, p[0].Done(window.Success))
		grew, admitted := events[0], events[1]
		require.Equal(t, []limiter.Kind{limiter.Grew, limiter.Admitted}, kinds())
		require.Equal(t, limiter.Event{
			Seq: 2, Time: grew.Time, Kind: limiter.Grew, Window: window.State{Cwnd: 3, Ssthresh: 1024}, Before: 2,
			InFlight: 1, Queued: 1, Outcome: window.Success, RTT: time.Second,
		}, grew)
		require.Equal(t, time.Second, admitted.Wait)
		require.Equal(t, 2, admitted.InFlight)

		p[0] = (<-to).permit
		p = append(p, acquire(t, l, 1)...)
		require.NoError(t, p[0].Done(window.Overload))
		require.NoError(t, p[1].Done(window.Overload))
		require.NoError(t, p[2].Done(window.Neutral))
		require.Error(t, p[2].Done(window.Neutral))
		require.Equal(t, []limiter.Kind{limiter.Cut, limiter.Ignored, limiter.Steady, limiter.Late}, kinds())

		refuseBursts(t, l, 1)
		held := events[1]
		require.Equal(t, []limiter.Kind{limiter.Cut, limiter.Paused}, kinds())
		require.Positive(t, held.Wait)
		l.Close()
		require.Equal(t, []limiter.Kind{limiter.Closed}, kinds())
	})
}

// docs/design.md, rule 12: "User code runs after the lock is released".
func TestObserverMayCallBack(t *testing.T) {
	var l *limiter.Limiter
	var seq uint64
	calls := 0
	l = newLimiter(t, 2, func(c *limiter.Config) {
		c.Observer = func(e limiter.Event) {
			calls++
			require.Greater(t, e.Seq, seq)
			seq = e.Seq
			s := l.Snapshot()
			require.Equal(t, e.Window.Cwnd, s.Cwnd)
			require.Equal(t, e.InFlight, s.InFlight)
			if e.Kind != limiter.Steady {
				p, ok := l.TryAcquire()
				require.True(t, ok)
				require.NoError(t, p.Done(window.Neutral))
			}
		}
	})
	p := acquire(t, l, 2)
	require.NoError(t, p[0].Done(window.Success))
	require.NoError(t, p[1].Done(window.Overload))
	require.Equal(t, 4, calls)
}

func TestALawMayShrinkWithoutAnOverload(t *testing.T) {
	var got limiter.Event
	law := func(window.Settings) window.Law {
		return timedLaw(func(s window.State, _ window.Answer) window.State { s.Cwnd--; return s })
	}
	l, err := limiter.New(law, limiter.Config{Observer: func(e limiter.Event) { got = e }})
	require.NoError(t, err)
	require.NoError(t, acquire(t, l, 1)[0].Done(window.Success))
	require.Equal(t, limiter.Shrank, got.Kind)
	require.EqualValues(t, 19, got.Window.Cwnd)
}

func TestKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for k := limiter.Grew; k <= limiter.UsedUp; k++ {
		require.NotEqual(t, "none", k.String())
		require.False(t, seen[k.String()])
		seen[k.String()] = true
	}
	require.Equal(t, "none", limiter.Kind(0).String())
	require.Equal(t, "none", limiter.Kind(200).String())
}

// A late look shows how things came to be as they are, with no observer.
func TestDecisionsAreKeptWithoutAnObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 40)
		start := time.Now()
		require.Empty(t, l.Decisions(0))
		p := acquire(t, l, 2)
		time.Sleep(time.Second)
		require.NoError(t, p[0].Settle(attempt.Verdict{Outcome: window.Overload, RetryAfter: time.Second}))
		require.NoError(t, p[1].Done(window.Overload))
		all := l.Decisions(0)
		require.Len(t, all, 1, "one for a burst")
		require.Equal(t, limiter.Cut, all[0].Kind)
		require.Equal(t, 40.0, all[0].Before)
		require.Equal(t, 20.0, all[0].Window.Cwnd)
		require.Equal(t, time.Second, all[0].Time.Sub(start))
		require.Equal(t, time.Second, all[0].RetryAfter)

		for range 300 {
			require.NoError(t, l.Reconfigure(l.Config().Rules))
		}
		l.Close()
		all = l.Decisions(0)
		require.Len(t, all, 32, "the latest")
		require.Equal(t, limiter.Closed, all[31].Kind)
		for i := range all[1:] {
			require.Equal(t, all[i].Seq+1, all[i+1].Seq)
		}
		require.Equal(t, all[26:], l.Decisions(all[25].Seq), "only the news")
		require.Empty(t, l.Decisions(all[31].Seq))
	})
}

// Of a pause that is shorter than the Retry-After the service was not the reason.
func TestAPauseSaysWhetherTheServiceAskedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held []limiter.Event
		l := newLimiter(t, 8, func(c *limiter.Config) {
			c.Patience = 3
			c.MaxRetryAfter = 10 * time.Second
			c.Observer = func(e limiter.Event) {
				if e.Kind == limiter.Paused {
					held = append(held, e)
				}
			}
		})
		refuse := func(retryAfter time.Duration) {
			p, err := l.Acquire(t.Context())
			require.NoError(t, err)
			require.NoError(t, p.Settle(attempt.Verdict{Outcome: window.Overload, RetryAfter: retryAfter}))
		}
		refuse(time.Second)
		refuse(time.Second)
		refuse(time.Second)
		refuse(time.Minute)
		require.Len(t, held, 3)
		require.Zero(t, held[0].RetryAfter, "the second cut in a row: our own pause, of %v", held[0].Wait)
		require.Equal(t, time.Second, held[1].RetryAfter)
		require.GreaterOrEqual(t, held[1].Wait, time.Second)
		require.Equal(t, time.Minute, held[2].RetryAfter)
		require.Equal(t, 10*time.Second, held[2].MaxRetryAfter, "as far as it is obeyed")
		require.LessOrEqual(t, held[2].Wait, 11*time.Second)
		require.Error(t, held[2].Err)
	})
}
