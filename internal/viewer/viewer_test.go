package viewer

import (
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// seen returns the advice on a series with ten samples, a second apart; at has the sample of
// that many seconds ago.
func seen(t *testing.T, at func(ago int) limiter.Snapshot, decisions ...limiter.Event) advice {
	t.Helper()
	l, err := aimd.NewReno(aimd.WithMaxWindow(64))
	require.NoError(t, err)
	now := time.Now()
	s := &series{source: source{limiter: l}}
	for _, e := range decisions {
		e.Time = now.Add(e.Time.Sub(time.Time{}))
		s.decisions, s.closed = append(s.decisions, e), e.Kind == limiter.Closed
	}
	for ago := 10; ago >= 0; ago-- {
		s.now = sample{now.Add(-time.Duration(ago) * time.Second), at(ago)}
		s.past = append(s.past, s.now)
	}
	return s.advise(now)
}

// steady is a snapshot with a hundred answers a second.
func steady(ago int, s limiter.Snapshot) limiter.Snapshot {
	s.Successes = uint64(100 * (10 - ago))
	return s
}

// ago is a time that seen takes as d ago.
func ago(d time.Duration) time.Time { return time.Time{}.Add(-d) }

func held(before, wait, asked time.Duration) limiter.Event {
	return limiter.Event{Kind: limiter.Paused, Time: ago(before), Wait: wait, RetryAfter: asked}
}

// verdicts has a limiter's last ten seconds by the verdict on them.
var verdicts = map[string]struct {
	at        func(ago int) limiter.Snapshot
	decisions []limiter.Event
}{
	"idle: Idle: nothing to send.": {at: func(int) limiter.Snapshot { return limiter.Snapshot{Cwnd: 20, Successes: 9} }},
	"closed: Closed: nothing more is sent.": {
		func(int) limiter.Snapshot { return limiter.Snapshot{Cwnd: 20, InFlight: 3} },
		[]limiter.Event{{Kind: limiter.Closed}},
	},
	"paused: Paused for 2s more: the service asked for it.": {
		func(ago int) limiter.Snapshot { return steady(ago, limiter.Snapshot{Cwnd: 1, Queued: 5}) },
		[]limiter.Event{held(time.Second, 3*time.Second, 2*time.Second)},
	},
	"paused: Paused for 500ms more: the service refused again, and accepted nothing in between.": {
		func(ago int) limiter.Snapshot { return steady(ago, limiter.Snapshot{Cwnd: 1, Queued: 5}) },
		[]limiter.Event{held(time.Second, 1500*time.Millisecond, 0)},
	},
	"at its maximum: The maximum window of 64 is the bottleneck, not the service.": {
		at: func(ago int) limiter.Snapshot {
			return steady(ago, limiter.Snapshot{Cwnd: 64, InFlight: 64, Queued: 10})
		},
	},
	"room to spare: Your program sets the pace, not the service: it uses 3 of 20 slots.": {
		at: func(ago int) limiter.Snapshot { return steady(ago, limiter.Snapshot{Cwnd: 20.5, InFlight: 3}) },
	},
	"growing: Looking for the limit: the window went from 20 to 30 in 10s without a cut.": {
		at: func(ago int) limiter.Snapshot {
			return steady(ago, limiter.Snapshot{Cwnd: float64(30 - ago), InFlight: 30 - ago, Queued: 9})
		},
	},
	"at the limit: The service sets the pace: the window of 30 is in use, 9 wait.": {
		func(ago int) limiter.Snapshot {
			return steady(ago, limiter.Snapshot{Cwnd: 30.4 - float64(ago)/2, InFlight: 30, Queued: 9, Cuts: uint64(10 - ago)})
		},
		nil,
	},
	"queue grows: Work comes faster than the service takes it: 200 wait, 10 more every second.": {
		func(ago int) limiter.Snapshot {
			return steady(ago, limiter.Snapshot{Cwnd: 30, InFlight: 30, Queued: 200 - 10*ago})
		},
		nil,
	},
	"spaced: Sends are spaced out: 7 wait although the window has room.": {
		at: func(ago int) limiter.Snapshot { return steady(ago, limiter.Snapshot{Cwnd: 1, Queued: 7}) },
	},
	"in balance: The window fits the work: 20 of 20 slots in use, and nothing waits for long.": {
		at: func(ago int) limiter.Snapshot { return steady(ago, limiter.Snapshot{Cwnd: 20, InFlight: 20}) },
	},
	"growing: Looking for the limit: the window went from 1 to 3 in 1s without a cut.": {
		func(ago int) limiter.Snapshot {
			return steady(ago, limiter.Snapshot{Cwnd: float64(max(1, 3-2*ago)), InFlight: max(1, 3-2*ago), Queued: 57})
		},
		[]limiter.Event{held(4*time.Second, 2*time.Second, time.Second)},
	},
	// After a pause: the samples within it are no spare room.
	"at the limit: The service sets the pace: the window of 8 is in use, 7 wait.": {
		func(ago int) limiter.Snapshot {
			s := limiter.Snapshot{Cwnd: 8, InFlight: 8, Queued: 7}
			if ago >= 2 {
				s.InFlight = 0
			}
			return steady(ago, s)
		},
		[]limiter.Event{held(10*time.Second, 8500*time.Millisecond, time.Second)},
	},
}

func TestTheVerdictSaysWhatTheBottleneckIs(t *testing.T) {
	for want, c := range verdicts {
		a := seen(t, c.at, c.decisions...)
		require.Equal(t, want, a.State+": "+a.Text)
		require.Contains(t, []string{"ok", "grow", "wait", "pause", "off"}, a.Mark)
	}
}

func TestWhatIsUrgentIsTheHint(t *testing.T) {
	for want, last := range map[string]limiter.Snapshot{
		"One answer in 4 is a refusal":           {Successes: 75, Overloads: 25},
		"More attempts time out":                 {Successes: 95, Timeouts: 5},
		"Most answers say nothing about load":    {Successes: 40, ClientErrors: 30, Neutrals: 30},
		"Permits released twice: 2":              {Successes: 40, Late: 2},
		"To go faster, start more at a time. If": {Successes: 40, Overloads: 1, Neutrals: 3}, // a few are no reason
	} {
		a := seen(t, func(ago int) limiter.Snapshot {
			s := limiter.Snapshot{}
			if ago == 0 {
				s = last
			}
			s.Cwnd, s.InFlight = 20, 10
			return s
		})
		require.Contains(t, a.Do, want)
	}
}

// A real limiter behind a service of eight at a time.
func TestAdviceOnARealLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.NewReno(aimd.WithInitialWindow(2))
		require.NoError(t, err)
		said := advised(t, l, 30*time.Second, func(n int64) window.Outcome {
			time.Sleep(100 * time.Millisecond)
			if n > 8 {
				return window.Overload
			}
			return window.Success
		})
		require.Greater(t, said["at the limit"], 100, fmt.Sprint(said))
	})
}

