package limiter_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
)

// nobody is the error of a dial to a port where nobody listens.
var nobody error = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// kinds are an observer, and what it was told of these kinds.
func kinds(of ...limiter.Kind) (observe func(*limiter.Config), told func() []limiter.Event) {
	var events []limiter.Event
	return func(c *limiter.Config) {
			c.Observer = func(e limiter.Event) {
				for _, k := range of {
					if e.Kind == k {
						events = append(events, e)
					}
				}
			}
		}, func() []limiter.Event {
			got := events
			events = nil
			return got
		}
}

// Until a limiter has had its first answer of any kind, nobody answers there ends after 10 s, for Do and
// for Each, and says so.
func TestAWrongPortEndsWithinTheTimeOfTheFirstContact(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{0: 10 * time.Second, time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t, 4, func(c *limiter.Config) { c.FirstContact = set })
			start := time.Now()
			items := 0
			for _, err := range aimd.Each(t.Context(), l, count(100), func(context.Context, int) error { return nobody }) {
				require.ErrorIs(t, err, attempt.ErrNoContact)
				require.ErrorIs(t, err, syscall.ECONNREFUSED)
				items++
			}
			require.Equal(t, 100, items)
			require.Equal(t, want, time.Since(start))
			err := l.Do(t.Context(), func(context.Context) error { return nobody })
			require.EqualError(t, err, "gave up after 1 attempt: the service has never answered in "+want.String()+
				"; last error: dial tcp: connect: connection refused")
			require.Equal(t, want, time.Since(start), "at once")
		})
	}
}

// After the first answer, whatever it was, work waits for a service that goes away, and the observer
// hears why: once.
func TestAServiceThatGoesAwayEndsNoWork(t *testing.T) {
	for _, answer := range []error{nil, status{code: 404}, status{code: 503}, errors.New("any")} {
		synctest.Test(t, func(t *testing.T) {
			observe, told := kinds(limiter.Away)
			l := newLimiter(t, 4, observe)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_ = l.Do(ctx, func(context.Context) error { return answer })
			cancel()
			for range 2 {
				start := time.Now()
				require.NoError(t, l.Do(t.Context(), func(context.Context) error {
					if time.Since(start) < time.Hour {
						return nobody
					}
					return nil
				}))
				events := told()
				require.Len(t, events, 1)
				require.Equal(t, nobody, events[0].Err)
			}
		})
	}
}

// A wrong classifier is seen: the observer hears, once, of an error that looks like a refusal and is
// neutral and final.
func TestASuspectErrorIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observe, told := kinds(limiter.Suspect)
		l := newLimiter(t, 4, observe)
		for _, text := range []string{"object 4291 of 4290", "no such table"} {
			require.Error(t, l.Do(t.Context(), func(context.Context) error { return errors.New(text) }))
		}
		require.Empty(t, told())
		suspect := errors.New(`POST "/v1": 429 Too Many Requests`)
		for _, err := range []error{suspect, errors.New("Throttling: Rate exceeded"), errors.New("rate limit")} {
			require.Error(t, l.Do(t.Context(), func(context.Context) error { return err }))
		}
		events := told()
		require.Len(t, events, 1)
		require.Equal(t, suspect, events[0].Err)
		require.Equal(t, "suspect", events[0].Kind.String())
	})
}

// A service that never answered: a connection that is refused or closed at once is tried for 10 s. A name
// that does not exist and a TLS that does not fit are final at once, after an answer too. The observer hears
// why, and the window learns nothing.
func TestAServiceThatWasNeverReached(t *testing.T) {
	for name, c := range map[string]struct {
		err        error
		classifier attempt.Classifier
		took       time.Duration
	}{
		"nobody, whose refusal is overload": {err: nobody, classifier: attempt.ConnectionsAsOverload, took: 10 * time.Second},
		"a hang-up":                         {err: &url.Error{Op: "Get", URL: "http://localhost:9000", Err: io.EOF}, took: 10 * time.Second},
		"a reset":                           {err: reset, took: 10 * time.Second},
		"no such host":                      {err: &net.DNSError{Err: "no such host", Name: "store.example", IsNotFound: true}},
		"a certificate":                     {err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}},
		"no TLS":                            {err: &url.Error{Op: "Get", URL: "https://localhost", Err: tls.RecordHeaderError{}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				observe, told := kinds(limiter.Away)
				l := newLimiter(t, 4, observe, func(cfg *limiter.Config) { cfg.Classifier = c.classifier })
				fails := func(context.Context) error { return c.err }
				start := time.Now()
				err := l.Do(t.Context(), fails)
				require.ErrorIs(t, err, c.err)
				require.Equal(t, c.took > 0, errors.Is(err, attempt.ErrNoContact))
				require.Equal(t, c.took, time.Since(start))
				events := told()
				require.Len(t, events, 1)
				require.Equal(t, c.err, events[0].Err)
				require.EqualValues(t, 4, l.State().Cwnd)
				if c.took == 0 {
					require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
					require.ErrorIs(t, l.Do(t.Context(), fails), c.err)
					require.Zero(t, time.Since(start))
					require.Len(t, told(), 1)
				}
			})
		})
	}
}

var reset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// Work waits for a service that was there, for one that breaks off later than at once, such as an upload, for
// one that refuses in that way, and for any with FirstContact below 0.
func TestAServiceThatIsWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		err        error
		answered   bool
		takes      time.Duration
		classifier attempt.Classifier
		contact    time.Duration
	}{
		"after an answer":   {err: reset, answered: true},
		"slowly":            {err: reset, takes: time.Second},
		"as a refusal":      {err: reset, classifier: attempt.FirstOf(attempt.ConnectionsAsOverload, attempt.Classify)},
		"without a contact": {err: nobody, contact: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, 4, func(cfg *limiter.Config) { cfg.Classifier, cfg.FirstContact = c.classifier, c.contact })
				if c.answered {
					require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
				}
				start := time.Now()
				require.NoError(t, l.Do(t.Context(), func(context.Context) error {
					time.Sleep(c.takes)
					if time.Since(start) < time.Minute {
						return c.err
					}
					return nil
				}))
			})
		})
	}
}
