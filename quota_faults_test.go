package aimd_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// Faults of quotas: one answer ended the asking, for a day or for good.

// quoting is a service whose n-th answer has a status and a header.
func quoting(n int, status int, usual, header map[string]string) http.RoundTripper {
	asked := 0
	return trip(func(r *http.Request) (*http.Response, error) {
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

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// One answer tells a limit of tokens below what the operations cost: another model of the same key, or a gateway's
// mistake. No operation was sent for 24 h, since only an answer lifts a limit.
func TestALowLimitOfTokensIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := aimd.New(aimd.Config{})
		require.NoError(t, err)
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

// A 403 with nothing left and a reset in a day stopped a client for a day, though MaxRetryAfter was a minute.
func TestOneAnswerStopsForMaxRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := aimd.New(aimd.Config{MaxRetryAfter: time.Minute})
		require.NoError(t, err)
		base := quoting(3, 403, nil, map[string]string{"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "86399"})
		client := (&httplimit.Transport{Base: base, Limiter: lim}).Client()
		began := time.Now()
		for range 5 {
			resp, err := client.Get("http://service/")
			require.NoError(t, err)
			resp.Body.Close()
		}
		assert.Less(t, time.Since(began), 10*time.Minute)
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
				lim, err := aimd.New(aimd.Config{})
				require.NoError(t, err)
				client := (&httplimit.Transport{Base: quoting(0, 0, header, nil), Limiter: lim}).Client()
				began := time.Now()
				for range 50 {
					resp, err := client.Get("http://service/")
					require.NoError(t, err)
					resp.Body.Close()
				}
				assert.Less(t, time.Since(began), 6*time.Second)
			})
		})
	}
}
