package httplimit_test

import (
	"errors"
	"net/http"
	"net/url"
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

// Each host has slots of its own, and only so many have a limiter at a time.
func TestHostsHaveABound(t *testing.T) {
	tr, made := perHost(t, answers(200, nil, text("hello")), aimd.KeyedConfig{Keys: 2})
	send := func(host string) *http.Response {
		resp, err := tr.RoundTrip(get(t.Context(), "http://"+host))
		require.NoError(t, err)
		return resp
	}
	a, b := send("a.example"), send("b.example")
	inFlight := map[string]int{}
	for host, l := range tr.Limiters() {
		inFlight[host] = l.Snapshot().InFlight
	}
	assert.Equal(t, map[string]int{"a.example:80": 1, "b.example:80": 1}, inFlight)
	_, err := tr.RoundTrip(get(t.Context(), "http://c.example"))
	require.EqualError(t, err, "gave up before the first attempt: aimd: 2 keys are all in use, want fewer keys or a higher bound")
	require.NoError(t, a.Body.Close())
	c := send("c.example")
	require.NoError(t, b.Body.Close())
	require.NoError(t, c.Body.Close())
	require.Equal(t, []string{"a.example:80", "b.example:80", "c.example:80"}, *made)
}

func TestAHostWithoutALimiter(t *testing.T) {
	mine := errors.New("mine")
	for why, want := range map[error]string{mine: "mine", nil: "newLimiter returned nil"} {
		calls := 0
		tr, err := httplimit.PerHost(empty, func(string) (*aimd.Limiter, error) {
			calls++
			return nil, why
		}, aimd.KeyedConfig{})
		require.NoError(t, err)
		for range 2 { // the second request asks again
			req, body := get(t.Context(), "http://a.example"), newSent()
			req.Body = body
			_, err = tr.RoundTrip(req)
			require.EqualError(t, err, `gave up before the first attempt: no limiter for host "a.example:80": `+want)
			require.Equal(t, why != nil, errors.Is(err, mine))
			assert.True(t, body.closed.Load())
		}
		assert.Equal(t, 2, calls)
	}
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
