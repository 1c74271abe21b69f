package httplimit_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

// Whoever has a slot does not wait for another, in both orders: a request within Do or Each, and Do, Each
// or a request within a request (a base that fetches a token with the same limiter, say). There is one
// slot here.
func TestNothingWithinAnotherWaitsForASlot(t *testing.T) {
	l := one(t)
	nothing := func(context.Context) error { return nil }
	each := func(ctx context.Context, fn func(context.Context) error) error {
		for _, err := range aimd.Each(ctx, l.Limiter, func(yield func(int) bool) { _ = yield(1) && yield(2) },
			func(ctx context.Context, _ int) error { return fn(ctx) }) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	// through is a request whose base runs fn.
	through := func(ctx context.Context, fn func(context.Context) error) error {
		_, err := httplimit.New(base(func(r *http.Request) (*http.Response, error) {
			if err := fn(r.Context()); err != nil {
				return nil, err
			}
			return answers(200, nil, http.NoBody)(r)
		}), l.Limiter).RoundTrip(get(ctx, anyURL))
		return err
	}
	type way func(context.Context, func(context.Context) error) error
	for name, pair := range map[string][2]way{
		"a request within Do": {l.Do, through}, "a request within Each": {each, through},
		"Do within a request": {through, l.Do}, "Each within a request": {through, each},
		"a request within a request": {through, through},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, pair[0](t.Context(), func(ctx context.Context) error {
				assert.True(t, l.HasSlot(ctx))
				return pair[1](ctx, nothing)
			}))
			l.ended(window.Success)
			for len(l.outcomes) > 0 { // Each has two items
				l.ended(window.Success)
			}
		})
	}
}

// The answer's request is the caller's, not the one that said that it had a slot.
func TestTheAnswersRequestIsTheCallers(t *testing.T) {
	l := one(t)
	req := get(t.Context(), anyURL)
	resp, err := httplimit.New(base(func(r *http.Request) (*http.Response, error) {
		resp, err := answers(200, nil, http.NoBody)(r)
		resp.Request = r
		return resp, err
	}), l.Limiter).RoundTrip(req)
	require.NoError(t, err)
	require.Same(t, req, resp.Request)
	l.ended(window.Success)
}

// A body that can be written to is a connection only with status 101; that of any other answer ends with
// its context.
func TestAWriteMethodAloneIsNoUpgrade(t *testing.T) {
	l := one(t)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := httplimit.New(answers(200, nil, rwc{brokenWriter{}}), l.Limiter).RoundTrip(get(ctx, anyURL))
	require.NoError(t, err)
	l.held(1)
	cancel()
	l.ended(window.Neutral)
	require.NoError(t, resp.Body.Close())
}
