package aimd_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/window"
)

// watching is a limiter in shadow.
func watching(t *testing.T, changes ...func(*aimd.Config)) *aimd.Limiter {
	t.Helper()
	return newLimiter(t, 2, append(changes, func(c *aimd.Config) { c.Shadow = true })...)
}

// Each door lets everything through at once: a full window, a full queue, a rate, a deadline that is near, an amount that is not
// allowed.
func TestInShadowEachDoorIsOpen(t *testing.T) {
	for name, change := range map[string]func(*aimd.Config){
		"window": func(*aimd.Config) {},
		"queue":  func(c *aimd.Config) { c.QueueBound = 1 },
		"rate":   func(c *aimd.Config) { c.MaxRate = 0.001 },
		"amount": func(c *aimd.Config) { c.MaxAmountRate = 0.001 },
		"wait":   func(c *aimd.Config) { c.MaxRate, c.MaxWait = 0.001, 1 },
	} {
		synctest.Test(t, func(t *testing.T) {
			l, began := watching(t, change), time.Now()
			ctx, cancel := context.WithTimeout(aimd.WithAmount(t.Context(), -7), time.Millisecond)
			defer cancel()
			for range 10 {
				_, err := l.Acquire(ctx)
				require.NoError(t, err, name)
				_, ok := l.TryAcquire()
				require.True(t, ok, name)
				_, err = l.Begin(aimd.Urgent(ctx))
				require.NoError(t, err, name)
				require.NoError(t, l.Do(ctx, func(context.Context) error { return nil }), name)
			}
			require.Zero(t, time.Since(began), name)
			s := l.Snapshot()
			require.Equal(t, 30, s.InFlight)
			require.EqualValues(t, 40, s.Shadow.Sent)
			require.GreaterOrEqual(t, s.Shadow.Held, uint64(38), name)
			require.Zero(t, s.TooLate)
		})
	}
}

// What a service says does not stop it either: refusals in a row, a stop for all, a quota that is used up, a block by a firewall.
func TestInShadowNothingPauses(t *testing.T) {
	for name, reply := range map[string]func(n int) (int, http.Header){
		"outage": func(int) (int, http.Header) { return 503, nil },
		"stop":   func(int) (int, http.Header) { return 429, http.Header{"Retry-After": {"3600"}} },
		"quota": func(int) (int, http.Header) {
			return 429, http.Header{"X-Ratelimit-Limit": {"100"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"3600"}}
		},
		"block": func(n int) (int, http.Header) {
			if n <= 60 {
				return 200, nil
			}
			return 403, nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			client := &http.Client{Transport: &httplimit.Transport{
				Limiter: watching(t, func(c *aimd.Config) { c.MaxAttempts = 1 }),
				Base: roundTripper(func(r *http.Request) (*http.Response, error) {
					n++
					status, header := reply(n)
					return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("")), Request: r, ProtoMajor: 1}, nil
				}),
			}}
			began := time.Now()
			for i := range 200 {
				resp, err := client.Get("http://service/")
				require.NoError(t, err, name)
				resp.Body.Close()
				want, _ := reply(i + 1)
				require.Equal(t, want, resp.StatusCode, name)
			}
			require.Equal(t, 200, n, name)
			require.Zero(t, time.Since(began), name)
		})
	}
}

