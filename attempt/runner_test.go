package attempt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/verdict"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/reason"
	"github.com/aimd-go/aimd/window"
)

func TestARetryGoesToTheFront(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		r := &attempt.Runner{Slots: d}
		fn, _ := failing(2, status{HTTP: 503})
		require.NoError(t, r.Do(t.Context(), fn))
		first, err := new(attempt.Runner).Begin(t.Context())
		require.NoError(t, err)
		second, err := first.Next(t.Context())
		require.NoError(t, err)
		for number, ctx := range []context.Context{t.Context(), 2: second.Context()} {
			if ctx == nil {
				continue
			}
			a, err := r.Begin(ctx)
			require.NoError(t, err)
			require.Equal(t, number, attempt.Number(a.Context()))
			a.End(nil)
		}
		require.Equal(t, []string{"back", "front", "front", "back", "front"}, d.taken)
	})
}

// A runner without a limiter.
func TestARunnerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn, calls := failing(9, status{HTTP: 503})
		require.EqualError(t, new(attempt.Runner).Do(t.Context(), fn), "failed after 1 attempt: 503 Service Unavailable",
			"nothing is tried again without a policy")
		require.Equal(t, 1, *calls)

		var w warden
		p := &policy{decide: func(f attempt.Failure) attempt.Decision {
			return attempt.Decision{Retry: f.Attempt < 4, Delay: time.Second, Reason: reason.ErrAttempts}
		}}
		r := &attempt.Runner{Policy: p, Guards: []attempt.Guard{&w}, AttemptTimeout: time.Minute}
		fn, calls = failing(9, status{HTTP: 503})
		start := time.Now()
		require.ErrorIs(t, r.Do(t.Context(), fn), reason.ErrAttempts)
		require.Equal(t, 4, *calls)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, []int{1, 2, 3, 4}, []int{p.told[0].Backoff, p.told[1].Backoff, p.told[2].Backoff, p.told[3].Backoff},
			"no window paces it")
		require.Zero(t, w.open)

		require.ErrorIs(t, r.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), reason.ErrAttempts)
		require.Equal(t, window.Timeout, p.told[len(p.told)-1].Verdict.Outcome())

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.EqualError(t, r.Do(ctx, fn), "gave up before the first attempt: context canceled")
		require.EqualError(t, new(attempt.Runner).Do(ctx, fn), "gave up before the first attempt: context canceled")
		ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, r.Do(ctx, fn), context.DeadlineExceeded)
		require.Zero(t, w.open)
	})
}

// What is begun within an attempt that has the slot takes no other, asks no guard again and settles
// nothing; its retries are asked for, and back off from the first on, since no window paces them.
func TestAnOperationUnderASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, w := newDesk(1), &warden{}
		r := &attempt.Runner{Slots: d, Guards: []attempt.Guard{w}}
		start := time.Now()
		require.NoError(t, r.Do(t.Context(), func(ctx context.Context) error {
			a, err := r.Begin(ctx)
			require.NoError(t, err)
			require.True(t, attempt.Holds(a.Context(), d))
			require.Equal(t, overload, a.End(status{HTTP: 503}))
			fn, _ := failing(2, status{HTTP: 503})
			return r.Do(ctx, fn)
		}))
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, []string{"back"}, d.taken)
		require.Equal(t, []verdict.Verdict{{Meaning: answer.Success}}, d.settled)
		require.Equal(t, []string{"admitted 1", "admitted 2", "overload", "admitted 3", "success", "success"}, w.log)
		require.False(t, attempt.Holds(t.Context(), d))
	})
}

// A limiter that is closed lets what runs come to its end, and no more.
func TestAnOperationUnderASlotOfAClosedLimiter(t *testing.T) {
	d := newDesk(1)
	p := &policy{decide: func(attempt.Failure) attempt.Decision { return attempt.Decision{Retry: true} }}
	r := &attempt.Runner{Slots: d, Policy: p}
	err := r.Do(t.Context(), func(ctx context.Context) error {
		close(d.shut)
		return r.Do(ctx, func(context.Context) error { return status{HTTP: 503} })
	})
	require.ErrorIs(t, err, errShut)
	var story *attempt.Error
	require.ErrorAs(t, err, &story)
	require.Equal(t, 1, story.Attempts)
}

// Slots of two limiters within one another.
func TestTheSlotsOfTwo(t *testing.T) {
	one, other, third := newDesk(1), newDesk(1), newDesk(1)
	a, err := (&attempt.Runner{Slots: one}).Begin(t.Context())
	require.NoError(t, err)
	c, err := (&attempt.Runner{Slots: third}).Begin(a.Context())
	require.NoError(t, err)
	b, err := (&attempt.Runner{Slots: other}).Begin(c.Context())
	require.NoError(t, err)
	for _, d := range []*desk{one, other, third} {
		require.True(t, attempt.Holds(b.Context(), d))
	}
	require.False(t, attempt.Holds(a.Context(), other))
	a.End(nil)
	require.False(t, attempt.Holds(b.Context(), one), "it has ended")
	require.True(t, attempt.Holds(b.Context(), other))
	c.End(nil)
	b.End(nil)
}

// Where an SDK decides on retries, its own delay counts.
func TestTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, w := newDesk(1), &warden{}
		first, err := (&attempt.Runner{Slots: d, Guards: []attempt.Guard{w}}).Begin(t.Context())
		require.NoError(t, err)
		var a = first
		a.End(status{HTTP: 503, After: 10 * time.Second})
		start := time.Now()
		time.Sleep(4 * time.Second)
		a, err = a.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, 10*time.Second, time.Since(start))
		require.Equal(t, 2, attempt.Number(a.Context()))
		a.Drop()
		start = time.Now()
		a, err = a.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, time.Since(start), "the second backoff")
		a.End(nil)
		require.Equal(t, []string{"back", "front", "front"}, d.taken)
		require.Equal(t, []string{"admitted 0", "overload", "admitted 2", "none", "admitted 3", "success"}, w.log)

		d.giveUp = time.Minute
		a, err = (&attempt.Runner{Slots: d}).Begin(t.Context())
		require.NoError(t, err)
		a.End(status{HTTP: 503, After: time.Hour})
		_, err = a.Next(t.Context())
		require.ErrorIs(t, err, reason.ErrWait)
	})
}

func TestDecide(t *testing.T) {
	enough := errors.New("enough")
	refused := attempt.Failure{Attempt: 3, Err: status{HTTP: 503}, Verdict: after(overload, time.Minute)}
	failed := attempt.Failure{Attempt: 3, Err: status{HTTP: 500}, Verdict: again}
	var told attempt.Failure
	says := func(d attempt.Decision) func(attempt.Failure) attempt.Decision {
		return func(f attempt.Failure) attempt.Decision { told = f; return d }
	}
	for _, c := range []struct {
		name    string
		f       attempt.Failure
		policy  func(attempt.Failure) attempt.Decision
		paced   bool
		most    int
		want    attempt.Decision
		backoff int
	}{
		{"nobody tries again", refused, nil, false, 0, attempt.Decision{}, 0},
		{"the window paces", refused, nil, true, 0, attempt.Decision{Retry: true, RetryAfter: time.Minute}, 0},
		{"an own backoff", failed, nil, true, 4, attempt.Decision{Retry: true, Delay: 3 * time.Second}, 0},
		{"final", attempt.Failure{Attempt: 1, Verdict: final}, nil, true, 0, attempt.Decision{}, 0},
		{"final at the limit", attempt.Failure{Attempt: 3, Verdict: final}, nil, true, 3, attempt.Decision{}, 0},
		{"the limit", refused, nil, true, 3, attempt.Decision{Reason: reason.ErrAttempts}, 0},
		{"a limit that was lowered", refused, nil, true, 2, attempt.Decision{Reason: reason.ErrAttempts}, 0},
		{"a policy alone", refused, says(attempt.Decision{Retry: true, Delay: 5}), false, 0, attempt.Decision{Retry: true, Delay: 5}, 3},
		{"a policy in a limiter", refused, says(attempt.Decision{Retry: true}), true, 4, attempt.Decision{Retry: true}, 0},
		{"an error of no load", failed, says(attempt.Decision{Retry: true}), true, 0, attempt.Decision{Retry: true}, 3},
		{"the verdict's reason", attempt.Failure{Attempt: 1, Verdict: verdict.Verdict{Reason: enough}}, says(attempt.Decision{Retry: true}), true, 0, attempt.Decision{Reason: enough}, 0},
		{"a policy's no", refused, says(attempt.Decision{}), true, 0, attempt.Decision{}, 0},
		{"a policy's reason", refused, says(attempt.Decision{Reason: enough}), true, 3, attempt.Decision{Reason: enough}, 0},
	} {
		told = attempt.Failure{}
		waits := attempt.Waits{Backoffs: c.f.Attempt}
		if c.paced {
			waits = newDesk(0).Waits(c.f.Attempt, c.f.Verdict.Outcome(), c.f.Verdict, nil)
		}
		assert.Equal(t, c.want, attempt.Limits{Attempts: c.most}.Decide(c.f, c.paced && c.f.Verdict.Retry(), c.policy, waits), c.name)
		assert.Equal(t, c.backoff, told.Backoff, c.name)
	}
}

// A pause of all operations that contains the Retry-After takes its place, and another wait stays.
func TestDecideByAPause(t *testing.T) {
	refused := attempt.Failure{Attempt: 1, Err: status{HTTP: 503}, Verdict: after(overload, time.Minute)}
	waits := attempt.Waits{Backoff: time.Second, Obeyed: 61 * time.Second}
	paused := attempt.Waits{Backoff: time.Second, Obeyed: 61 * time.Second, Pause: time.Minute}
	obeys := func(attempt.Failure) attempt.Decision {
		return attempt.Decision{Retry: true, RetryAfter: 90 * time.Second}
	}
	ignores := func(attempt.Failure) attempt.Decision { return attempt.Decision{Retry: true, Delay: 2 * time.Second} }
	tooLong := func(most time.Duration) error {
		return attempt.Limits{MaxWait: most}.Decide(refused, true, nil, paused).Reason
	}
	for name, c := range map[string]struct {
		policy func(attempt.Failure) attempt.Decision
		waits  attempt.Waits
		want   attempt.Decision
	}{
		"no pause":                   {nil, waits, attempt.Decision{Retry: true, Delay: time.Second, RetryAfter: 61 * time.Second}},
		"a pause":                    {nil, paused, attempt.Decision{Retry: true, Delay: time.Second, RetryAfter: time.Minute}},
		"a policy without a pause":   {obeys, waits, attempt.Decision{Retry: true, RetryAfter: 90 * time.Second}},
		"a policy in a pause":        {obeys, paused, attempt.Decision{Retry: true, RetryAfter: time.Minute}},
		"a policy that obeys nobody": {ignores, paused, attempt.Decision{Retry: true, Delay: 2 * time.Second}},
	} {
		assert.Equal(t, c.want, attempt.Limits{}.Decide(refused, true, c.policy, c.waits), name)
	}
	assert.NoError(t, tooLong(61*time.Second))
	assert.EqualError(t, tooLong(61*time.Second-1), "aimd: wait too long: 1m1s is longer than 1m0.999999999s (MaxWait)")
}

// refuseFrom refuses attempts from that number on.
func refuseFrom(n int) func(context.Context, int) error {
	return func(_ context.Context, attempt int) error {
		if attempt >= n {
			return errRefused
		}
		return nil
	}
}

var errRefused = errors.New("refused by a guard")

// What a guard refuses fails at once, "never a tighter loop", and never after the delay: the
// Retry-After here is an hour.
func TestARefusalEndsTheOperationAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &warden{}, &warden{refuse: refuseFrom(2)}
		r := &attempt.Runner{Slots: newDesk(1), Guards: []attempt.Guard{first, second}}
		cause := status{HTTP: 503, After: time.Hour}
		fn, calls := failing(9, cause)
		start := time.Now()
		err := r.Do(t.Context(), fn)
		require.EqualError(t, err, "gave up after 1 attempt: refused by a guard; last error: 503 Service Unavailable")
		require.ErrorIs(t, err, errRefused)
		require.ErrorIs(t, err, cause)
		require.Zero(t, time.Since(start))
		require.Equal(t, []string{"admitted 1", "overload", "admitted 2", "none"}, first.log, "the one before hears that it was not sent")
		require.Equal(t, []string{"admitted 1", "overload", "refused 2"}, second.log)

		second.refuse = refuseFrom(1)
		require.EqualError(t, r.Do(t.Context(), fn), "gave up before the first attempt: refused by a guard")
		require.Equal(t, 1, *calls)
		require.Zero(t, first.open+second.open)

		second.refuse = nil
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.ErrorIs(t, r.Do(ctx, func(context.Context) error { return cause }), context.Canceled)
		require.Equal(t, "none", second.log[len(second.log)-1], "the context ended while it backed off")
		asked := len(second.log)
		require.ErrorIs(t, r.Do(ctx, fn), context.Canceled)
		require.Len(t, second.log, asked, "nobody is asked when the context has ended")
		require.Zero(t, first.open+second.open)
	})
}

// The longer of the policy's own delay and the Retry-After that it obeys; no slot is held
// meanwhile. The policy's word counts, and not the classifier's.
func TestAPolicyDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason, cause := errors.New("three is enough"), status{HTTP: 404}
		says := []attempt.Decision{
			{Retry: true, Delay: time.Minute, RetryAfter: time.Second},
			{Retry: true, Delay: time.Second, RetryAfter: 2 * time.Minute},
			{Reason: reason},
		}
		d, p := newDesk(1), &policy{}
		p.decide = func(f attempt.Failure) attempt.Decision {
			require.Len(t, d.free, 1)
			return says[f.Attempt-1]
		}
		r := &attempt.Runner{Slots: d, Policy: p}
		err := r.Do(t.Context(), func(context.Context) error { time.Sleep(time.Second); return cause })
		require.EqualError(t, err, "gave up after 3 attempts: three is enough; last error: 404 Not Found")
		require.ErrorIs(t, err, reason)
		v := verdict.Verdict{Meaning: answer.Fault}
		require.Equal(t, []attempt.Failure{
			{Attempt: 1, Backoff: 1, Err: cause, Verdict: v, Elapsed: time.Second},
			{Attempt: 2, Backoff: 2, Err: cause, Verdict: v, Last: time.Minute, Elapsed: time.Minute + 2*time.Second},
			{Attempt: 3, Backoff: 3, Err: cause, Verdict: v, Last: time.Second, Elapsed: 3*time.Minute + 3*time.Second},
		}, p.told)
	})
}
