package httplimit_test

import (
	"io"
	"net"
	"net/http"
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
				var outcomes []window.Outcome
				l, err := aimd.New(aimd.Config{Observer: func(e aimd.Event) {
					if e.Outcome.Valid() {
						outcomes = append(outcomes, e.Outcome)
					}
				}})
				require.NoError(t, err)
				retrier, err := httplimit.NewRetrier(service, nil)
				require.NoError(t, err)
				for _, client := range []*http.Client{limited(service, l).Client(), {Transport: retrier}} {
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
				assert.Equal(t, c.first, outcomes[0], name)
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
