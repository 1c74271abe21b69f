package httplimit_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Faults of connections and of requests that users of other clients reported. Each lost work here once.

// A name is not found for ten seconds of a run, as CoreDNS answers after a restart (coredns/kubernetai#25,
// kubernetes/kubernetes#87560). The service had answered before, and nothing was sent.
func TestANameThatIsForgottenInMidRun(t *testing.T) {
	for _, method := range []string{"GET", "PUT", "POST"} {
		inTime(t, method, func(t *testing.T) {
			start := time.Now()
			client := clientOn(base(func(r *http.Request) (*http.Response, error) {
				if d := time.Since(start); d > time.Second && d < 11*time.Second {
					return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}
				}
				return answers(200, nil, text("x"))(r)
			}), narrow(t, aimd.Config{}))
			for range 40 {
				time.Sleep(50 * time.Millisecond)
				req := get(t.Context(), anyURL)
				req.Method = method
				resp, err := client.Do(req)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
			}
		})
	}
}

// A TLS handshake that times out comes before the first byte of the request, so a POST is sent again
// (aptly-dev/aptly#285, prasmussen/gdrive#89).
func TestAHandshakeThatTimesOutSentNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served, dials := 0, 0
		s := pipe2(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		over := s.Client().Transport.(*http.Transport)
		over.TLSHandshakeTimeout = time.Second
		dial := over.DialContext
		over.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials++; dials == 1 {
				silent, _ := net.Pipe()
				return silent, nil
			}
			return dial(ctx, network, address)
		}
		resp, err := clientOn(over, narrow(t, aimd.Config{})).Post(s.URL, "text/plain", strings.NewReader("hello"))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 2, dials)
		require.Equal(t, 1, served)
	})
}

// frames speaks HTTP/2 by hand. It answers a request with 204, or with a GOAWAY that asks for calm.
func frames(c net.Conn, goAway bool) {
	defer c.Close()
	_, _ = io.CopyN(io.Discard, c, 24)                // the preface
	_, _ = c.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // SETTINGS
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, c, int64(head[1])<<8+int64(head[2]))
		switch {
		case head[3] == 4 && head[4]&1 == 0:
			_, _ = c.Write([]byte{0, 0, 0, 4, 1, 0, 0, 0, 0}) // its SETTINGS are noted
		case head[3] == 1 && goAway:
			_, _ = c.Write([]byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xb}) // ENHANCE_YOUR_CALM, no stream is served
		case head[3] == 1:
			_, _ = c.Write(append([]byte{0, 0, 1, 1, 5}, append(head[5:9:9], 0x89)...)) // :status 204
		}
	}
}

// A server that has enough says GOAWAY with ENHANCE_YOUR_CALM. net/http does not send again by itself if that meets
// the first request of a connection (golang/go#76296, zeromicro/go-zero#3250). The server did not look at the POST.
func TestGoAwayOnTheFirstStream(t *testing.T) {
	pattern := serve2(t, nil)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: pattern.TLS.Certificates, NextProtos: []string{"h2"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for connections := 0; ; connections++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go frames(c, connections == 0)
		}
	}()
	over := pattern.Client().Transport.(*http.Transport).Clone()
	t.Cleanup(over.CloseIdleConnections)
	l := narrow(t, aimd.Config{})
	resp, err := clientOn(over, l).Post("https://"+ln.Addr().String(), "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 204, resp.StatusCode)
	require.EqualValues(t, 1, l.Snapshot().Overloads)
}

// lost is a connection over which nothing arrives any more, as after a change of the network.
type lost struct {
	net.Conn
	gone *atomic.Bool
}

func (l lost) Write(b []byte) (int, error) {
	if l.gone.Load() {
		return len(b), nil
	}
	return l.Conn.Write(b)
}

// A connection of HTTP/2 that is lost is found by a ping after 30 s, whose answer has 15 s. Its requests waited until
// TCP gave up, and so did all that came after them.
func TestALostConnectionOfHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pipe2(t, http.HandlerFunc(service))
		over := s.Client().Transport.(*http.Transport).Clone()
		over.HTTP2 = nil
		dial, gone := over.DialContext, atomic.NewBool(false)
		over.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			mine := gone
			gone = atomic.NewBool(false)
			return lost{c, mine}, err
		}
		byDefault(t, over)
		l := attempttest.Limiter(t, aimd.Config{})
		client := httplimit.NewClient(l)
		defer client.CloseIdleConnections()
		first := gone
		require.NoError(t, fetch(t.Context(), client, s.URL, "hello"))
		first.Store(true)
		began := time.Now()
		require.NoError(t, fetch(t.Context(), client, s.URL, "hello"))
		require.InDelta(t, 45, time.Since(began).Seconds(), 2)
	})
}

