package aimd_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/window"
)

// ways are the ways to begin something within an attempt of the same limiter.
var ways = map[string]func(context.Context, *aimd.Limiter, func(context.Context) error) error{
	"Do": func(ctx context.Context, l *aimd.Limiter, fn func(context.Context) error) error {
		return l.Do(ctx, fn)
	},
	"Each": func(ctx context.Context, l *aimd.Limiter, fn func(context.Context) error) error {
		for _, err := range aimd.Items(ctx, l, count(3), func(ctx context.Context, _ int) error { return fn(ctx) }) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"Begin": func(ctx context.Context, l *aimd.Limiter, fn func(context.Context) error) error {
		a, err := l.Begin(ctx)
		if err != nil {
			return err
		}
		defer a.Drop()
		err = fn(a.Context())
		a.End(err)
		return err
	},
	"a request": func(ctx context.Context, l *aimd.Limiter, fn func(context.Context) error) error {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, fn(r.Context())
		})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://service.example/", nil)
		if err == nil {
			_, err = (&httplimit.Transport{Base: base, Limiter: l}).RoundTrip(req)
		}
		return err
	},
}

// roundTripper is an http.RoundTripper made of a function: that of a request fetches a token with the same limiter, say.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Whoever holds a slot does not wait for another: 64 workers on 2 slots come to their end, each of them
// with one slot, whatever is within what.
func TestNoWayWithinAnotherWaitsForASlot(t *testing.T) {
	for outer, out := range ways {
		for inner, in := range ways {
			t.Run(inner+" within "+outer, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLimiter(t, 2, func(c *aimd.Config) { c.MaxWindow = 2 })
					var running, most, calls atomic.Int64
					var all sync.WaitGroup
					for range 64 {
						all.Go(func() {
							assert.NoError(t, out(t.Context(), l, func(ctx context.Context) error {
								return in(ctx, l, func(ctx context.Context) error {
									_, err := l.Acquire(ctx) // a second slot with the first in hand could be waited for for ever
									assert.EqualError(t, err, "aimd: Acquire within an attempt that has a slot")
									calls.Inc()
									most.Store(max(most.Load(), running.Inc()))
									time.Sleep(time.Second)
									running.Dec()
									return nil
								})
							}))
						})
					}
					all.Wait()
					require.GreaterOrEqual(t, calls.Load(), int64(64))
					require.EqualValues(t, 2, most.Load(), "the items of an Each under a slot are done one at a time")
					attempttest.Idle(t, l)
				})
			})
		}
	}
}

// What fn left running has no slot any more, and waits for its own.
func TestWhatOutlivesItsAttemptWaitsForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 1, func(c *aimd.Config) { c.MaxWindow = 1 })
		within := make(chan error, 1)
		var outlived context.Context
		require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { outlived = ctx; return nil }))
		p := acquire(t, l, 1)[0]
		go func() { within <- l.Do(outlived, func(context.Context) error { return nil }) }()
		synctest.Wait()
		require.Equal(t, 1, l.Snapshot().Queued)
		p.Done(window.Success)
		require.NoError(t, <-within)
	})
}

// docs/design.md, rule 9: "a job whose answers are all 404 is as fast as a job of successes".
func TestAJobOfFinalAnswersIsAsFastAsOneOfSuccesses(t *testing.T) {
	job := func(answer error) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			l, start := newLimiter(t, 20), time.Now()
			var sent atomic.Int64
			for _, err := range aimd.Items(t.Context(), l, count(6400), func(context.Context, int) error {
				time.Sleep(20 * time.Millisecond)
				if sent.Inc()%100 == 0 {
					return status{HTTP: 503}
				}
				return answer
			}) {
				require.Equal(t, answer != nil, err != nil)
			}
			took = time.Since(start)
		})
		return took
	}
	require.InEpsilon(t, job(nil), job(status{HTTP: 404}), 0.25) // a 404 that widens no window takes 20 times as long
}

// nobody is the error of a dial to a port where nobody listens.
var nobody error = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// forgotten is the error of a name that is not found.
var forgotten = &net.DNSError{Err: "no such host", Name: "store.example", IsNotFound: true}

