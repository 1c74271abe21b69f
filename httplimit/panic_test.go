package httplimit_test

import (
	"errors"
	"net/http"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

func TestAPanicReleasesTheSlot(t *testing.T) {
	l := one(t)
	tr := httplimit.New(base(func(*http.Request) (*http.Response, error) { panic("boom") }), l.Limiter)
	require.PanicsWithValue(t, "boom", func() { _, _ = tr.RoundTrip(get(t.Context(), anyURL)) })
	l.ended(window.Neutral)

	tr = httplimit.New(base(func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil }), l.Limiter)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_, _ = tr.RoundTrip(get(t.Context(), anyURL))
	}()
	<-exited
	l.ended(window.Neutral)
}

func TestAPanicOfTheClassifierReleasesTheSlot(t *testing.T) {
	l := one(t, aimd.WithClassifier(func(error) attempt.Verdict { panic("boom") }))
	for _, b := range []base{
		answers(500, nil, text("hello")),
		func(*http.Request) (*http.Response, error) { return nil, errors.New("failed") },
	} {
		require.PanicsWithValue(t, "boom", func() {
			_, _ = httplimit.New(b, l.Limiter).RoundTrip(get(t.Context(), anyURL))
		})
		l.ended(window.Neutral)
	}
	// In Read too, and Close has nothing more to say.
	resp, err := httplimit.New(answers(200, nil, broken{errors.New("failed")}), l.Limiter).RoundTrip(get(t.Context(), anyURL))
	require.NoError(t, err)
	require.PanicsWithValue(t, "boom", func() { _, _ = resp.Body.Read(nil) })
	l.ended(window.Neutral)
	require.NoError(t, resp.Body.Close())
}