// A service of 8 slots tells them as a quota: what is free, and that it is whole again when an answer is there. Each "0
// left" closed the limiter, for the Retry-After too: 2.4 to 2.8 times the optimum.
func TestSlotsThatAreToldAsAQuota(t *testing.T) {
	const slots, requests = 8, 400
	for name, law := range map[string]window.NewLaw{"probe": aimd.Probe(), "reno": aimd.Reno(0.9)} {
		for _, takes := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 2 * time.Second} {
			for _, form := range []string{"X-Ratelimit-%s-Requests", "X-Ratelimit-%s"} { // OpenAI's, a bucket; GitHub's, a window
				inTime(t, fmt.Sprintf(form+" %v %s", "", takes, name), func(t *testing.T) {
					l := attempttest.Limiter(t, aimd.Config{Law: law})
					free := make(chan struct{}, slots)
					rt := limited(base(func(r *http.Request) (*http.Response, error) {
						h, status := http.Header{}, 200
						select {
						case free <- struct{}{}:
							time.Sleep(time.Duration((0.8 + 0.4*rand.Float64()) * float64(takes)))
							defer func() { <-free }()
						default:
							status = 429
							h.Set("Retry-After", "1")
							time.Sleep(10 * time.Millisecond)
						}
						h.Set(fmt.Sprintf(form, "Limit"), fmt.Sprint(slots))
						h.Set(fmt.Sprintf(form, "Remaining"), fmt.Sprint(slots-len(free)))
						h.Set(fmt.Sprintf(form, "Reset"), takes.String())
						return answers(status, h, text("x"))(r)
					}), l)
					began := time.Now()
					_, wait := busy(t.Context(), rt, 64, requests)
					wait()
					require.LessOrEqual(t, time.Since(began).Seconds(), 1.35*requests/slots*takes.Seconds())
				})
			}
		}
	}
}

// The clock of a service is set by an hour in mid-run, either way. Its resets and its Retry-After are dates. With the Date
// of the answer nothing is lost or later; without one the client asks each MaxRetryAfter, 5 minutes.
func TestAClockThatIsSet(t *testing.T) {
	const per, window, requests = 60, 10 * time.Second, 300
	for _, set := range []time.Duration{0, time.Hour, -time.Hour} {
		for _, form := range []string{"X-Ratelimit", "Retry-After"} {
			for _, dated := range []bool{true, false} {
				inTime(t, fmt.Sprint(form, set, dated), func(t *testing.T) {
					time.Sleep(10 * 365 * 24 * time.Hour) // epochs are from 2001 on
					l := attempttest.Limiter(t, aimd.Config{})
					began, end, left := time.Now(), time.Now(), 0
					var mu sync.Mutex
					accepted, wait := busy(t.Context(), limited(base(func(r *http.Request) (*http.Response, error) {
						time.Sleep(100 * time.Millisecond)
						mu.Lock()
						defer mu.Unlock()
						now := time.Now()
						if !now.Before(end) {
							left, end = per, now.Add(window)
						}
						clock := now
						if now.Sub(began) > 15*time.Second {
							clock = now.Add(set)
						}
						h, status, reset := http.Header{}, 200, clock.Add(end.Sub(now))
						if left--; left < 0 {
							left, status = 0, 429
						}
						if dated {
							h.Set("Date", clock.UTC().Format(http.TimeFormat))
						}
						if form == "X-Ratelimit" {
							h.Set(form+"-Limit", fmt.Sprint(per))
							h.Set(form+"-Remaining", fmt.Sprint(left))
							h.Set(form+"-Reset", fmt.Sprint(reset.Unix()))
						} else if status == 429 {
							h.Set(form, reset.UTC().Format(http.TimeFormat))
						}
						return answers(status, h, text("x"))(r)
					}), l), 32, requests)
					wait()
					most := 65 * time.Second
					if !dated && set > 0 {
						most += 25 * time.Minute // for 60 each
					}
					t.Logf("%v, %d refused", time.Since(began), l.Snapshot().Overloads)
					require.LessOrEqual(t, time.Since(began), most)
					require.Equal(t, requests, accepted())
					require.Zero(t, l.Snapshot().InFlight+l.Snapshot().Queued)
				})
			}
		}
	}
}

