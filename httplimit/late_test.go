package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
)

// stuck answers with the start of a body of that kind whose rest does not come, and then with a success.
func stuck(t *testing.T, status int, kind, start string) *http.Transport {
	calls := 0
	s := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls > 1 {
			return
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, start)
		assert.NoError(t, http.NewResponseController(w).Flush())
		<-r.Context().Done()
	}))
	return s.Client().Transport.(*http.Transport)
}

// closed closes the answer of a caller that has seen its status.
func closed(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// A refusal whose body does not come is judged after a quarter of a second by what came, in each way to send.
func TestARefusalWhoseBodyDoesNotCome(t *testing.T) {
	sends := map[string]func(context.Context, http.RoundTripper, *aimd.Limiter) error{
		"Client": func(ctx context.Context, b http.RoundTripper, l *aimd.Limiter) error {
			return closed(clientOn(b, l).Do(get(ctx, anyURL)))
		},
		"a retrier": func(ctx context.Context, b http.RoundTripper, l *aimd.Limiter) error {
			return closed(newRetrier(t, httplimit.New(b, l), retry.Config{}).RoundTrip(get(ctx, anyURL)))
		},
		"Do": func(ctx context.Context, b http.RoundTripper, l *aimd.Limiter) error {
			return l.Do(ctx, func(ctx context.Context) error {
				resp, err := b.RoundTrip(get(ctx, anyURL))
				return errors.Join(err, httplimit.Check(resp))
			})
		},
	}
	for name, send := range sends {
		for _, kind := range []string{"application/json", "text/plain"} {
			for _, status := range []int{429, 403, 402} {
				t.Run(name+" "+kind+" "+http.StatusText(status), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						l := narrow(t, aimd.Config{})
						start := time.Now()
						err := send(t.Context(), stuck(t, status, kind, `{"error":{"code":"`), l)
						if status == 429 || name != "Do" { // otherwise it is final
							require.NoError(t, err)
						}
						require.Less(t, time.Since(start), 2*time.Second)
						require.Zero(t, l.Snapshot().InFlight)
					})
				})
			}
		}
	}
}

// The bound is a quarter of a second; what came until then is judged, and the caller can read it.
func TestTheBoundOfALateBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const words = `{"message":"You have exceeded a secondary rate limit`
		l := narrow(t, aimd.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start := time.Now()
		resp, err := httplimit.New(stuck(t, 403, "application/json", words), l).RoundTrip(get(ctx, anyURL))
		require.NoError(t, err)
		require.Equal(t, 250*time.Millisecond, time.Since(start))
		cancel()
		text, err := io.ReadAll(resp.Body)
		require.Equal(t, words, string(text))
		require.ErrorIs(t, err, context.Canceled)
		synctest.Wait()
		require.GreaterOrEqual(t, time.Until(l.Snapshot().PausedUntil), 59*time.Second, "a secondary limit of GitHub")
	})
	synctest.Test(t, func(t *testing.T) {
		resp, err := stuck(t, 503, "text/plain", "busy").RoundTrip(get(t.Context(), anyURL))
		require.NoError(t, err)
		start := time.Now()
		var status *httplimit.StatusError
		require.ErrorAs(t, httplimit.Check(resp), &status)
		require.Equal(t, "busy", string(status.Body))
		require.Equal(t, 250*time.Millisecond, time.Since(start))
	})
}

// panics is a body whose Read panics.
type panics struct{}

func (panics) Read([]byte) (int, error) { panic("a body") }
func (panics) Close() error             { return nil }

// A body that panics while its start is looked at fails for its reader.
func TestABodyThatPanics(t *testing.T) {
	l := narrow(t, aimd.Config{})
	resp, err := httplimit.New(answers(429, http.Header{"Content-Type": {"application/json"}}, panics{}), l).RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	_, err = io.ReadAll(resp.Body)
	require.ErrorContains(t, err, "a body panicked")
	require.Zero(t, l.Snapshot().InFlight)
}
