package httplimit_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
)

// byDefault makes a round tripper the default one until the test ends.
func byDefault(t *testing.T, rt http.RoundTripper) {
	kept := http.DefaultTransport
	http.DefaultTransport = rt
	t.Cleanup(func() { http.DefaultTransport = kept })
}

// clientPerHost is PerHost with the limiter for each host, as a Client.
func clientPerHost(t *testing.T, base http.RoundTripper, l *aimd.Limiter, opts ...httplimit.Option) *http.Client {
	t.Helper()
	tr, err := httplimit.PerHost(base, func(string) (*aimd.Limiter, error) { return l, nil }, aimd.KeyedConfig{}, opts...)
	require.NoError(t, err)
	return tr.Client()
}

// 1920 requests at a window of 32 use 32 connections, since as many stay open between the requests.
func TestConnectionsAreKept(t *testing.T) {
	for name, of := range map[string]func(*aimd.Limiter) *http.Client{
		"Client":  func(l *aimd.Limiter) *http.Client { return httplimit.Client(l) },
		"New":     func(l *aimd.Limiter) *http.Client { return &http.Client{Transport: httplimit.New(nil, l)} },
		"PerHost": func(l *aimd.Limiter) *http.Client { return clientPerHost(t, nil, l) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") }))
				to := s.Client().Transport.(*http.Transport).DialContext
				var dials atomic.Int32
				byDefault(t, &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
					dials.Add(1)
					return to(ctx, network, addr)
				}})
				l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5), InitialWindow: 32, Rules: aimd.Rules{MaxWindow: 32}})
				require.NoError(t, err)
				client := of(l)
				defer client.CloseIdleConnections()
				var all sync.WaitGroup
				for range 32 {
					all.Go(func() {
						for range 60 {
							time.Sleep(time.Millisecond) // all answers are read, and the connections idle
							resp, err := client.Get(s.URL)
							if assert.NoError(t, err) {
								_, _ = io.Copy(io.Discard, resp.Body)
								assert.NoError(t, resp.Body.Close())
							}
						}
					})
				}
				all.Wait()
				require.EqualValues(t, 1920, l.Snapshot().Successes)
				require.LessOrEqual(t, dials.Load(), int32(32))
			})
		})
	}
}

// A default that is no http.Transport is used as it is.
func TestADefaultOfAnotherKind(t *testing.T) {
	byDefault(t, answers(200, nil, http.NoBody))
	resp, err := httplimit.Client(narrow(t, aimd.Config{})).Do(get(t.Context(), anyURL))
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
}

// The base sends, with its proxy.
func TestABaseWithAProxy(t *testing.T) {
	proxy := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "for "+r.URL.Host) }))
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	base := &http.Transport{Proxy: http.ProxyURL(at)}
	defer base.CloseIdleConnections()
	for name, client := range map[string]*http.Client{
		"Client": httplimit.Client(narrow(t, aimd.Config{}), httplimit.Base(base)), "PerHost": clientPerHost(t, base, narrow(t, aimd.Config{})),
		"PerHost by the option": clientPerHost(t, nil, narrow(t, aimd.Config{}), httplimit.Base(base)),
	} {
		resp, err := client.Get("http://service.example/")
		require.NoError(t, err, name)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "for service.example", string(text), name)
	}
}

// The base knows a private CA, the default does not.
func TestABaseWithAPrivateCA(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that failed
	s.StartTLS()
	t.Cleanup(s.Close)
	resp, err := httplimit.Client(narrow(t, aimd.Config{}), httplimit.Base(s.Client().Transport)).Get(s.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = httplimit.Client(narrow(t, aimd.Config{Rules: aimd.Rules{MaxAttempts: 1}})).Do(get(ctx, s.URL))
	require.ErrorContains(t, err, "certificate")
}

// A POST that was refused with 429 was not done, so each way that sends again sends it again.
func TestAPostAfter429(t *testing.T) {
	for name, of := range map[string]func(http.RoundTripper, *aimd.Limiter) *http.Client{
		"Client":    func(b http.RoundTripper, l *aimd.Limiter) *http.Client { return clientOn(b, l) },
		"Transport": func(b http.RoundTripper, l *aimd.Limiter) *http.Client { return httplimit.New(b, l).Client() },
		"PerHost":   func(b http.RoundTripper, l *aimd.Limiter) *http.Client { return clientPerHost(t, b, l) },
		"Retrier": func(b http.RoundTripper, l *aimd.Limiter) *http.Client {
			return &http.Client{Transport: newRetrier(t, httplimit.New(b, l), retry.Config{})}
		},
		"Retrier without a limiter": func(b http.RoundTripper, _ *aimd.Limiter) *http.Client {
			return &http.Client{Transport: newRetrier(t, b, retry.Config{})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var status []int
				service := base(func(r *http.Request) (*http.Response, error) {
					status = append(status, map[bool]int{true: 429, false: 200}[len(status) == 0])
					return answers(status[len(status)-1], http.Header{"Retry-After": {"1"}}, http.NoBody)(r)
				})
				resp, err := of(service, narrow(t, aimd.Config{})).Post(anyURL, "text/plain", strings.NewReader("payload"))
				require.NoError(t, err)
				require.Equal(t, 200, resp.StatusCode)
				require.Equal(t, []int{429, 200}, status)
			})
		})
	}
}
