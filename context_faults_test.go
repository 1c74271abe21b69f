package aimd_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

// bad is a context whose k-th call of any method panics.
type bad struct {
	context.Context
	left atomic.Int64
}

func (b *bad) tick() {
	if b.left.Dec() == 0 {
		panic("context")
	}
}
func (b *bad) Done() <-chan struct{}       { b.tick(); return b.Context.Done() }
func (b *bad) Err() error                  { b.tick(); return b.Context.Err() }
func (b *bad) Deadline() (time.Time, bool) { b.tick(); return b.Context.Deadline() }
func (b *bad) Value(k any) any             { b.tick(); return b.Context.Value(k) }

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A context whose methods panic, at whichever call of whichever door, gives its slot and its place in the queue back, and leaves
// no lock behind.
func TestAContextThatPanicsHoldsNothing(t *testing.T) {
	doors := map[string]func(ctx context.Context, l *aimd.Limiter){
		"Do": func(ctx context.Context, l *aimd.Limiter) { _ = l.Do(ctx, func(context.Context) error { return nil }) },
		"refused": func(ctx context.Context, l *aimd.Limiter) {
			n := 0
			_ = l.Do(ctx, func(context.Context) error {
				if n++; n < 3 {
					return aimd.Refused(errors.New("no"))
				}
				return nil
			})
		},
		"Acquire": func(ctx context.Context, l *aimd.Limiter) {
			if p, err := l.Acquire(ctx); err == nil {
				p.Done(window.Success)
			}
		},
		"Begin": func(ctx context.Context, l *aimd.Limiter) {
			if a, err := l.Begin(ctx); err == nil {
				defer a.End(nil)
				time.Sleep(time.Millisecond)
			}
		},
		"Transport": func(ctx context.Context, l *aimd.Limiter) {
			base := answering(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r, ProtoMajor: 1}, nil
			})
			r, err := http.NewRequestWithContext(context.WithoutCancel(context.Background()), http.MethodGet, "http://a", nil)
			if err != nil {
				return
			}
			resp, err := (&httplimit.Transport{Base: base, Of: func(*http.Request) (*aimd.Limiter, error) { return l, nil }}).RoundTrip(r.WithContext(ctx))
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		},
	}
	for name, door := range doors {
		for _, queued := range []bool{false, true} {
			panicked := 0
			for k := range int64(40) {
				for _, ends := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						l, err := aimd.New(aimd.Config{InitialWindow: 1, MaxWindow: 1})
						require.NoError(t, err)
						if queued {
							p, ok := l.TryAcquire()
							require.True(t, ok)
							time.AfterFunc(time.Second, func() { p.Done(window.Success) })
						}
						inner, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						if ends {
							time.AfterFunc(time.Second/2, cancel)
						}
						ctx := &bad{Context: inner}
						ctx.left.Store(k + 1)
						func() {
							defer func() {
								if recover() != nil {
									panicked++
								}
							}()
							door(ctx, l)
						}()
						time.Sleep(2 * time.Second)
						s := l.Snapshot()
						assert.Zero(t, s.InFlight, "%s, queued %v, call %d, ends %v", name, queued, k+1, ends)
						assert.Zero(t, s.Queued, "%s, queued %v, call %d, ends %v", name, queued, k+1, ends)
						p, err := l.Acquire(t.Context()) // a lock or a place that is held would end the test
						require.NoError(t, err)
						p.Done(window.Success)
					})
				}
			}
			assert.Positive(t, panicked, name)
		}
	}
}
