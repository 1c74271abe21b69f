package aimd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// trap is code of the program that the library calls. It acts at one of its calls, and never if left is 0.
type trap struct {
	left atomic.Int64
	act  func()
}

func (p *trap) hit() {
	if p.left.Dec() == 0 {
		p.act()
	}
}

// trapped is a guard, a policy and an error, each method of which is a trap.
type trapped struct{ *trap }

func (p trapped) Admit(context.Context, int) error      { p.hit(); return nil }
func (p trapped) Ended(context.Context, window.Outcome) { p.hit() }
func (p trapped) Decide(_ context.Context, f attempt.Failure) attempt.Decision {
	p.hit()
	return attempt.Decision{Retry: f.Verdict.Retry() && f.Attempt < 4, Delay: time.Millisecond}
}
func (p trapped) Error() string        { p.hit(); return "too many requests" }
func (p trapped) Unwrap() error        { p.hit(); return nil }
func (p trapped) Is(error) bool        { p.hit(); return false }
func (p trapped) As(any) bool          { p.hit(); return false }
func (p trapped) Timeout() bool        { p.hit(); return false }
func (p trapped) Facts() verdict.Facts { p.hit(); return verdict.Facts{} }

// trappedBody is a body of a request or an answer.
type trappedBody struct {
	io.Reader
	*trap
}

func (b trappedBody) Read(p []byte) (int, error) { b.hit(); return b.Reader.Read(p) }
func (b trappedBody) Close() error               { b.hit(); return nil }

// trappedContext is a context each method of which is a trap.
type trappedContext struct {
	context.Context
	*trap
}

func (c trappedContext) Done() <-chan struct{}       { c.hit(); return c.Context.Done() }
func (c trappedContext) Err() error                  { c.hit(); return c.Context.Err() }
func (c trappedContext) Deadline() (time.Time, bool) { c.hit(); return c.Context.Deadline() }
func (c trappedContext) Value(key any) any           { c.hit(); return c.Context.Value(key) }

// few are items whose iterator is a trap.
func few(p *trap) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range 2 {
			if p.hit(); !yield(i) {
				return
			}
		}
	}
}

// doors are the ways to make an attempt. fn fails twice, and then succeeds once.
var doors = map[string]func(ctx context.Context, l *aimd.Limiter, p *trap, fn func(context.Context) error){
	"Do": func(ctx context.Context, l *aimd.Limiter, _ *trap, fn func(context.Context) error) { _ = l.Do(ctx, fn) },
	"Do within Do": func(ctx context.Context, l *aimd.Limiter, _ *trap, fn func(context.Context) error) {
		_ = l.Do(ctx, func(ctx context.Context) error {
			attempt.Used(ctx, 9)
			return l.Do(ctx, fn)
		})
	},
	"Acquire": func(ctx context.Context, l *aimd.Limiter, _ *trap, fn func(context.Context) error) {
		if p, err := l.Acquire(ctx); err == nil {
			defer p.Done(window.Neutral)
			p.End(fn(ctx))
		}
	},
	"Begin": func(ctx context.Context, l *aimd.Limiter, _ *trap, fn func(context.Context) error) {
		a, err := l.Begin(ctx)
		for err == nil {
			func() {
				defer a.Drop()
				a.Head(nil)
				a.End(fn(ctx))
			}()
			a, err = a.Next(ctx)
		}
	},
	"Each": func(ctx context.Context, l *aimd.Limiter, p *trap, fn func(context.Context) error) {
		_ = aimd.Each(ctx, l, few(p), func(ctx context.Context, _ int) error { return fn(ctx) })
	},
	"Map": func(ctx context.Context, l *aimd.Limiter, p *trap, fn func(context.Context) error) {
		for range aimd.Map(ctx, l, few(p), func(ctx context.Context, i int) (int, error) { return i, fn(ctx) }) {
			p.hit()
		}
	},
	"Transport": func(ctx context.Context, l *aimd.Limiter, p *trap, fn func(context.Context) error) {
		tr := &httplimit.Transport{
			Base: trappedBase(p, fn), ReadUsage: true,
			Of:   func(*http.Request) (*aimd.Limiter, error) { p.hit(); return l, nil },
			Read: func(a answer.Answer) answer.Answer { p.hit(); return a },
		}
		body := func() (io.ReadCloser, error) { p.hit(); return trappedBody{strings.NewReader("body"), p}, nil }
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://s/", trappedBody{strings.NewReader("body"), p})
		if err != nil {
			panic(err)
		}
		r.GetBody = body
		if resp, err := tr.Client().Transport.RoundTrip(r); err == nil {
			defer resp.Body.Close()
			_, _ = io.Copy(io.Discard, resp.Body)
		}
	},
}

