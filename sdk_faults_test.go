package aimd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
)

// An SDK makes an error of a refusal within a 200, in its own words. These types have the fields and texts of the SDKs.

// jsonError is as that of go-ethereum, package rpc.
type jsonError struct {
	Code    int
	Message string
}

func (e *jsonError) Error() string  { return e.Message }
func (e *jsonError) ErrorCode() int { return e.Code }

// graphError is as those of shurcooL/graphql and hasura/go-graphql-client.
type graphError []struct{ Message string }

func (e graphError) Error() string { return e[0].Message }

// wikiError is as that of go-mwclient; lastfmError of shkh/lastfm-go.
type wikiError struct{ Code, Info string }

func (e wikiError) Error() string { return e.Code + ": " + e.Info }

type lastfmError struct {
	Code            int
	Message, Caller string
}

func (e *lastfmError) Error() string { return fmt.Sprintf("LastfmError[%d]: %s", e.Code, e.Message) }

// streamed is as that of openai-go, package ssestream.
type streamed struct {
	Event struct {
		Type string
		Data []byte
	}
	Message string
}

func (e *streamed) Error() string { return e.Message }

// Do costs with each what it costs with a 429: at most 1.15 of the time in the mean.
func TestErrorsOfSDKsForARefusalWithinA200(t *testing.T) {
	event := &streamed{Message: "received error while streaming"}
	event.Event.Data = []byte(`{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Rate limit reached"}}`)
	forms := map[string]error{
		"slack-go":     errors.New("ratelimited"),
		"lastfm-go":    &lastfmError{Code: 29, Message: "Rate Limit Exceeded - Your IP has made too many requests in a short period"},
		"go-mwclient":  wikiError{"ratelimited", "You've exceeded your rate limit. Please wait some time and try again."},
		"go-ethereum":  &jsonError{429, "Your app has exceeded its compute units per second capacity."},
		"-32005":       &jsonError{-32005, "project ID request rate exceeded"},
		"silenceper":   errors.New("GetUserInfo Error , errcode=45009 , errmsg=api freq out of limit"),
		"Marketo":      errors.New("606: Max rate limit '100' exceeded with in '20' secs"),
		"GitHub":       graphError{{"API rate limit exceeded for user ID 1."}},
		"Shopify":      graphError{{"Throttled"}},
		"Google Maps":  errors.New("maps: OVER_QUERY_LIMIT - You have exceeded your rate-limit for this API."),
		"Anthropic":    errors.New(`received error while streaming: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		"OpenAI":       event,
		"Etherscan":    aimd.Refused(errors.New("etherscan server: NOTOK")), // the SDK drops the words
		"a batch":      aimd.Partly(errors.New("9 of 10 items were refused")),
		"AlphaVantage": errors.New("Thank you for using Alpha Vantage! Our standard API call frequency is 5 calls per minute and 500 calls per day."),
	}
	var refused, sum float64
	for range 8 {
		refused += dripped(t, status{HTTP: 429}).Seconds() / 8
	}
	for name, err := range forms {
		took := dripped(t, err).Seconds()
		assert.Less(t, took, 2*refused, name)
		sum += took / float64(len(forms))
	}
	assert.Less(t, sum, 1.15*refused)
}

// dripped is the time of 100 operations of a service that serves 5 a second, and 5 at once, and fails the others with err.
func dripped(t *testing.T, err error) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lim := attempttest.Limiter(t, aimd.Config{})
		var mu sync.Mutex
		began := time.Now()
		tokens, last := 5., began
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				assert.NoError(t, lim.Do(t.Context(), func(context.Context) error {
					time.Sleep(50 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					tokens, last = min(5, tokens+5*time.Since(last).Seconds()), time.Now()
					if tokens < 1 {
						return err
					}
					tokens--
					return nil
				}))
			})
		}
		all.Wait()
		took = time.Since(began)
		_ = lim.Close()
	})
	return took
}

// Faults of quotas: one answer ended the asking, for a day or for good.

// quoting is a service whose n-th answer has a status and a header.
func quoting(n int, status int, usual, header map[string]string) http.RoundTripper {
	asked := 0
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		asked++
		time.Sleep(100 * time.Millisecond)
		h, code := http.Header{}, 200
		if asked == n {
			code, usual = status, header
		}
		for name, value := range usual {
			h.Set(name, value)
		}
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader("ok")), Request: r, ProtoMajor: 1}, nil
	})
}

// One answer tells a limit of tokens below what the operations cost: another model of the same key, or a gateway's
// mistake. No operation was sent for 24 h, since only an answer lifts a limit.
func TestALowLimitOfTokensIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := attempttest.Limiter(t, aimd.Config{})
		of := func(limit string) map[string]string {
			return map[string]string{"X-RateLimit-Limit-Tokens": limit, "X-RateLimit-Remaining-Tokens": limit, "X-RateLimit-Reset-Tokens": "1s"}
		}
		usual := of("1000000")
		once := quoting(3, 200, usual, of("100"))
		client := (&httplimit.Transport{Base: once, Limiter: lim}).Client()
		ask := func() error {
			r, err := http.NewRequestWithContext(aimd.WithAmount(t.Context(), 500), http.MethodGet, "http://service/", nil)
			require.NoError(t, err)
			resp, err := client.Do(r)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
		for range 3 {
			require.NoError(t, ask())
		}
		require.ErrorContains(t, ask(), "the service's limit of tokens")
		time.Sleep(5*time.Minute - time.Second)
		require.Error(t, ask())
		time.Sleep(time.Second)
		require.NoError(t, ask())
		// The answers still have the low limit, so one such operation asks each five minutes.
		require.Error(t, ask())
		time.Sleep(5 * time.Minute)
		require.NoError(t, ask())
	})
}

// asks is the time of so many requests, one after another.
func asks(t *testing.T, client *http.Client, n int) time.Duration {
	t.Helper()
	began := time.Now()
	for range n {
		resp, err := client.Get("http://service/")
		require.NoError(t, err)
		resp.Body.Close()
	}
	return time.Since(began)
}

// A 403 with nothing left and a reset in a day stopped a client for a day, though MaxRetryAfter was a minute.
func TestOneAnswerStopsForMaxRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := attempttest.Limiter(t, aimd.Config{MaxRetryAfter: time.Minute})
		base := quoting(3, 403, nil, map[string]string{"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "86399"})
		client := (&httplimit.Transport{Base: base, Limiter: lim}).Client()
		assert.Less(t, asks(t, client, 5), 10*time.Minute)
	})
}

// What is left of requests in flight is told as a quota: a limit of 0, or none left of five. A job of 5 s took 107.
func TestSlotsToldAsAQuotaBoundAndNeverClose(t *testing.T) {
	for name, header := range map[string]map[string]string{
		"none left":            {"X-RateLimit-Limit-Concurrent": "5", "X-RateLimit-Remaining-Concurrent": "0", "X-RateLimit-Reset-Concurrent": "60s"},
		"a limit of 0":         {"X-RateLimit-Limit-Concurrent": "0", "X-RateLimit-Remaining-Concurrent": "0", "X-RateLimit-Reset-Concurrent": "60s"},
		"a draft, none left":   {"RateLimit-Policy": `"slots";q=5;qu="concurrent-requests"`, "RateLimit": `"slots";r=0;t=60`},
		"a draft without unit": {"RateLimit": `"concurrency";r=0;t=60`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim := attempttest.Limiter(t, aimd.Config{})
				client := (&httplimit.Transport{Base: quoting(0, 0, header, nil), Limiter: lim}).Client()
				assert.Less(t, asks(t, client, 50), 6*time.Second)
			})
		})
	}
}
