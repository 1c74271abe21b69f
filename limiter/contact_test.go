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

// A refusal by name, such as gRPC's UNAVAILABLE, tells nothing of the load then.
func TestNobodyNarrowsNoWindowBeforeTheFirstContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 4, func(c *limiter.Config) { c.Classifier = attempt.ConnectionsAsOverload })
		require.ErrorIs(t, l.Do(t.Context(), func(context.Context) error { return nobody }), attempt.ErrNoContact)
		require.EqualValues(t, 4, l.State().Cwnd)
	})
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

func TestAServiceThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 4, func(c *limiter.Config) { c.FirstContact = -1 })
		start := time.Now()
		require.NoError(t, l.Do(t.Context(), func(context.Context) error {
			if time.Since(start) < time.Hour {
				return nobody
			}
			return nil
		}))
	})
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

// What listens and hangs up is nobody too: a tunnel or a proxy with nothing behind it.
func TestAServiceThatHangsUpIsNobody(t *testing.T) {
	for _, err := range []error{
		&url.Error{Op: "Get", URL: "http://localhost:9000", Err: io.EOF},
		&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
	} {
		synctest.Test(t, func(t *testing.T) {
			observe, told := kinds(limiter.Away)
			l := newLimiter(t, 4, observe)
			start := time.Now()
			got := l.Do(t.Context(), func(context.Context) error { return err })
			require.ErrorIs(t, got, attempt.ErrNoContact)
			require.ErrorIs(t, got, err)
			require.Equal(t, 10*time.Second, time.Since(start))
			require.Len(t, told(), 1)
		})
	}
}

// But not a service that was there, nor what breaks off later than at once, such as an upload, nor who is
// said to refuse in that way.
func TestAServiceThatBreaksOffIsThere(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for name, c := range map[string]struct {
		answered   bool
		takes      time.Duration
		classifier attempt.Classifier
	}{
		"after an answer": {answered: true},
		"slowly":          {takes: time.Second},
		"as a refusal":    {classifier: attempt.FirstOf(attempt.ConnectionsAsOverload, attempt.Classify)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, 4, func(cfg *limiter.Config) { cfg.Classifier = c.classifier })
				if c.answered {
					require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
				}
				start := time.Now()
				require.NoError(t, l.Do(t.Context(), func(context.Context) error {
					time.Sleep(c.takes)
					if time.Since(start) < time.Minute {
						return reset
					}
					return nil
				}))
			})
		})
	}
}

// A name that does not exist is final at once, before the first answer and after it.
func TestANameThatDoesNotExist(t *testing.T) {
	unknown := &net.DNSError{Err: "no such host", Name: "store.example", IsNotFound: true}
	synctest.Test(t, func(t *testing.T) {
		observe, told := kinds(limiter.Away)
		l := newLimiter(t, 4, observe)
		start := time.Now()
		require.ErrorContains(t, l.Do(t.Context(), func(context.Context) error { return unknown }), "no such host")
		require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
		require.ErrorContains(t, l.Do(t.Context(), func(context.Context) error { return unknown }), "no such host")
		require.Equal(t, start, time.Now())
		require.Len(t, told(), 2)
	})
}

// A TLS that does not fit is final at once, and the event has the reason.
func TestATLSThatDoesNotFit(t *testing.T) {
	for _, wrong := range []error{
		&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		&url.Error{Op: "Get", URL: "https://localhost", Err: tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			observe, told := kinds(limiter.Away)
			l := newLimiter(t, 4, observe)
			start := time.Now()
			require.ErrorIs(t, l.Do(t.Context(), func(context.Context) error { return wrong }), wrong)
			require.Equal(t, start, time.Now())
			events := told()
			require.Len(t, events, 1)
			require.Equal(t, wrong, events[0].Err)
			require.EqualValues(t, 4, l.State().Cwnd)
		})
	}
}
