package httplimit_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

// empty is a base that answers everything, with no body.
var empty = answers(200, nil, http.NoBody)

// perHost returns a Transport, its limiters, and the hosts for which they were made.
func perHost(t *testing.T, b http.RoundTripper, c aimd.KeyedConfig) (tr *httplimit.Transport, limiters *aimd.Keyed[string], made *[]string) {
	t.Helper()
	made = new([]string)
	limiters, err := aimd.NewKeyed(func(host string) (*aimd.Limiter, error) {
		*made = append(*made, host)
		return aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
	}, c)
	require.NoError(t, err)
	return &httplimit.Transport{Base: b, Of: httplimit.PerHost(limiters)}, limiters, made
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
		tr, _, made := perHost(t, empty, aimd.KeyedConfig{})
		for _, u := range c.urls {
			parsed, err := url.Parse(u) // http.NewRequest would tidy it up
			require.NoError(t, err)
			_, err = tr.RoundTrip(&http.Request{URL: parsed})
			require.NoError(t, err)
		}
		assert.Equal(t, c.want, *made, "%v", c.urls)
	}
}

// "A request's key joins the results of the names that are not empty, with a space between two."
func TestByTheTenant(t *testing.T) {
	tenant := func(r *http.Request) string { return r.Header.Get("X-Tenant") }
	for want, names := range map[string][]func(*http.Request) string{
		"a,b,":                                  {tenant},
		"x:80 a,x:80 b,x:80,y:80 a,y:80 b,y:80": {httplimit.Host, tenant},
	} {
		tr, limiters, made := perHost(t, empty, aimd.KeyedConfig{})
		tr.Of = httplimit.By(limiters, names...)
		for _, host := range []string{"http://x", "http://y"} {
			for _, tenant := range []string{"a", "b", "a", ""} {
				r := get(t.Context(), host)
				r.Header.Set("X-Tenant", tenant)
				_, err := tr.RoundTrip(r)
				require.NoError(t, err)
			}
		}
		assert.Equal(t, want, strings.Join(*made, ","))
	}
}

// Each host has slots of its own, and only so many have a limiter at a time.
func TestHostsHaveABound(t *testing.T) {
	tr, limiters, made := perHost(t, answers(200, nil, text("hello")), aimd.KeyedConfig{Keys: 2})
	send := func(host string) *http.Response {
		resp, err := tr.RoundTrip(get(t.Context(), "http://"+host))
		require.NoError(t, err)
		return resp
	}
	a, b := send("a.example"), send("b.example")
	inFlight := map[string]int{}
	for host, l := range limiters.All() {
		inFlight[host] = l.Snapshot().InFlight
	}
	assert.Equal(t, map[string]int{"a.example:80": 1, "b.example:80": 1}, inFlight)
	_, err := tr.RoundTrip(get(t.Context(), "http://c.example"))
	require.EqualError(t, err, `gave up before the first attempt: no limiter for "c.example:80": aimd: Keys: 2 keys are all in use, want a higher bound or fewer keys`)
	require.NoError(t, a.Body.Close())
	c := send("c.example")
	require.NoError(t, b.Body.Close())
	require.NoError(t, c.Body.Close())
	require.Equal(t, []string{"a.example:80", "b.example:80", "c.example:80"}, *made)
}

func TestAHostWithoutALimiter(t *testing.T) {
	mine := errors.New("mine")
	for why, want := range map[error]string{mine: "mine", nil: "aimd: the limiter of key a.example:80: nil is not allowed"} {
		calls := 0
		limiters, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) {
			calls++
			return nil, why
		}, aimd.KeyedConfig{})
		require.NoError(t, err)
		tr := &httplimit.Transport{Base: empty, Of: httplimit.PerHost(limiters)}
		for range 2 { // the second request asks again
			req, body := get(t.Context(), "http://a.example"), newSent()
			req.Body = body
			_, err = tr.RoundTrip(req)
			require.EqualError(t, err, `gave up before the first attempt: no limiter for "a.example:80": `+want)
			require.Equal(t, why != nil, errors.Is(err, mine))
			assert.True(t, body.closed.Load())
		}
		assert.Equal(t, 2, calls)
	}
}

func TestWhatSelectorsRefuse(t *testing.T) {
	tr, limiters, _ := perHost(t, empty, aimd.KeyedConfig{})
	_, err := tr.RoundTrip(&http.Request{})
	assert.EqualError(t, err, "gave up before the first attempt: a request without a URL")
	_, err = tr.RoundTrip(&http.Request{URL: &url.URL{Scheme: "http"}})
	assert.NoError(t, err, "what a URL must have is for the base to say")
	assert.Panics(t, func() { httplimit.NewClient(nil) })
	assert.Panics(t, func() { httplimit.PerHost(nil) })
	assert.Panics(t, func() { httplimit.By(limiters, nil) })
}

