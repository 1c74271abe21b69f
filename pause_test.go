package aimd_test

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// daily is the refusal of a service whose quota of a day is used up.
type daily struct{ status }

func (daily) Error() string { return "429 Too Many Requests: DAILY_LIMIT_EXCEEDED" }

var usedUp = daily{status{HTTP: 429, After: 12 * time.Hour}}

// least is a source of the least random numbers.
type least struct{}

func (least) Uint64() uint64 { return 0 }

func noJitter() *rand.Rand { return rand.New(least{}) }

// pausedBy makes a limiter that the refusal pauses, and returns it right after the pause began.
func pausedBy(t *testing.T, refusal error, change ...func(*aimd.Config)) *aimd.Limiter {
	t.Helper()
	change = append([]func(*aimd.Config){func(c *aimd.Config) { c.MaxRetryAfter, c.MaxAttempts = 24*time.Hour, 1 }}, change...)
	l := newLimiter(t, 8, change...)
	for range 5 { // the fifth cut in a row pauses all
		require.Error(t, l.Do(t.Context(), func(context.Context) error { return refusal }))
	}
	require.False(t, l.Snapshot().PausedUntil.IsZero())
	return l
}

// A call whose deadline ends before the pause does, or whose wait is longer than MaxWait, fails at once, with the
// reason, and an Each pulls no more items; others wait.
func TestAWaitThatCannotBeMetIsReportedAtOnce(t *testing.T) {
	const daily = ` of "429 Too Many Requests: DAILY_LIMIT_EXCEEDED"`
	for name, c := range map[string]struct {
		refusal        error
		most, deadline time.Duration
		giveUp         time.Duration
		reason         error
		want           string
	}{
		"obeyed": {usedUp, 24 * time.Hour, time.Minute, 0, context.DeadlineExceeded,
			"paused until 12:00:00: Retry-After 12h0m0s" + daily},
		"cut": {usedUp, 5 * time.Minute, time.Minute, 0, context.DeadlineExceeded,
			"paused until 00:05:00: Retry-After 12h0m0s (cut to 5m0s by MaxRetryAfter)" + daily},
		"our own": {status{HTTP: 503}, 0, 10 * time.Millisecond, 0, context.DeadlineExceeded,
			"paused until 00:00:00: refused again and again"},
		"MaxWait": {usedUp, 24 * time.Hour, 24 * time.Hour, time.Hour, aimd.ErrWait,
			"aimd: wait too long: paused until 12:00:00: Retry-After 12h0m0s" + daily},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := pausedBy(t, c.refusal, func(cfg *aimd.Config) { cfg.MaxRetryAfter, cfg.MaxWait, cfg.Rand = c.most, c.giveUp, noJitter() })
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				defer cancel()
				start := time.Now()
				_, err := l.Acquire(ctx)
				require.ErrorIs(t, err, c.reason)
				require.EqualError(t, err, c.want)
				for item, err := range aimd.Items(ctx, l, count(100), succeed) {
					require.Zero(t, item)
					require.EqualError(t, err, "gave up before the first attempt: "+c.want)
				}
				require.Zero(t, time.Since(start))

				until := l.Snapshot().PausedUntil
				time.Sleep(max(0, time.Until(until)-time.Hour)) // less than MaxWait is left
				p := attempttest.Acquire(t, l)
				require.Equal(t, until, time.Now())
				require.True(t, l.Snapshot().PausedUntil.IsZero())
				p.Done(window.Success)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // the operation that is refused, too
		l, start := newLimiter(t, 8, func(c *aimd.Config) { c.MaxWait = time.Hour }), time.Now()
		err := l.Do(t.Context(), func(context.Context) error { return usedUp })
		require.ErrorIs(t, err, aimd.ErrWait)
		require.EqualError(t, err, "gave up after 1 attempt: aimd: wait too long: "+
			"12h0m0s is longer than 1h0m0s (MaxWait); last error: 429 Too Many Requests: DAILY_LIMIT_EXCEEDED")
		require.Zero(t, time.Since(start), "though MaxRetryAfter is 5 minutes")
	})
}

// decides is a Policy.
type decides attempt.Decision

func (d decides) Decide(context.Context, attempt.Failure) attempt.Decision {
	return attempt.Decision(d)
}

// A pause of all operations has the Retry-After already, with its jitter: a policy's wait for it is not added. Another
// pause changes no wait.
func TestAPolicyWaitsForAPauseOnce(t *testing.T) {
	const s = time.Second
	for after, want := range map[time.Duration][]time.Duration{
		time.Minute: {0, 90 * s, 180 * s, 270 * s, 360 * s, 420 * s}, // the fifth cut in a row begins a pause of a minute
		0:           {0, 90 * s, 180 * s, 270 * s, 360 * s, 450 * s}, // the second begins one of 50 ms
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t, 1, func(c *aimd.Config) {
				c.Policy, c.Rand, c.MaxAttempts = decides{Retry: true, RetryAfter: 90 * s}, noJitter(), 6
			})
			var at []time.Duration
			start := time.Now()
			require.ErrorIs(t, l.Do(t.Context(), func(context.Context) error {
				at = append(at, time.Since(start))
				return status{HTTP: 503, After: after}
			}), aimd.ErrAttempts)
			require.Equal(t, want, at)
			require.Positive(t, l.Snapshot().Pauses)
		})
	}
}

