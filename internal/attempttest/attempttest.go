// Package attempttest holds that an integration begins and ends attempts as package attempt says, whatever happens to
// a call. It is for tests.
package attempttest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// ErrRefused is a refusal for load. A Call puts it into the words of its protocol.
var ErrRefused = errors.New("refused for load")

// Call makes one call through an integration, under the limiter. send stands for the network: it is called in each
// attempt, where the request is sent, with the request's context. If it returns nil, the service answers well. Another
// error than ErrRefused is the transport's.
type Call func(ctx context.Context, l *aimd.Limiter, send func(context.Context) error) error

// Trip is a RoundTripper for a Call over HTTP: it answers with that, or with a 503.
func Trip(send func(context.Context) error, ok func(*http.Request) *http.Response) http.RoundTripper {
	return trip(func(req *http.Request) (*http.Response, error) {
		if req.Body != nil {
			defer req.Body.Close()
		}
		switch err := send(req.Context()); {
		case errors.Is(err, ErrRefused):
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
		case err != nil:
			return nil, err
		}
		return ok(req), nil
	})
}

type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

// life is a limiter with one slot, a guard that keeps what it is told, and the calls under it.
type life struct {
	*aimd.Limiter
	t    *testing.T
	call Call

	mu     sync.Mutex
	refuse error
	panics bool             // the classifier
	told   []window.Outcome // at each end; 0 if the service was not asked
	open   int              // attempts that were admitted and have not ended
	sent   int
}

func (l *life) Admit(context.Context, int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse == nil {
		l.open++
	}
	return l.refuse
}

func (l *life) Ended(_ context.Context, o window.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.told = append(l.told, o)
}

func (l *life) made(law window.NewLaw) {
	classify := func(err error) verdict.Verdict {
		if l.panics {
			panic("of the classifier")
		}
		return verdict.Classify(err)
	}
	var err error
	l.Limiter, err = aimd.New(aimd.Config{Law: law, InitialWindow: 1, MaxWindow: 1, Guards: []attempt.Guard{l}, Classifier: classify})
	require.NoError(l.t, err)
}

func (l *life) acquire() (end func()) {
	p, err := l.Acquire(l.t.Context())
	require.NoError(l.t, err)
	return func() { p.End(nil) }
}

// within is a context that ends at that time, and cancelled one that is cancelled then.
func (l *life) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(l.t.Context(), d)
	l.t.Cleanup(cancel)
	return ctx
}

func (l *life) cancelled(after time.Duration) context.Context {
	ctx, cancel := context.WithCancel(l.t.Context())
	time.AfterFunc(after, cancel)
	return ctx
}

// do makes a call. Each send holds the slot.
func (l *life) do(ctx context.Context, send func(context.Context) error) error {
	return l.call(ctx, l.Limiter, func(ctx context.Context) error {
		l.sent++
		require.Equal(l.t, 1, l.Snapshot().InFlight)
		return send(ctx)
	})
}