// If-None-Match: * stores the object, and the answer is lost. A second PUT would get 412 for its own object
// (aws/aws-sdk-java-v2#6580). What was certainly not done is sent again.
func TestAConditionalPutIsNotSentTwice(t *testing.T) {
	for name, of := range resenders {
		for _, c := range []struct {
			method, header string
			first, sent    int
		}{
			{"PUT", "If-None-Match", 0, 1}, {"PUT", "If-None-Match", 500, 1}, {"PUT", "If-None-Match", 408, 1},
			{"PUT", "If-None-Match", 429, 2},
			{"PUT", "If-Match", 0, 1}, {"DELETE", "If-Match", 0, 1}, {"DELETE", "If-Unmodified-Since", 0, 1},
			{"PUT", "X-Goog-If-Generation-Match", 0, 1}, {"PUT", "X-Goog-If-Metageneration-Match", 0, 1},
			{"PUT", "If-Modified-Since", 0, 2}, {"GET", "If-None-Match", 0, 2},
		} {
			inTime(t, fmt.Sprint(name, c), func(t *testing.T) {
				s := &script{statuses: []int{c.first, 200}}
				req, err := http.NewRequestWithContext(t.Context(), c.method, anyURL, strings.NewReader("mine"))
				require.NoError(t, err)
				req.Header.Set(c.header, "*")
				resp, err := of(t, s, narrow(t, aimd.Config{FirstContact: -1})).RoundTrip(req)
				if err == nil {
					require.NoError(t, resp.Body.Close())
				}
				require.Len(t, s.requests, c.sent)
			})
		}
	}
}

// A nonce is taken once: the same bytes again get 400 badNonce, and the caller never hears of the limit
// (go-acme/lego#2679). What was not sent is sent again.
func TestANonceIsSentOnce(t *testing.T) {
	for name, of := range resenders {
		for _, c := range []struct {
			header, value string
			once          bool
		}{
			{"Content-Type", "application/jose+json", true}, {"Content-Type", "application/jose+json; charset=utf-8", true},
			{"Content-Type", "application/json", false}, {"Dpop", "eyJ0eXAiOiJkcG9wK2p3dCJ9", true},
			{"Authorization", `oauth realm="x", oauth_nonce="7d8f3e4a"`, true}, {"Authorization", `OAuth 2-token`, false},
			{"Authorization", "Bearer oauth_nonce", false}, {"By", "retry.WithOnce", true},
		} {
			for _, status := range []int{429, 503, 403} {
				inTime(t, fmt.Sprint(name, c, status), func(t *testing.T) {
					s := &script{statuses: []int{status, 400}, header: http.Header{"Retry-After": {"120"}}}
					dials := 0
					over := base(func(r *http.Request) (*http.Response, error) {
						if dials++; dials == 1 {
							return nil, refusedDial
						}
						return s.RoundTrip(r)
					})
					req, err := http.NewRequestWithContext(t.Context(), "POST", anyURL, strings.NewReader("nonce"))
					require.NoError(t, err)
					if req.Header.Set(c.header, c.value); c.header == "By" {
						req = req.WithContext(retry.WithOnce(retry.WithIdempotent(t.Context())))
					}
					resp, err := of(t, over, narrow(t, aimd.Config{})).RoundTrip(req)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					again := !c.once && status != 503
					require.Equal(t, again, len(s.requests) > 1)
					require.Equal(t, !again, resp.StatusCode == status, "the caller sees the refusal")
				})
			}
		}
	}
}