// kinds are an observer, and what it was told of these kinds.
func kinds(of ...event.Kind) (observe func(*aimd.Config), told func() []aimd.Event) {
	var mu sync.Mutex
	var events []aimd.Event
	return func(c *aimd.Config) {
			c.Observer = func(e aimd.Event) {
				mu.Lock()
				defer mu.Unlock()
				for _, k := range of {
					if e.Kind == k {
						events = append(events, e)
					}
				}
			}
		}, func() []aimd.Event {
			mu.Lock()
			defer mu.Unlock()
			got := events
			events = nil
			return got
		}
}

var reset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// A service that never answered: a connection that is refused or closed at once is tried for 10 s, or FirstContact,
// by each item of an Each, and then not at all. A name that does not exist and a TLS that does not fit are final at
// once, the TLS after an answer too. The observer hears why, and the window learns nothing.
func TestAServiceThatWasNeverReached(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		contact time.Duration
		took    time.Duration
	}{
		"nobody":              {err: nobody, took: 10 * time.Second},
		"nobody for a minute": {err: nobody, contact: time.Minute, took: time.Minute},
		"a hang-up":           {err: &url.Error{Op: "Get", URL: "http://localhost:9000", Err: io.EOF}, took: 10 * time.Second},
		"a reset":             {err: reset, took: 10 * time.Second},
		"no such host":        {err: forgotten},
		"a certificate":       {err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}},
		"no TLS":              {err: &url.Error{Op: "Get", URL: "https://localhost", Err: tls.RecordHeaderError{}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				observe, told := kinds(event.Away)
				l := newLimiter(t, 4, observe, func(cfg *aimd.Config) { cfg.FirstContact = c.contact })
				fails := func(context.Context) error { return c.err }
				start, items := time.Now(), 0
				for _, err := range aimd.Items(t.Context(), l, count(20), func(ctx context.Context, _ int) error { return fails(ctx) }) {
					require.ErrorIs(t, err, c.err)
					require.Equal(t, c.took > 0, errors.Is(err, aimd.ErrNeverAnswered))
					items++
				}
				require.Equal(t, 20, items)
				require.ErrorIs(t, l.Do(t.Context(), fails), c.err)
				require.Equal(t, c.took, time.Since(start))
				events := told()
				require.Len(t, events, 1)
				require.Equal(t, c.err, events[0].Err)
				require.EqualValues(t, 4, l.Snapshot().Cwnd)
				if c.took > 0 {
					require.ErrorContains(t, l.Do(t.Context(), fails), "gave up after 1 attempt: aimd: the service has never answered in "+c.took.String())
					return
				}
				require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
				if c.err == error(forgotten) { // for MaxRetryAfter, since the limiter may have other services
					require.ErrorIs(t, l.Do(t.Context(), fails), c.err)
					require.InDelta(t, 5*time.Minute, time.Since(start), float64(31*time.Second))
					return
				}
				require.ErrorIs(t, l.Do(t.Context(), fails), c.err)
				require.Zero(t, time.Since(start))
				require.Len(t, told(), 1)
			})
		})
	}
}

// Work waits for a service that was there, whatever it answered, for one that breaks off later than at once, such as
// an upload, for one that refuses in that way, and for any with FirstContact below 0. The observer hears of each
// absence, once.
func TestAServiceThatIsWaitedFor(t *testing.T) {
	nothing := errors.New("no answer")
	for name, c := range map[string]struct {
		err, answer error
		takes       time.Duration
		contact     time.Duration
		away        int
	}{
		"after a success":   {err: nobody, away: 2},
		"without a name":    {err: forgotten, away: 2},
		"after a 404":       {err: nobody, answer: status{HTTP: 404}, away: 2},
		"after a refusal":   {err: nobody, answer: status{HTTP: 503}, away: 2},
		"after an error":    {err: reset, answer: errors.New("any"), away: 0},
		"slowly":            {err: reset, answer: nothing, takes: time.Second},
		"without a contact": {err: nobody, answer: nothing, contact: -1, away: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				observe, told := kinds(event.Away)
				l := newLimiter(t, 4, observe, func(cfg *aimd.Config) { cfg.FirstContact = c.contact })
				if c.answer != nothing {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					_ = l.Do(ctx, func(context.Context) error { return c.answer })
				}
				for range 2 {
					start := time.Now()
					require.NoError(t, l.Do(t.Context(), func(context.Context) error {
						time.Sleep(c.takes)
						if time.Since(start) < time.Minute {
							return c.err
						}
						return nil
					}))
				}
				require.Len(t, told(), c.away)
			})
		})
	}
}