// The state says "latency up 1.8 times" for a service that refuses nothing, works on 16 at a
// time, and at half the speed after a minute.
func TestAWindowThatDoesNotGrowSaysThatAnswersGotSlower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New()
		require.NoError(t, err)
		began := time.Now()
		said := advised(t, l, 2*time.Minute, func(n int64) window.Outcome {
			d := time.Duration(max(16, n)) * 5 * time.Millisecond
			if time.Since(began) > time.Minute {
				d *= 2
			}
			time.Sleep(d)
			return window.Success
		})
		require.Greater(t, said["not growing"], 40, fmt.Sprint(said))
	})
}

// of yields one limiter.
func of(l *limiter.Limiter) Limiters {
	return func() iter.Seq2[string, *limiter.Limiter] {
		return func(yield func(string, *limiter.Limiter) bool) { yield("", l) }
	}
}

// advised counts the states that a page shows within a time, of a limiter with more work than
// the service takes; serve gets the number of requests in flight.
func advised(t *testing.T, l *limiter.Limiter, long time.Duration, serve func(n int64) window.Outcome) map[string]int {
	var flying atomic.Int64
	work := func() window.Outcome {
		defer flying.Add(-1)
		return serve(flying.Add(1))
	}
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			for p, err := l.Acquire(t.Context()); err == nil; p, err = l.Acquire(t.Context()) {
				_ = p.Done(work())
			}
		})
	}
	w := Handler(of(l), nil, nil).(*handler).watch
	p := page{every: usual, seen: map[int]known{}}
	said := map[string]int{}
	for range int(long / usual) {
		time.Sleep(usual)
		a := w.news(&p).Limiters[0].Advice
		said[a.State]++
	}
	l.Close()
	callers.Wait()
	return said
}