// The operations that wait when the pause begins are asked too.
func TestAPauseEndsTheWaitsThatCannotBeMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 1, func(c *aimd.Config) { c.MaxWindow, c.PauseMax = 1, -1 })
		to := make(chan got, 4)
		three := func() { // cuts in a row; the fifth pauses all
			for range 3 {
				acquire(t, l, 1)[0].Done(window.Overload)
			}
		}
		three()
		p := acquire(t, l, 1)[0]
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		long, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		queueUp(t.Context(), "next", l.Acquire, to)
		queueUp(short, "short", l.Acquire, to)
		queueUp(long, "long", l.Acquire, to)
		queueUp(short, "short", l.Reacquire, to)
		refused := verdict.Verdict{Meaning: answer.Refused, Wait: 4 * time.Minute}
		p.Settle(refused)
		g := <-to
		require.Equal(t, "short", g.name, "a retry waits at the front")
		g.permit.Settle(refused)
		synctest.Wait()
		g = <-to
		require.Equal(t, "short", g.name)
		require.ErrorIs(t, g.err, context.DeadlineExceeded)
		require.ErrorContains(t, g.err, "paused until ")
		require.Empty(t, to)
		require.Equal(t, 2, l.Snapshot().Queued)
		for _, name := range []string{"next", "long"} {
			g := <-to
			require.Equal(t, name, g.name)
			require.NoError(t, g.err)
			g.permit.Done(window.Success)
		}
		three()
		p = acquire(t, l, 1)[0]
		queueUp(t.Context(), "next", l.Acquire, to)
		queueUp(long, "long", l.Acquire, to)
		refused.Wait = 2 * time.Hour
		require.NoError(t, l.Reconfigure(func(c *aimd.Config) { c.MaxRetryAfter = 2 * time.Hour }))
		p.Settle(refused)
		(<-to).permit.Settle(refused)
		g = <-to // else a deadlock of the bubble: none is left to wait
		require.Equal(t, "long", g.name)
		require.ErrorContains(t, g.err, "paused until ")
	})
}

// docs/quota.md: callers that wait for a quota that is used up are told at once if their deadline or
// MaxWait comes first, those that come later and those that wait already, though an answer is due. Others
// wait for the question that comes MaxRetryAfter after the last send.
func TestAQuotaThatIsUsedUpIsReportedAtOnce(t *testing.T) {
	for _, giveUp := range []time.Duration{0, 30 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t, 2, func(c *aimd.Config) { c.MaxWait, c.Rand = giveUp, noJitter() })
			start := time.Now()
			a, err := l.Begin(t.Context())
			require.NoError(t, err)
			other := acquire(t, l, 1)[0]
			ctx := t.Context()
			if giveUp == 0 {
				within, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				ctx = within
			}
			told := make(chan error)
			go func() {
				_, err := l.Acquire(ctx)
				told <- err
			}()
			synctest.Wait()
			a.Head(nil, answer.Quota{Name: "core", Limit: 60, Left: 0, Reset: time.Hour})
			a.End(nil)
			const why = "paused until 01:00:01: the service's quota is used up, 0 of 60 core left"
			for _, err := range []error{<-told, func() error { _, err := l.Acquire(ctx); return err }()} {
				if giveUp == 0 {
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.EqualError(t, err, why)
				} else {
					require.ErrorIs(t, err, aimd.ErrQuota)
					require.EqualError(t, err, aimd.ErrQuota.Error()+": "+why)
				}
			}
			if giveUp > 0 {
				err := aimd.Each(ctx, l, count(100), succeed)
				require.ErrorIs(t, err, aimd.ErrQuota)
				require.ErrorContains(t, err, "1 of 1 items failed, others were not begun: aimd: out of quota")
			}
			require.Zero(t, time.Since(start))
			other.Done(window.Success)
			require.Contains(t, l.Snapshot().String(), ` quota="core (0 of 60 left)" used-up-until=01:00:01`)
			require.Equal(t, start.Add(time.Hour+time.Second), l.Snapshot().Quotas[0].UsedUpUntil)

			if giveUp == 0 {
				attempttest.Acquire(t, l)
				require.Equal(t, 5*time.Minute, time.Since(start))
				require.NoError(t, l.Reconfigure(func(*aimd.Config) {}))
				_, ok := l.TryAcquire()
				require.True(t, ok, "asked at once")
				_, ok = l.TryAcquire()
				require.False(t, ok)
			}
		})
	}
}

// A refusal whose body breaks off is the reason of the pause, and not how it broke off.
func TestThePauseNamesTheHeadOfTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 8)
		for range 5 {
			a, err := l.Begin(t.Context())
			require.NoError(t, err)
			a.Head(usedUp)
			a.End(io.ErrUnexpectedEOF)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := l.Acquire(ctx)
		require.ErrorContains(t, err, "DAILY_LIMIT_EXCEEDED")
	})
}

// A deadline that ends in the queue says the place, the wait and the window; a cancellation is returned
// as it is.
func TestADeadlineInTheQueueSaysWhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2, func(c *aimd.Config) { c.MaxWindow = 2 })
		p := acquire(t, l, 2)
		to := make(chan got, 10)
		for range 3 {
			queueUp(t.Context(), "before", l.Acquire, to)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		queueUp(ctx, "late", l.Acquire, to)
		queueUp(t.Context(), "after", l.Acquire, to)
		p[0].Done(window.Neutral)
		require.Equal(t, "before", (<-to).name)
		queueUp(t.Context(), "retry", l.Reacquire, to)
		queueUp(t.Context(), "retry", l.Reacquire, to)
		g := <-to
		require.Equal(t, "late", g.name)
		require.ErrorIs(t, g.err, context.DeadlineExceeded)
		require.EqualError(t, g.err, "waited 1.5s in the queue, place 5 of 6, window 2: context deadline exceeded")

		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		queueUp(undated{ctx}, "undated", l.Acquire, to)
		require.Equal(t, context.DeadlineExceeded, (<-to).err, "the limiter did not know when its wait began")
	})
}

// undated is a context that does not say its deadline.
type undated struct{ context.Context }

func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }
