package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/verdict"
)

var _ attempt.Policy = (*retry.Policy)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// status is an error that tells an HTTP status and a Retry-After.
type status = attempttest.Status

// coded is an error with an API's code.
type coded struct {
	status
	text string
}

func (c coded) ErrorCode() string { return c.text }

// unsent is the error of a request that got no slot.
type unsent struct{ error }

func (unsent) Facts() verdict.Facts { return verdict.Facts{Reach: verdict.Unsent} }
func (u unsent) Unwrap() error      { return u.error }

func newPolicy(t testing.TB, c retry.Config) *retry.Policy {
	t.Helper()
	p, err := retry.New(c)
	require.NoError(t, err)
	return p
}

// attempts is the number of attempts that are made of an operation that fails always.
func attempts(t *testing.T, ctx context.Context, p *retry.Policy, cause error) (n int, err error) {
	t.Helper()
	err = retry.Do(ctx, p, func(ctx context.Context) error {
		n++
		require.Equal(t, n, attempt.Number(ctx))
		return cause
	})
	require.ErrorIs(t, err, cause)
	var story *attempt.Error
	require.ErrorAs(t, err, &story)
	require.Equal(t, n, story.Attempts)
	return n, err
}

var (
	dial    = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	proxy   = &net.OpError{Op: "proxyconnect", Net: "tcp", Err: dial}
	reset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	timeout = &net.OpError{Op: "read", Net: "tcp", Err: context.DeadlineExceeded}
)

// Safe Client Behaviour, "Retries: Terms and Conditions". What is to be tried again is, three attempts in
// all; what is not has one.
func TestTermsAndConditions(t *testing.T) {
	for _, c := range []struct {
		term string
		err  error
		// The attempts of idempotent work; of other work; and of other work where timeouts were asked
		// for.
		idempotent, other, timeouts int
	}{
		{"Don't retry on client errors (HTTP 400 errors.)", status{HTTP: 400}, 1, 1, 1},
		{"Don't retry on client errors (HTTP 400 errors.)", status{HTTP: 404}, 1, 1, 1},
		{"of that class by its number only", status{HTTP: 429}, 3, 1, 1},
		{"Do retry on server errors (HTTP 500 errors.)", status{HTTP: 500}, 3, 1, 1},
		{"Do retry on server errors (HTTP 500 errors.)", status{HTTP: 503}, 3, 1, 1},
		{"one that cannot pass", status{HTTP: 501}, 1, 1, 1},
		{"Do retry on network errors.", reset, 3, 1, 1},
		{"Do retry on network errors.", io.ErrUnexpectedEOF, 3, 1, 1},
		{"Do retry on network errors. Nothing was sent", dial, 3, 3, 3},
		{"Do retry on network errors. Nothing was sent", proxy, 3, 3, 3},
		{"Do retry (carefully) on timeouts.", timeout, 3, 1, 3},
		{"Do retry (carefully) on timeouts.", context.DeadlineExceeded, 3, 1, 3},
		{"Do retry (carefully) on timeouts.", status{HTTP: 504}, 3, 1, 3},
		{"Don't retry on out of quota!", coded{status{HTTP: 429}, "dailyLimitExceeded"}, 1, 1, 1},
		{"Don't retry on out of quota!", coded{status{HTTP: 429, After: time.Hour}, "insufficient_quota"}, 1, 1, 1},
		{"Don't retry on out of quota!", status{HTTP: 402}, 1, 1, 1},
		{"Don't retry by default.", errors.New("unheard of"), 1, 1, 1},
		{"a cancellation", context.Canceled, 1, 1, 1},
		{"nothing sent at last, but perhaps before", &attempt.Error{Attempts: 2, Cause: dial}, 3, 1, 1},
		{"no slot, nothing sent", unsent{aimd.ErrQueueFull}, 3, 3, 3},
		{"no slot in time, nothing sent", unsent{context.DeadlineExceeded}, 3, 3, 3},
		{"nothing sent, and nothing will be", unsent{aimd.ErrClosed}, 1, 1, 1},
		{"throttled by the client", unsent{throttle.ErrThrottled}, 1, 1, 1},
		{"throttled by the client", throttle.ErrThrottled, 1, 1, 1},
	} {
		t.Run(fmt.Sprint(c.term, " ", c.err), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, by := range []struct {
					name   string
					ctx    context.Context
					policy *retry.Policy
					want   int
				}{
					{"default", t.Context(), nil, c.other},
					{"context", retry.WithIdempotent(t.Context()), nil, c.idempotent},
					{"config", t.Context(), newPolicy(t, retry.Config{Idempotent: true}), c.idempotent},
					{"timeouts", t.Context(), newPolicy(t, retry.Config{Timeouts: true}), c.timeouts},
				} {
					n, err := attempts(t, by.ctx, by.policy, c.err)
					assert.Equal(t, by.want, n, by.name)
					assert.Equal(t, n == 3, errors.Is(err, aimd.ErrAttempts), by.name)
					assert.Equal(t, n == 1 && c.idempotent > 1, errors.Is(err, retry.ErrNotIdempotent), "%s: %v", by.name, err)
				}
			})
		})
	}
}

func TestDoRunsUntilSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := retry.Value(retry.WithIdempotent(t.Context()), nil, func(ctx context.Context) (int, error) {
			if n := attempt.Number(ctx); n < 3 {
				return n, status{HTTP: 500}
			}
			return 42, nil
		})
		require.NoError(t, err)
		require.Equal(t, 42, got)
		got, err = retry.Value(t.Context(), nil, func(context.Context) (int, error) { return 7, status{HTTP: 500} })
		require.Error(t, err)
		require.Zero(t, got, "no value with an error")
	})
}