// A first look that kept an entry for each limiter compared each with all before it: ten
// thousand limiters took seconds under the lock of all pages. So the look may allocate for
// the limiters shown only. The names come in the worst order, each before all others.
func TestTheFirstLookCostsTheSameForAnyNumberOfLimiters(t *testing.T) {
	names, all := make([]string, 10_000), make([]*limiter.Limiter, 10_000)
	for i := range all {
		l, err := aimd.New()
		require.NoError(t, err)
		names[i], all[i] = fmt.Sprintf("customer-%05d", len(all)-i), l
	}
	allocations := func(n int) float64 {
		limiters := func() iter.Seq2[string, *limiter.Limiter] {
			return func(yield func(string, *limiter.Limiter) bool) {
				for i := range n {
					if !yield(names[i], all[i]) {
						return
					}
				}
			}
		}
		return testing.AllocsPerRun(3, func() {
			w := Handler(limiters, nil, nil).(*handler).watch
			w.look(time.Now())
			require.Len(t, w.all, shown)
			require.Equal(t, n-shown, w.more)
			require.Equal(t, names[n-1], w.all[0].name)
		})
	}
	few, many := allocations(500), allocations(10_000)
	require.InDelta(t, few, many, 10)
}

// A client without a limiter is shown without a window, and stays when it has ended.
func TestAClientWithoutALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New(aimd.WithName("photos"))
		require.NoError(t, err)
		flow := Flow{InFlight: 7, Accepted: 3, Refused: 2}
		clients := []*Client{{"plain", func() Flow { return flow }}}
		w, p := Handler(of(l), func() []*Client { return clients }, nil).(*handler).watch, page{every: usual, seen: map[int]known{}}
		first := w.news(&p).Limiters
		require.Equal(t, "photos", *first[0].Name)
		require.Equal(t, "plain", *first[1].Name)
		require.Equal(t, []float64{0, 0, 7, 0, 3, 2, 0, 0}, first[1].Samples[0][1:])
		require.Equal(t, "no limiter", first[1].Advice.State)

		flow.Refused = 12
		time.Sleep(time.Second)
		next := w.news(&p).Limiters[1]
		require.Nil(t, next.Name, "it is known")
		require.Equal(t, "No limiter bounds it: 7 in flight, 10 of the last 10 answers refused.", next.Advice.Text)

		flow = Flow{Accepted: 9, Refused: 12, Ended: true}
		time.Sleep(time.Second)
		over := w.news(&p).Limiters[1]
		require.Equal(t, "closed", over.Advice.State)
		require.Equal(t, first[1].ID, over.ID)

		time.Sleep(time.Hour)
		still := w.news(&p).Limiters[1].Samples
		require.Equal(t, over.Samples, still[len(still)-1:], "nothing is looked at any more")
	})
}

// BenchmarkTick is the cost of one event of a page, without the writing.
func BenchmarkTick(b *testing.B) {
	l, err := aimd.NewReno()
	if err != nil {
		b.Fatal(err)
	}
	w, p := Handler(of(l), nil, nil).(*handler).watch, page{every: usual, seen: map[int]known{}}
	b.ReportAllocs()
	for b.Loop() {
		w.polled = time.Time{}
		if _, err := json.Marshal(w.news(&p)); err != nil {
			b.Fatal(err)
		}
	}
}