// The law hears of what the window has room for, and of all successes.
func TestInShadowTheLawRunsOnWhatItWouldHaveSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []aimd.Event
		l := watching(t, func(c *aimd.Config) { c.Observer = func(e aimd.Event) { events = append(events, e) } })
		all := acquire(t, l, 10)
		for _, p := range all[2:] {
			p.Done(window.Overload)
		}
		s := l.Snapshot()
		require.EqualValues(t, 2, s.Cwnd, "nothing that the window had room for was refused")
		require.Equal(t, limiter.Shadow{Sent: 10, Held: 8, Wait: s.Shadow.Wait, Refused: 8, Above: 8}, s.Shadow)
		require.EqualValues(t, 8, s.Overloads)
		all[0].Done(window.Overload)
		require.EqualValues(t, 1, l.Snapshot().Cwnd)
		require.Contains(t, l.Snapshot().String(), `shadow="would have held 8 of 10 for `)
		for _, p := range acquire(t, l, 9) {
			p.Done(window.Success)
		}
		require.Greater(t, l.Snapshot().Cwnd, 1., "successes above the window count")

		var held []uint64
		for _, e := range events {
			require.True(t, e.Shadow)
			if e.Kind == event.Held {
				held = append(held, e.Count)
			}
		}
		require.Equal(t, []uint64{1, 2, 4, 8}, held[:4], "once, and when it has doubled")
		i := slices.IndexFunc(events, func(e aimd.Event) bool { return e.Outcome == window.Overload })
		require.Equal(t, "shadow: kept: above, more than the window were in flight, the window stays 2", events[i].String())
		require.Equal(t, "shadow: held: 1 attempts would have waited, 0s in the mean, and went at once", events[0].String())
	})
}

// How long those would have waited that are above the window is a round trip over the window each.
func TestInShadowWaitsAreKnownByTheRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{Shadow: true, InitialWindow: 4, MaxWindow: 4})
		for range 4 {
			p, _ := l.TryAcquire()
			time.Sleep(100 * ms)
			p.Done(window.Success)
		}
		acquire(t, l, 12)
		s := l.Snapshot().Shadow
		require.EqualValues(t, 8, s.Held)
		require.Equal(t, 900*ms, s.Wait, "1 to 8 times 100 ms / 4")
		require.Equal(t, "would have held 8 of 16 for 113ms each; refused: 0 of those, 0 of the others", s.String())
	})
}

// Reconfigure turns it into a limiter that holds, whose window begins anew, and back: then all who wait go.
func TestShadowIsTurnedOnAndOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := watching(t, func(c *aimd.Config) { c.MaxWindow = 2 })
		acquire(t, l, 1)[0].Done(window.Overload)
		require.EqualValues(t, 1, l.Snapshot().Cwnd)
		all := acquire(t, l, 5)
		require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.Shadow = false }))
		require.Equal(t, window.State{Cwnd: 2, Ssthresh: 1024}, l.Snapshot().State)
		to := make(chan got, 4)
		for range 4 {
			queueUp(t.Context(), "", l.Acquire, to)
		}
		require.Empty(t, to)
		for _, p := range all {
			p.Done(window.Success)
		}
		synctest.Wait()
		require.Len(t, to, 2)
		require.EqualValues(t, 6, l.Snapshot().Shadow.Sent, "it counts in shadow only")
		require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.Shadow = true }))
		synctest.Wait()
		require.Len(t, to, 4)
		for range 4 {
			(<-to).permit.Done(window.Success)
		}
		require.Equal(t, limiter.Shadow{Sent: 8, Held: 6, Wait: l.Snapshot().Shadow.Wait, Refused: 1}, l.Snapshot().Shadow)
	})
}

// It is turned on and off while callers of all kinds are at work: nobody is lost.
func TestShadowIsTurnedOnAndOffAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{InitialWindow: 4, MaxWindow: 8})
		var busy, done atomic.Int64
		fn := func(context.Context, int) error {
			defer busy.Dec()
			if busy.Inc() > 6 {
				return refusal(503)
			}
			time.Sleep(10 * ms)
			return nil
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { assert.NoError(t, aimd.Each(t.Context(), l, count(200), fn)); done.Add(200) })
			for range 50 {
				all.Go(func() {
					assert.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { return fn(ctx, 0) }))
					done.Inc()
				})
			}
		}
		for i := range 60 {
			time.Sleep(15 * ms)
			require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.Shadow = i%2 == 0 }))
		}
		all.Wait()
		require.EqualValues(t, 1000, done.Load())
		s := l.Snapshot()
		require.Zero(t, s.InFlight+s.Queued)
		require.Positive(t, s.Shadow.Held)
		require.Less(t, s.Shadow.Sent, s.Attempts)
	})
}