func answers(context.Context) error { return nil }
func waits(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func once(err error) func(context.Context) error {
	return func(context.Context) (now error) {
		now, err = err, nil
		return now
	}
}

// unasked is what the guards hear of an attempt if the service was not asked, or its answer is not known.
var unasked = []window.Outcome{0}

// lives are what may happen to a call, with the number of sends, -1 if an integration may send again, and what the
// guards hear of the first attempt.
var lives = map[string]struct {
	run  func(l *life)
	sent int
	told []window.Outcome
}{
	"an answer": {func(l *life) { require.NoError(l.t, l.do(l.t.Context(), answers)) }, 1, []window.Outcome{window.Success}},
	"a refusal": {func(l *life) { _ = l.do(l.t.Context(), once(ErrRefused)) }, -1, []window.Outcome{window.Overload}},
	"it is over": {func(l *life) {
		ctx := l.cancelled(0)
		<-ctx.Done()
		require.ErrorIs(l.t, l.do(ctx, answers), context.Canceled)
	}, 0, nil},
	"it is closed": {func(l *life) {
		l.Close()
		require.ErrorIs(l.t, l.do(l.t.Context(), answers), aimd.ErrClosed)
	}, 0, unasked},
	"a guard refuses": {func(l *life) {
		l.refuse = errors.New("not now")
		require.ErrorIs(l.t, l.do(l.t.Context(), answers), l.refuse)
	}, 0, nil},
	"it ends while it waits": {func(l *life) {
		defer l.acquire()()
		require.ErrorIs(l.t, l.do(l.within(time.Second), answers), context.DeadlineExceeded)
	}, 0, unasked},
	"it is closed while it waits": {func(l *life) {
		defer l.acquire()()
		time.AfterFunc(time.Second, func() { l.Close() })
		require.ErrorIs(l.t, l.do(l.t.Context(), answers), aimd.ErrClosed)
	}, 0, unasked},
	"it is too late": {func(l *life) {
		l.made(nil) // a law that measures the round trip
		time.AfterFunc(140*time.Millisecond, l.acquire())
		time.Sleep(time.Second)
		time.AfterFunc(140*time.Millisecond, l.acquire())
		err := l.do(l.within(230*time.Millisecond), answers)
		require.ErrorIs(l.t, err, context.DeadlineExceeded) // minio-go drops the reason, and waits for the deadline
		require.EqualValues(l.t, 1, l.Snapshot().TooLate)
	}, 0, unasked},
	"it is urgent": {func(l *life) {
		end := l.acquire()
		var order []string
		var all sync.WaitGroup
		calls := func(ctx context.Context, name string) {
			all.Go(func() {
				_ = l.do(ctx, func(context.Context) error { order = append(order, name); return nil })
			})
			synctest.Wait()
		}
		calls(l.t.Context(), "batch")
		calls(aimd.Urgent(l.t.Context()), "urgent")
		end()
		all.Wait()
		require.Equal(l.t, []string{"urgent", "batch"}, order)
	}, 2, nil},
	"it is cancelled":       {func(l *life) { require.Error(l.t, l.do(l.cancelled(time.Second), waits)) }, 1, unasked},
	"its time is up":        {func(l *life) { require.Error(l.t, l.do(l.within(time.Second), waits)) }, 1, nil}, // a timeout, or unclear
	"the connection breaks": {func(l *life) { _ = l.do(l.t.Context(), once(syscall.ECONNRESET)) }, -1, nil},
	"it panics": {func(l *life) {
		panics := func(context.Context) error { panic("of the network") }
		require.PanicsWithValue(l.t, "of the network", func() { _ = l.do(l.t.Context(), panics) })
	}, 1, unasked},
	"the classifier panics": {func(l *life) {
		l.panics = true
		require.PanicsWithValue(l.t, "of the classifier", func() { _ = l.do(l.t.Context(), once(ErrRefused)) })
	}, 1, unasked},
	"it is within Do": {func(l *life) {
		require.NoError(l.t, l.Do(l.t.Context(), func(ctx context.Context) error { return l.do(ctx, answers) }))
		require.EqualValues(l.t, 1, l.Snapshot().Attempts)
	}, 1, []window.Outcome{window.Success}},
}

// Run makes calls to which all that may happen does. In each the slot is held while the request is sent, and given back
// once. The limiter and its guards hear of each attempt.
func Run(t *testing.T, call Call) {
	for name, c := range lives {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &life{t: t, call: call}
				l.made(aimd.Reno(0.9))
				c.run(l)
				synctest.Wait()
				s := l.Snapshot()
				require.True(t, s.InFlight == 0 && s.Queued == 0 && s.Late == 0, "%v", s)
				require.Zero(t, l.open, "guards that were not told of an end")
				require.Equal(t, s.Attempts, s.Successes+s.Overloads+s.Timeouts+s.Neutrals+s.ClientErrors)
				if c.sent >= 0 {
					require.Equal(t, c.sent, l.sent)
				}
				if c.told != nil {
					require.Equal(t, c.told, l.told[:len(c.told)])
				}
			})
		})
	}
}