// trappedBase answers 429 where fn fails, and 200 where it does not.
func trappedBase(p *trap, fn func(context.Context) error) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		p.hit()
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		status := http.StatusOK
		if fn(r.Context()) != nil {
			status = http.StatusTooManyRequests
		}
		h := http.Header{
			"Content-Type": {"application/json"}, "Retry-After": {"1"},
			"X-Ratelimit-Remaining": {"5"}, "X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Reset": {"2"},
		}
		body := trappedBody{strings.NewReader(`{"error":{"code":"x"},"usage":{"total_tokens":5}}`), p}
		return &http.Response{StatusCode: status, Header: h, ProtoMajor: 1, Request: r, Body: body}, nil
	}
}

// attack opens a door, if queued behind another operation that holds the only slot. calls is the program's code, and ctx
// the caller's context. In the end nothing is held.
func attack(t *testing.T, door string, policy, queued bool, calls *trap, ctx context.Context) {
	c := aimd.Config{InitialWindow: 1, MaxWindow: 1, MaxAttempts: 5, Guards: []attempt.Guard{trapped{calls}}, Observer: func(aimd.Event) {}}
	c.Classifier = func(err error) verdict.Verdict { calls.hit(); return verdict.Classify(err) }
	if policy {
		c.Policy = trapped{calls}
	}
	l := attempttest.Limiter(t, c)
	var all sync.WaitGroup
	if queued {
		all.Go(func() {
			defer func() { _ = recover() }()
			_ = l.Do(t.Context(), func(context.Context) error { time.Sleep(5 * time.Millisecond); return nil })
		})
	}
	synctest.Wait()
	var n atomic.Int64
	all.Go(func() {
		defer func() { _ = recover() }()
		doors[door](aimd.WithAmount(ctx, 3), l, calls, func(ctx context.Context) error {
			calls.hit()
			time.Sleep(time.Millisecond)
			if n.Inc()%3 != 0 {
				return trapped{calls}
			}
			return nil
		})
	})
	all.Wait()
	synctest.Wait()
	s := l.Snapshot()
	assert.Zero(t, s.InFlight, "in flight")
	assert.Zero(t, s.Queued, "queued")
	l.Close()
}

// everyCall runs the attack with the trap at its first call, its second, and so on, until it is not reached.
func everyCall(t *testing.T, run func(t *testing.T, at *trap)) {
	for k := int64(1); k <= 1000; k++ {
		at := &trap{}
		at.left.Store(k)
		synctest.Test(t, func(t *testing.T) { run(t, at) })
		if at.left.Load() > 0 {
			require.Greater(t, k, int64(3), "the calls that were attacked")
			return
		}
		if t.Failed() {
			t.Fatal("call ", k)
		}
	}
	t.Fatal("more than 1000 calls")
}

// A context may end at any moment, so also at any look that the library takes at it, and any look may panic.
func TestAContextThatEndsOrPanicsAtAnyLook(t *testing.T) {
	for door := range doors {
		for _, within := range []time.Duration{0, 3 * time.Millisecond, time.Hour} { // 3 ms end in the queue
			for _, queued := range []bool{false, true} {
				for _, panics := range []bool{false, true} {
					t.Run(fmt.Sprint(door, within, queued, panics), func(t *testing.T) {
						everyCall(t, func(t *testing.T, at *trap) {
							ctx, cancel := context.WithCancelCause(t.Context())
							defer cancel(nil)
							at.act = func() { cancel(errors.New("the end")) }
							if panics {
								at.act = func() { panic("context") }
							}
							if within > 0 {
								var stop context.CancelFunc
								ctx, stop = context.WithTimeout(ctx, within)
								defer stop()
							}
							attack(t, door, false, queued, &trap{}, trappedContext{ctx, at})
						})
					})
				}
			}
		}
	}
}

// All code of the program may panic at any call: guards, policy, classifier, the function, the methods of its error,
// items, bodies, and the parts of a Transport.
func TestAPanicAtAnyCall(t *testing.T) {
	for door := range doors {
		for _, policy := range []bool{false, true} {
			t.Run(door, func(t *testing.T) {
				everyCall(t, func(t *testing.T, at *trap) {
					at.act = func() { panic("of the program") }
					attack(t, door, policy, true, at, t.Context())
				})
			})
		}
	}
}