func TestReadsAndWrites(t *testing.T) {
	for method, want := range map[string]string{
		"": "read", "GET": "read", "HEAD": "read", "PUT": "write", "POST": "write", "DELETE": "write", "PATCH": "write", "OPTIONS": "write",
	} {
		assert.Equal(t, want, httplimit.ReadWrite(&http.Request{Method: method}), method)
	}
}

// "An operation whose class has no limiter fails": by name, and unsent.
func TestAClassThatDoesNotExist(t *testing.T) {
	classes, err := aimd.NewKeyed(func(class string) (*aimd.Limiter, error) {
		if class != "read" {
			return nil, errors.New("only reads")
		}
		return aimd.New(aimd.Config{})
	}, aimd.KeyedConfig{})
	require.NoError(t, err)
	tr := &httplimit.Transport{Base: empty, Of: httplimit.By(classes, httplimit.ReadWrite)}
	_, err = tr.RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	post := get(t.Context(), anyURL)
	post.Method = http.MethodPost
	_, err = tr.RoundTrip(post)
	require.EqualError(t, err, `gave up before the first attempt: no limiter for "write": only reads`)
}

// A service refuses a long body before it has read it, and hangs up. net/http reports the failed write.
func TestARefusalInTheMiddleOfABody(t *testing.T) {
	pipe := &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}
	for name, c := range map[string]struct {
		after time.Duration
		taken int64
		err   error
		// asked is how often a POST is sent, first the outcome of the first attempt.
		asked int
		first window.Outcome
	}{
		"at once":                     {0, 5, pipe, 2, window.Overload},
		"within a second":             {999 * time.Millisecond, 5, pipe, 2, window.Overload},
		"later, as of a poor network": {time.Second, 5, pipe, 2, window.Neutral},
		"the whole body was taken":    {0, 10, pipe, 1, window.Neutral},
		"no hang-up but silence":      {0, 5, os.ErrDeadlineExceeded, 1, window.Timeout},
	} {
		for _, length := range []int64{10, -1} {
			synctest.Test(t, func(t *testing.T) {
				var bodies []string
				service := base(func(r *http.Request) (*http.Response, error) {
					if len(bodies) > 0 {
						text, err := io.ReadAll(r.Body)
						bodies = append(bodies, string(text))
						return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, err
					}
					start := make([]byte, c.taken)
					_, err := io.ReadFull(r.Body, start)
					assert.NoError(t, err)
					if c.taken == 10 {
						_, err = r.Body.Read(start[:1])
						assert.Equal(t, io.EOF, err)
					}
					bodies = append(bodies, string(start))
					time.Sleep(c.after)
					return nil, c.err
				})
				post := func(c *http.Client) (*http.Response, error) {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/", strings.NewReader("0123456789"))
					require.NoError(t, err)
					req.ContentLength = length
					return c.Do(req)
				}
				l := watch(t, aimd.Config{})
				retrier, err := httplimit.NewRetrier(service, nil)
				require.NoError(t, err)
				for _, client := range []*http.Client{limited(service, l.Limiter).Client(), {Transport: retrier}} {
					bodies = nil
					resp, err := post(client)
					require.Len(t, bodies, c.asked, name)
					if c.asked == 1 {
						assert.ErrorIs(t, err, c.err, name)
						continue
					}
					require.NoError(t, err, name)
					assert.Equal(t, "0123456789", bodies[1], name)
					assert.Equal(t, 200, resp.StatusCode)
				}
				assert.Equal(t, c.first, <-l.outcomes, name)
				for len(l.outcomes) > 0 {
					<-l.outcomes
				}
			})
		}
	}
}

// net/http sends again on its own, on another connection, with a body of GetBody: the first body is then no sign that
// the service does not have the request.
func TestABodyThatIsSentBeneath(t *testing.T) {
	asked := 0
	service := base(func(r *http.Request) (*http.Response, error) {
		asked++
		again, err := r.GetBody()
		assert.NoError(t, err)
		_, err = io.Copy(io.Discard, again)
		assert.NoError(t, err)
		return nil, syscall.ECONNRESET
	})
	_, err := limited(service, narrow(t, aimd.Config{})).Client().Post("http://a/", "", strings.NewReader("0123456789"))
	assert.ErrorIs(t, err, syscall.ECONNRESET)
	assert.Equal(t, 1, asked)
}