// Each and Map need a bound, and keep to it.
func TestEachInShadowNeedsAMaxWindow(t *testing.T) {
	l := watching(t)
	err := aimd.Each(t.Context(), l, count(3), succeed)
	wrong := new(setting.Error)
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "MaxWindow", wrong.Name)
	items := 0
	for _, err := range aimd.Map(t.Context(), l, count(3), func(context.Context, int) (int, error) { return 0, nil }) {
		require.ErrorAs(t, err, &wrong)
		items++
	}
	require.Equal(t, 1, items)
	require.NoError(t, aimd.Each(t.Context(), l, count(0), succeed))

	synctest.Test(t, func(t *testing.T) {
		l := watching(t, func(c *aimd.Config) { c.MaxWindow = 7 })
		var busy, most atomic.Int64
		began := time.Now()
		require.NoError(t, aimd.Each(t.Context(), l, count(70), func(context.Context, int) error {
			most.Store(max(most.Load(), busy.Inc()))
			time.Sleep(time.Second)
			busy.Dec()
			return nil
		}))
		require.EqualValues(t, 7, most.Load())
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}

// An operation of Do that is refused backs off from the first refusal on: no window paces it.
func TestRetriesInShadowBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := watching(t, func(c *aimd.Config) { c.MaxAttempts = 6 })
		var at []time.Duration
		began := time.Now()
		require.ErrorIs(t, l.Do(t.Context(), func(context.Context) error {
			at = append(at, time.Since(began))
			return refusal(503)
		}), aimd.ErrAttempts)
		require.Len(t, at, 6)
		for i, least := range []time.Duration{25 * ms, 50 * ms, 100 * ms, 200 * ms, 400 * ms} { // 50 ms doubled, times 0.5 to 1.5
			gap := at[i+1] - at[i]
			require.True(t, gap >= least && gap <= 3*least, "%d: %v", i, gap)
		}
	})
}

// A backup is only sent where the limiter would have had room: in shadow it is load that was not there.
func TestABackupInShadowNeedsRoom(t *testing.T) {
	for window, want := range map[float64]uint64{2: 0, 20: 1} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t, window, func(c *aimd.Config) { c.Shadow, c.MaxWindow = true, window })
			slow := aimd.Backup(l, func(ctx context.Context, i int) error {
				wait := 10 * ms
				if i == 9 {
					wait = time.Second
				}
				_ = worked(ctx, wait)
				return nil
			})
			acquire(t, l, 2)
			for i := range 10 {
				require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { return slow(ctx, i) }))
			}
			require.Equal(t, want, l.Snapshot().Backups)
		})
	}
}

// A limiter that is closed takes no more work in shadow either, and a panic or a wrong release costs no slot.
func TestShadowWithBadCallers(t *testing.T) {
	l := watching(t)
	require.Panics(t, func() { _ = l.Do(t.Context(), func(context.Context) error { panic("no") }) })
	for _, p := range acquire(t, l, 4) {
		p.Done(window.Success)
		p.Done(window.Overload)
		p.End(errors.New("strange"))
	}
	s := l.Snapshot()
	require.Zero(t, s.InFlight)
	require.EqualValues(t, 8, s.Late)
	require.Zero(t, s.Shadow.Refused)
	require.NoError(t, l.Close())
	_, err := l.Acquire(t.Context())
	require.ErrorIs(t, err, aimd.ErrClosed)
	_, ok := l.TryAcquire()
	require.False(t, ok)
}

// A share of a quota that refusals cost is known from the reports.
func TestWhatRefusalsCostOfAQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := watching(t)
		left := 100.
		time.Sleep(ms)
		for i := range 40 {
			a, err := l.Begin(t.Context())
			require.NoError(t, err)
			left--
			err = nil
			if i%4 == 3 {
				err = refusal(503)
			}
			a.Head(err, answer.Quota{Name: "requests", Limit: 100, Left: left, Reset: time.Minute})
			a.End(nil)
			time.Sleep(ms)
		}
		require.InDelta(t, 10./39, l.Snapshot().Quotas[0].Refused, 1e-9, "the first report begins it")
	})
}
