package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
)

func TestAPanicReleasesTheSlot(t *testing.T) {
	l := one(t)
	tr := httplimit.New(base(func(*http.Request) (*http.Response, error) { panic("boom") }), l.Limiter)
	require.PanicsWithValue(t, "boom", func() { _, _ = tr.RoundTrip(get(t.Context(), anyURL)) })
	l.ended(limiter.Neutral)

	tr = httplimit.New(base(func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil }), l.Limiter)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_, _ = tr.RoundTrip(get(t.Context(), anyURL))
	}()
	<-exited
	l.ended(limiter.Neutral)
}

// An observer that panics does so in the request that caused the event, which
// still ends for the guards.
func TestAPanicOfTheObserverIsNotTheGuards(t *testing.T) {
	var w warden
	quiet := false
	l, err := aimd.NewReno(aimd.WithInitialWindow(1), aimd.WithQueueBound(1), aimd.WithGuard(&w), aimd.WithObserver(func(limiter.Event) {
		if !quiet {
			panic("boom")
		}
	}))
	require.NoError(t, err)
	tr := httplimit.New(answers(200, nil, http.NoBody), l)
	asks := func() { _, _ = tr.RoundTrip(get(t.Context(), anyURL)) }
	require.Panics(t, asks, "at the release")
	_, outcomes := w.told()
	require.Equal(t, []limiter.Outcome{limiter.Success}, outcomes)

	for range int(l.State().Cwnd) {
		_, err := l.Acquire(t.Context())
		require.NoError(t, err)
	}
	gone := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(gone)
		_, _ = l.Acquire(ctx)
	}()
	require.Eventually(t, func() bool { return l.Snapshot().Queued == 1 }, time.Minute, time.Millisecond)
	require.Panics(t, asks, "at the full queue")
	_, outcomes = w.told()
	require.Equal(t, []limiter.Outcome{limiter.Success, 0}, outcomes)
	quiet = true
	cancel()
	<-gone
}

func TestAPanicOfTheClassifierReleasesTheSlot(t *testing.T) {
	l := one(t, aimd.WithClassifier(func(error) limiter.Verdict { panic("boom") }))
	for _, b := range []base{
		answers(500, nil, text("hello")),
		func(*http.Request) (*http.Response, error) { return nil, errors.New("failed") },
	} {
		require.PanicsWithValue(t, "boom", func() {
			_, _ = httplimit.New(b, l.Limiter).RoundTrip(get(t.Context(), anyURL))
		})
		l.ended(limiter.Neutral)
	}
	// In Read the slot is left for Close.
	resp, err := httplimit.New(answers(200, nil, broken{errors.New("failed")}), l.Limiter).RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	require.PanicsWithValue(t, "boom", func() { _, _ = resp.Body.Read(nil) })
	l.held(1)
	require.NoError(t, resp.Body.Close())
	l.ended(limiter.Success)
}
