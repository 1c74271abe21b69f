package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/window"
)

// warden is a guard that keeps what it was told.
type warden struct {
	mu       sync.Mutex
	attempts []int
	outcomes []window.Outcome
	refuse   error
}

func (w *warden) Admit(_ context.Context, attempt int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return w.refuse
	}
	w.attempts = append(w.attempts, attempt)
	return nil
}

func (w *warden) Ended(_ context.Context, o window.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outcomes = append(w.outcomes, o)
}

func (w *warden) told() ([]int, []window.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.attempts, w.outcomes
}

func TestGuardsHearOfEveryRequest(t *testing.T) {
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	for _, c := range []struct {
		name string
		base base
		want window.Outcome
		law  window.Outcome
	}{
		{"200", answers(200, nil, text("hello")), window.Success, window.Success},
		{"404", answers(404, nil, text("hello")), window.ClientError, window.ClientError},
		{"500", answers(500, nil, text("hello")), window.Neutral, window.Neutral},
		{"503", answers(503, nil, text("hello")), window.Overload, window.Overload},
		{"broken off", answers(200, nil, broken{io.ErrUnexpectedEOF}), window.Neutral, window.Neutral},
		{"no answer", func(*http.Request) (*http.Response, error) { return nil, reset }, 0, window.Neutral},
		{"no answer in time", func(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded }, window.Timeout, window.Timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w warden
			l := one(t, aimd.WithGuard(&w))
			resp, err := httplimit.New(c.base, l.Limiter).RoundTrip(get(t.Context(), anyURL))
			if err == nil {
				_, outcomes := w.told()
				assert.Empty(t, outcomes, "the attempt ends with the body")
				_, _ = io.ReadAll(resp.Body)
				require.NoError(t, resp.Body.Close())
			}
			l.ended(c.law)
			attempts, outcomes := w.told()
			assert.Equal(t, []int{0}, attempts)
			assert.Equal(t, []window.Outcome{c.want}, outcomes)
		})
	}
}

func TestAGuardRefuses(t *testing.T) {
	mine := errors.New("mine")
	w := &warden{refuse: mine}
	l := one(t, aimd.WithGuard(w))
	e := notSent(t, l, t.Context())
	assert.ErrorIs(t, e, mine)
	assert.True(t, e.NotSent())
	l.held(0)
	_, outcomes := w.told()
	assert.Empty(t, outcomes)
}

// A throttle is a guard of a Transport: a service that answers 503 to background work and 404 to the rest. A 404 is
// accepted.
func TestAThrottleInTheDoor(t *testing.T) {
	th, err := throttle.New(throttle.Config{})
	require.NoError(t, err)
	l, err := aimd.NewReno(aimd.WithGuard(th), aimd.WithPause(0, -1))
	require.NoError(t, err)
	var mu sync.Mutex
	served := map[string]int{}
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		served[r.URL.Path]++
		mu.Unlock()
		if r.URL.Path == "/background" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	client := &http.Client{Transport: httplimit.New(s.Client().Transport, l)}
	background := tag.WithCriticality(t.Context(), tag.SheddablePlus)
	throttled := 0
	const each = 300
	for range each {
		for path, ctx := range map[string]context.Context{"/background": background, "/interactive": t.Context()} {
			resp, err := client.Do(get(ctx, s.URL+path))
			if err != nil {
				require.ErrorIs(t, err, throttle.ErrThrottled)
				throttled++
				continue
			}
			resp.Body.Close()
		}
	}
	assert.Equal(t, each, served["/interactive"])
	assert.Equal(t, each, served["/background"]+throttled)
	assert.Greater(t, throttled, each/2)
	requests, accepts := th.Counts(tag.Critical)
	assert.Equal(t, [2]int{each, each}, [2]int{requests, accepts})
	assert.Zero(t, l.Snapshot().InFlight)
}