// Others keep a bucket of 10, one a second, empty for
// two minutes; its headers are those of a window. Then all of it is for the client.
func TestABucketThatOthersKeptEmptyIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{})
		began, at, left := time.Now(), time.Now(), 10.
		ctx, cancel := context.WithCancel(t.Context())
		accepted, wait := busy(ctx, limited(reporting(50*time.Millisecond, 0, func() (int, []any) {
			now := time.Now()
			left, at = min(10, left+now.Sub(at).Seconds()), now
			if since := now.Sub(began); since > time.Second && since < 2*time.Minute {
				left = min(left, .5)
			}
			status := http.StatusTooManyRequests
			if left >= 1 {
				left--
				status = http.StatusOK
			}
			return status, []any{"RateLimit-Limit", 10, "RateLimit-Remaining", math.Floor(left), "RateLimit-Reset", math.Ceil(10 - left)}
		}), l), 8, 0)
		time.Sleep(2 * time.Minute)
		before := accepted()
		time.Sleep(3 * time.Hour)
		t.Logf("%d of 10 800 accepted", accepted()-before)
		assert.Greater(t, accepted()-before, 8000, "of 10 800: %v", l.Snapshot())
		cancel()
		wait()
	})
}

// Requests within Do, with a client of the same limiter, use the slot of Do, and leave nothing behind.
func TestReportsWithinDoLeaveNothing(t *testing.T) {
	l := attempttest.Limiter(t, aimd.Config{})
	rt := limited(reporting(0, 0, func() (int, []any) {
		return 200, []any{"X-RateLimit-Limit", 1000000, "X-RateLimit-Remaining", 999999, "X-RateLimit-Reset", 3600}
	}), l)
	work := func() {
		for range 1000 {
			require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
				for range 5 {
					resp, err := rt.RoundTrip(get(ctx, anyURL))
					if err != nil {
						return err
					}
					resp.Body.Close()
				}
				return nil
			}))
		}
	}
	var before, after runtime.MemStats
	work()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 4 {
		work()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(64<<10))
	runtime.KeepAlive(rt)
	require.Len(t, l.Snapshot().Quotas, 1)
}

// A Read or a classifier that panics left the answer open, and its connection for ever: a server recovers, and each
// request leaked a connection.
func TestAPanicOfTheProgramsCodeClosesTheAnswer(t *testing.T) {
	reads := func(answer.Answer) answer.Answer { panic("no") }
	classifies := aimd.Config{Classifier: func(error) verdict.Verdict { panic("no") }}
	opened, closed := 0, 0
	refuses := base(func(r *http.Request) (*http.Response, error) {
		opened++
		return answers(503, nil, closing{strings.NewReader("x"), &closed})(r)
	})
	l, odd := narrow(t, aimd.Config{}), narrow(t, classifies)
	var retriers []http.RoundTripper
	for _, under := range []*httplimit.Transport{{Base: refuses, Limiter: l, Read: reads}, {Base: refuses, Limiter: odd}} {
		r, err := httplimit.NewRetrier(under, nil)
		require.NoError(t, err)
		retriers = append(retriers, r)
	}
	for _, over := range []http.RoundTripper{
		&httplimit.Transport{Base: refuses, Limiter: l, Read: reads}, limited(refuses, odd), clientOn(refuses, odd).Transport, retriers[0], retriers[1],
	} {
		require.PanicsWithValue(t, "no", func() { _, _ = over.RoundTrip(get(t.Context(), anyURL)) })
		require.Equal(t, opened, closed)
	}
	require.Equal(t, 5, opened)
	require.Zero(t, l.Snapshot().InFlight+odd.Snapshot().InFlight)
}

type closing struct {
	io.Reader
	times *int
}

func (c closing) Close() error {
	*c.times++
	return nil
}

// A body that is closed while it is read, as net/http allows, was a data race with ReadUsage.
func TestABodyIsClosedWhileItsUsageIsRead(t *testing.T) {
	l := narrow(t, aimd.Config{})
	out, in := io.Pipe()
	over := &httplimit.Transport{ReadUsage: true, Limiter: l, Base: base(answers(200, http.Header{"Content-Type": {"application/json"}}, out))}
	resp, err := over.RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	var all sync.WaitGroup
	begun := make(chan struct{})
	all.Go(func() {
		_, err := in.Write([]byte("{"))
		assert.NoError(t, err)
		close(begun)
		for err == nil {
			_, err = in.Write([]byte(" "))
		}
	})
	all.Go(func() { _, _ = io.Copy(io.Discard, resp.Body) })
	<-begun
	require.NoError(t, resp.Body.Close())
	all.Wait()
	require.Zero(t, l.Snapshot().InFlight)
}

