// Package attempttest holds that an integration begins and ends attempts as package attempt says, whatever happens to
// a call. It is for tests.
package attempttest

import (
	"context"
	"errors"
	"net/http"
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
type Call func(ctx context.Context, l *aimd.Limiter, send Trip) error

// Trip is the network of a Call, and over HTTP its RoundTripper: it answers with a 200, or with a 503.
type Trip func(context.Context) error

// RoundTrip implements http.RoundTripper.
func (send Trip) RoundTrip(req *http.Request) (*http.Response, error) {
	err := send(req.Context())
	if req.Body != nil {
		_ = req.Body.Close()
	}
	status := http.StatusOK
	if errors.Is(err, ErrRefused) {
		status, err = http.StatusServiceUnavailable, nil
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Etag": {`"x"`}}, Body: http.NoBody, Request: req}, err
}

// life is a limiter with one slot, the calls under it, and a guard that keeps what it hears.
type life struct {
	*aimd.Limiter
	*testing.T
	call   Call
	sent   int
	read   verdict.Classifier
	refuse error
	heard  chan window.Outcome // at each end; 0 if the service was not asked
}

func (l *life) Admit(context.Context, int) error          { return l.refuse }
func (l *life) Ended(_ context.Context, o window.Outcome) { l.heard <- o }

func (l *life) acquire() (end func()) {
	p := Acquire(l.T, l.Limiter)
	return func() { p.End(nil) }
}

func (l *life) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(l.Context(), d)
	l.Cleanup(cancel)
	return ctx
}

// do makes a call. Each send holds the slot, and those after the first are answered well.
func (l *life) do(ctx context.Context, send Trip) error {
	first := true
	return l.call(ctx, l.Limiter, func(ctx context.Context) error {
		l.sent++
		require.Equal(l, 1, l.Snapshot().InFlight)
		if !first {
			return nil
		}
		first = false
		return send(ctx)
	})
}

func says(err error) Trip { return func(context.Context) error { return err } }
func waits(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// fails makes a call that is not sent.
func (l *life) fails(ctx context.Context, want error) { require.ErrorIs(l, l.do(ctx, says(nil)), want) }

const whatever window.Outcome = 255

// lives are what may happen to a call, with the number of sends, -1 if an integration may send again, and what the
// guards hear of the first attempt: 0 if the service was not asked, or its answer is not known.
var lives = map[string]struct {
	run   func(l *life)
	sent  int
	heard window.Outcome
}{
	"an answer":              {func(l *life) { require.NoError(l, l.do(l.Context(), says(nil))) }, 1, window.Success},
	"a refusal":              {func(l *life) { _ = l.do(l.Context(), says(ErrRefused)) }, -1, window.Overload},
	"the connection breaks":  {func(l *life) { _ = l.do(l.Context(), says(syscall.ECONNRESET)) }, -1, whatever},
	"its time is up":         {func(l *life) { require.Error(l, l.do(l.within(time.Second), waits)) }, 1, whatever},
	"it is over":             {func(l *life) { l.fails(l.within(0), context.DeadlineExceeded) }, 0, whatever},
	"it is closed":           {func(l *life) { l.Close(); l.fails(l.Context(), aimd.ErrClosed) }, 0, 0},
	"a guard refuses":        {func(l *life) { l.refuse = errors.ErrUnsupported; l.fails(l.Context(), l.refuse) }, 0, whatever},
	"it ends while it waits": {func(l *life) { defer l.acquire()(); l.fails(l.within(time.Second), context.DeadlineExceeded) }, 0, 0},
	"it is closed while it waits": {func(l *life) {
		defer l.acquire()()
		time.AfterFunc(time.Second, func() { l.Close() })
		l.fails(l.Context(), aimd.ErrClosed)
	}, 0, 0},
	"it is cancelled": {func(l *life) {
		ctx, cancel := context.WithCancel(l.Context())
		time.AfterFunc(time.Second, cancel)
		require.Error(l, l.do(ctx, waits))
	}, 1, 0},
	"it is too late": {func(l *life) {
		time.AfterFunc(140*time.Millisecond, l.acquire())
		time.Sleep(time.Second)
		time.AfterFunc(140*time.Millisecond, l.acquire())
		l.fails(l.within(230*time.Millisecond), context.DeadlineExceeded) // minio-go drops the reason, and waits for it
		require.EqualValues(l, 1, l.Snapshot().TooLate)
	}, 0, 0},
	"it is urgent": {func(l *life) {
		end, order := l.acquire(), []int{}
		for i, ctx := range []context.Context{l.Context(), aimd.Urgent(l.Context())} {
			go l.do(ctx, func(context.Context) error { order = append(order, i); return nil })
			synctest.Wait()
		}
		end()
		synctest.Wait()
		require.Equal(l, []int{1, 0}, order)
	}, 2, whatever},
	"it panics": {func(l *life) {
		panics := func(context.Context) error { panic("of the network") }
		require.PanicsWithValue(l, "of the network", func() { _ = l.do(l.Context(), panics) })
	}, 1, 0},
	"the classifier panics": {func(l *life) {
		l.read = func(error) verdict.Verdict { panic("of the classifier") }
		require.PanicsWithValue(l, "of the classifier", func() { _ = l.do(l.Context(), says(ErrRefused)) })
	}, 1, 0},
	"it is within Do": {func(l *life) {
		require.NoError(l, l.Do(l.Context(), func(ctx context.Context) error { return l.do(ctx, says(nil)) }))
		require.EqualValues(l, 1, l.Snapshot().Attempts)
	}, 1, window.Success},
}

// Run makes calls to which all that may happen does. In each the slot is held while the request is sent, and given back
// once. The limiter and its guards hear of each attempt.
func Run(t *testing.T, call Call) {
	for name, c := range lives {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &life{T: t, call: call, read: verdict.Classify, heard: make(chan window.Outcome, 100)}
				read := func(err error) verdict.Verdict { return l.read(err) }
				l.Limiter = Limiter(t, aimd.Config{MaxWindow: 1, Guards: []attempt.Guard{l}, Classifier: read})
				c.run(l)
				synctest.Wait()
				s := l.Snapshot()
				require.True(t, s.InFlight == 0 && s.Queued == 0 && s.Late == 0, "%v", s)
				require.Equal(t, s.Attempts, s.Successes+s.Overloads+s.Timeouts+s.Neutrals+s.ClientErrors)
				require.True(t, c.sent < 0 || c.sent == l.sent, "%d sends", l.sent)
				if c.heard != whatever {
					require.Equal(t, c.heard, <-l.heard)
				}
			})
		})
	}
}
