package httplimit_test

import (
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// empty is a base that answers everything, with no body.
var empty = answers(200, nil, http.NoBody)

// perHost returns a Transport that notes the hosts for which it made limiters.
func perHost(t *testing.T, b http.RoundTripper, c aimd.KeyedConfig) (tr *httplimit.Transport, made *[]string) {
	t.Helper()
	made = new([]string)
	tr, err := httplimit.PerHost(b, func(host string) (*aimd.Limiter, error) {
		*made = append(*made, host)
		return aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
	}, c)
	require.NoError(t, err)
	return tr, made
}

func TestHostsAreToldApartByNameAndPort(t *testing.T) {
	for _, c := range []struct {
		urls []string
		want []string
	}{
		{[]string{"http://a.example", "http://A.Example/x", "http://a.example:80", "http://a.example:/"}, []string{"a.example:80"}},
		{[]string{"https://a.example", "https://a.example:443"}, []string{"a.example:443"}},
		{[]string{"http://a.example", "https://a.example", "http://a.example:8080"}, []string{"a.example:80", "a.example:443", "a.example:8080"}},
		{[]string{"http://[::1]", "http://[::1]:80"}, []string{"[::1]:80"}},
		{[]string{"other://A.example"}, []string{"a.example"}},
	} {
		tr, made := perHost(t, empty, aimd.KeyedConfig{})
		for _, u := range c.urls {
			parsed, err := url.Parse(u) // http.NewRequest would tidy it up
			require.NoError(t, err)
			_, err = tr.RoundTrip(&http.Request{URL: parsed})
			require.NoError(t, err)
		}
		assert.Equal(t, c.want, *made, "%v", c.urls)
	}
}

func TestByTheTenant(t *testing.T) {
	var made []string
	tr, err := httplimit.PerHost(empty, func(tenant string) (*aimd.Limiter, error) {
		made = append(made, tenant)
		return aimd.New(aimd.Config{})
	}, aimd.KeyedConfig{})
	require.NoError(t, err)
	tr.By = func(r *http.Request) string { return r.Header.Get("X-Tenant") }
	for _, tenant := range []string{"a", "b", "a"} {
		for _, host := range []string{"http://x.example", "http://y.example"} {
			r := get(t.Context(), host)
			r.Header.Set("X-Tenant", tenant)
			_, err := tr.RoundTrip(r)
			require.NoError(t, err)
		}
	}
	assert.Equal(t, []string{"a", "b"}, made)
}

func TestEachHostHasItsOwnSlots(t *testing.T) {
	tr, err := httplimit.PerHost(answers(200, nil, text("hello")), func(string) (*aimd.Limiter, error) {
		return aimd.New(aimd.Config{Law: aimd.Reno(0.5), InitialWindow: 1, Rules: aimd.Rules{MaxWindow: 1}})
	}, aimd.KeyedConfig{})
	require.NoError(t, err)
	first, err := tr.RoundTrip(get(t.Context(), "http://a.example"))
	require.NoError(t, err)
	second, err := tr.RoundTrip(get(t.Context(), "http://b.example"))
	require.NoError(t, err, "the slot of the other host is free")
	inFlight := map[string]int{}
	for host, l := range tr.Limiters() {
		inFlight[host] = l.Snapshot().InFlight
	}
	assert.Equal(t, map[string]int{"a.example:80": 1, "b.example:80": 1}, inFlight)
	require.NoError(t, first.Body.Close())
	require.NoError(t, second.Body.Close())
	for _, l := range tr.Limiters() {
		assert.Zero(t, l.Snapshot().InFlight)
	}
}

func TestHostsHaveABound(t *testing.T) {
	tr, made := perHost(t, answers(200, nil, text("hello")), aimd.KeyedConfig{Keys: 2})
	send := func(host string) *http.Response {
		resp, err := tr.RoundTrip(get(t.Context(), "http://"+host))
		require.NoError(t, err)
		return resp
	}
	a, b := send("a.example"), send("b.example")
	_, err := tr.RoundTrip(get(t.Context(), "http://c.example"))
	require.EqualError(t, err, "gave up before the first attempt: aimd: 2 keys are all in use, want fewer keys or a higher bound")
	require.NoError(t, a.Body.Close())
	c := send("c.example")
	require.NoError(t, b.Body.Close())
	require.NoError(t, c.Body.Close())
	require.Equal(t, []string{"a.example:80", "b.example:80", "c.example:80"}, *made)
	hosts := 0
	for range tr.Limiters() {
		hosts++
	}
	require.Equal(t, 2, hosts)
}

func TestAHostWithoutALimiter(t *testing.T) {
	mine := errors.New("mine")
	var calls atomic.Int32
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"error": {mine, `gave up before the first attempt: no limiter for host "a.example:80": mine`},
		"nil":   {nil, `gave up before the first attempt: no limiter for host "a.example:80": newLimiter returned nil`},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := httplimit.PerHost(empty, func(string) (*aimd.Limiter, error) {
				calls.Add(1)
				return nil, c.err
			}, aimd.KeyedConfig{})
			require.NoError(t, err)
			for range 2 { // the second request asks again
				req, body := get(t.Context(), "http://a.example"), newSent()
				req.Body = body
				_, err = tr.RoundTrip(req)
				require.EqualError(t, err, c.want)
				assert.True(t, body.closed.Load())
			}
			if c.err != nil {
				assert.ErrorIs(t, err, c.err)
			}
		})
	}
	assert.EqualValues(t, 4, calls.Load())
}

func TestPerHostSettings(t *testing.T) {
	newLimiter := func(string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{Law: aimd.Reno(0.5)}) }
	_, err := httplimit.PerHost(nil, nil, aimd.KeyedConfig{})
	assert.EqualError(t, err, "httplimit: newLimiter: nil is not allowed")
	_, err = httplimit.PerHost(nil, newLimiter, aimd.KeyedConfig{Idle: -time.Second})
	assert.EqualError(t, err, "httplimit: aimd: Idle: -1s is not allowed, want a duration from 1ns")
	tr, err := httplimit.PerHost(empty, newLimiter, aimd.KeyedConfig{})
	require.NoError(t, err)
	_, err = tr.RoundTrip(&http.Request{})
	assert.EqualError(t, err, "gave up before the first attempt: a request without a URL")
	_, err = tr.RoundTrip(&http.Request{URL: &url.URL{Scheme: "http"}})
	assert.NoError(t, err, "what a URL must have is for the base to say")
}