// Safe Client Behaviour: "wait(delay * random(.5, 1.5)) ... delay = delay * 2".
func TestTheDefaultBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolicy(t, retry.Config{Idempotent: true, MaxAttempts: 12})
		seen := map[int][]time.Duration{}
		for range 200 {
			last := time.Now()
			_ = retry.Do(t.Context(), p, func(ctx context.Context) error {
				n := attempt.Number(ctx)
				seen[n] = append(seen[n], time.Since(last))
				last = time.Now()
				return status{HTTP: 503}
			})
		}
		for retries := 1; retries < 12; retries++ {
			delay := min(100*time.Millisecond<<(retries-1), 30*time.Second)
			var sum time.Duration
			for _, d := range seen[retries+1] {
				require.GreaterOrEqual(t, d, delay/2)
				require.LessOrEqual(t, d, delay*3/2)
				sum += d
			}
			require.InEpsilon(t, delay, sum/200, 0.1, "the mean before retry %d", retries)
		}
	})
}

// "Exponential Backoff" (Normand, 2015): "(exponential-backoff 1000 2 10000": waits 1 s, 2 s, 4 s,
// 8 s, then one last try; "this one only recurses if the predicate returns true on the exception".
func TestAPredicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("queue capacity")
		p := newPolicy(t, retry.Config{
			Backoff: lastTry, // "defaults!": 1000 2 10000
			If:      func(err error) bool { return errors.Is(err, full) },
		})
		start := time.Now()
		n, err := attempts(t, t.Context(), p, full)
		require.Equal(t, 5, n)
		require.ErrorIs(t, err, aimd.ErrAttempts)
		require.Equal(t, (1+2+4+8)*time.Second, time.Since(start))

		n, err = attempts(t, retry.WithIdempotent(t.Context()), p, status{HTTP: 503})
		require.Equal(t, 1, n, "it decides alone")
		require.EqualError(t, err, "failed after 1 attempt: 503 Service Unavailable")
	})
}

var lastTry = backoff.Exponential{Min: time.Second, Max: 10 * time.Second, LastTry: true}

// A backoff that ends on its own says how many attempts there are; MaxAttempts may still say fewer.
func TestABackoffThatEndsSaysHowOften(t *testing.T) {
	for _, c := range []struct {
		backoff  backoff.Backoff
		most, is int
	}{
		{lastTry, 0, 5},
		{lastTry, 2, 2},
		{backoff.Exponential{}, 0, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPolicy(t, retry.Config{Backoff: c.backoff, MaxAttempts: c.most, Idempotent: true})
			n, err := attempts(t, t.Context(), p, busy)
			require.Error(t, err)
			require.Equal(t, c.is, n)
		})
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	for _, c := range []struct{ asked, bound, least, most time.Duration }{
		{3 * time.Second, 0, 3 * time.Second, 4 * time.Second},
		{time.Second, 0, time.Second, 1500 * time.Millisecond},
		{time.Hour, 0, 5 * time.Minute, 5*time.Minute + time.Second}, // as limiters do
		{time.Hour, time.Minute, time.Minute, time.Minute + time.Second},
		{math.MaxInt64, 24 * time.Hour, 24 * time.Hour, 24*time.Hour + time.Second},
		{time.Nanosecond, 0, 50 * time.Millisecond, 150 * time.Millisecond}, // the backoff is longer
		{-time.Hour, 0, 50 * time.Millisecond, 150 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPolicy(t, retry.Config{Idempotent: true, MaxRetryAfter: c.bound, MaxAttempts: 2})
			seen := map[time.Duration]bool{}
			for range 50 {
				start := time.Now()
				_, _ = attempts(t, t.Context(), p, status{HTTP: 429, After: c.asked})
				took := time.Since(start)
				require.GreaterOrEqual(t, took, c.least)
				require.LessOrEqual(t, took, c.most)
				seen[took] = true
			}
			require.Greater(t, len(seen), 40, "jittered")
		})
	}
}

func TestAnAttemptThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolicy(t, retry.Config{Timeouts: true, AttemptTimeout: time.Second})
		start := time.Now()
		require.NoError(t, retry.Do(t.Context(), p, func(ctx context.Context) error {
			if attempt.Number(ctx) == 1 {
				<-ctx.Done()
				return errors.New("driver: bad connection") // of its own
			}
			return nil
		}))
		require.InDelta(t, 1100*time.Millisecond, time.Since(start), float64(60*time.Millisecond))
	})
}

func TestWrongPoliciesAreNamed(t *testing.T) {
	for want, c := range map[string]retry.Config{
		"retry: MaxRetryAfter: 1µs is not allowed, want a duration from 1ms to 24h0m0s":      {MaxRetryAfter: time.Microsecond},
		"retry: MaxRetryAfter: 48h0m0s is not allowed, want a duration from 1ms to 24h0m0s":  {MaxRetryAfter: 48 * time.Hour},
		"retry: AttemptTimeout: -1s is not allowed, want a positive duration, or 0 for none": {AttemptTimeout: -time.Second},
		"retry: Guards: nil is not allowed":                                                  {Guards: []attempt.Guard{nil}},
	} {
		_, err := retry.New(c)
		assert.EqualError(t, err, want)
	}
	_, err := retry.New(retry.Config{Backoff: backoff.Exponential{Factor: -1}})
	assert.ErrorContains(t, err, "Factor: -1 is not allowed")
}