// A body that the program cannot read, a download that broke off for instance, says nothing about the service. It was a
// refusal, sent again for a quarter of an hour. What is read after the base has closed the body is no cause.
func TestABodyThatCannotBeRead(t *testing.T) {
	for cause, refused := range map[error]window.Outcome{io.ErrUnexpectedEOF: window.Overload, syscall.ECONNRESET: window.Overload, os.ErrDeadlineExceeded: window.Timeout} {
		for _, closed := range []bool{false, true} {
			inTime(t, fmt.Sprint(cause, closed), func(t *testing.T) {
				l, asked := watch(t, aimd.Config{}), 0
				req := get(t.Context(), anyURL)
				req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(cause)), nil }
				req.Body, req.ContentLength = io.NopCloser(iotest.ErrReader(cause)), -1
				_, err := clientOn(base(func(r *http.Request) (*http.Response, error) {
					if asked++; asked > 1 {
						return empty(r)
					}
					if closed {
						_ = r.Body.Close()
					}
					_, err := io.ReadAll(r.Body)
					return nil, fmt.Errorf("readfrom: %w", err)
				}), l.Limiter).Do(req)
				if !closed {
					require.ErrorIs(t, err, cause)
					l.ended(window.Neutral)
					return
				}
				require.NoError(t, err)
				l.ended(refused)
				l.ended(window.Success)
			})
		}
	}
}

// Callers end the context before they close the body, since the head is all that they need. None of these answers counted, so a
// refusal in a hundred narrowed the window of a service that takes all else to a request each 15 s.
func TestAnAnswerIsOneIfItsCallerHasEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		client, start := clientOn(base(func(r *http.Request) (*http.Response, error) {
			time.Sleep(50 * time.Millisecond)
			if asked.Inc()%100 == 0 {
				return answers(429, nil, text(""))(r)
			}
			return answers(200, nil, text("x"))(r)
		}), attempttest.Limiter(t, aimd.Config{})), time.Now()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for range 200 {
					ctx, cancel := context.WithCancel(t.Context())
					resp, err := client.Do(get(ctx, anyURL))
					cancel()
					if assert.NoError(t, err) {
						assert.NoError(t, resp.Body.Close())
					}
				}
			})
		}
		all.Wait()
		require.Less(t, time.Since(start), 15*time.Second) // without refusals 10 s; it was 3 minutes
	})
}

// Without a name, all keys had one limiter, under the key "".
func TestByNeedsAName(t *testing.T) {
	_, limiters, _ := perHost(t, empty, aimd.KeyedConfig{})
	require.PanicsWithValue(t, "httplimit: By: 0 names are not allowed, want 1 at least",
		func() { httplimit.By(limiters) })
}

// A service closes the connections that it has no room for. A broken connection may have any cause, so one cuts no
// window. docs/recipes.md has the classifier of a service that hangs up for load.
func TestAServiceThatHangsUpForLoad(t *testing.T) {
	hungUp := func(err error) verdict.Verdict {
		if verdict.CutOff(err) {
			return verdict.Verdict{Meaning: answer.Refused}
		}
		return verdict.Verdict{}
	}
	run := func(c verdict.Classifier) (refused int, cuts uint64) {
		synctest.Test(t, func(t *testing.T) {
			inFlight := 0
			var mu sync.Mutex
			serve := base(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				inFlight++
				full := inFlight > 24
				if full {
					refused++
				}
				mu.Unlock()
				time.Sleep(30 * time.Millisecond)
				mu.Lock()
				inFlight--
				mu.Unlock()
				if full {
					return nil, io.EOF
				}
				return answers(200, nil, text("x"))(r)
			})
			l := attempttest.Limiter(t, aimd.Config{Classifier: c})
			require.NoError(t, aimd.Each(t.Context(), l, slices.Values(make([]int, 2000)), func(ctx context.Context, _ int) error {
				_, err := serve(get(ctx, anyURL))
				return err
			}))
			cuts = l.Snapshot().Cuts
		})
		return refused, cuts
	}
	few, cuts := run(verdict.FirstOf(hungUp, verdict.Classify))
	require.Positive(t, cuts)
	require.Less(t, few, 450) // of 2000: 270 to 340 in 12 runs
}
