package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

var (
	errHold   = errors.New("the time of --hold is over")
	errSilent = errors.New("the service sent no byte for too long")
)

// wait is the context of a request. Its deadline is the end of the time for which the request may wait, so the
// limiter holds no request that would wait for longer. An attempt that is in flight then goes on to its end.
type wait struct {
	context.Context
	cancel context.CancelCauseFunc
	until  time.Time
	// timer ends the wait and, once there is an answer, a body that stays silent.
	timer *time.Timer

	mu            sync.Mutex
	flying, ended bool
	// body is that of the answer, nil before there is one, and idle the longest time without a byte of it.
	body io.ReadCloser
	idle time.Duration
	// refusal is the head of the last answer that the program did not get.
	refusal http.Header
}

type waitKey struct{}

func waitOf(r *http.Request) *wait { return r.Context().Value(waitKey{}).(*wait) }

func newWait(parent context.Context, hold time.Duration) *wait {
	// A slot that is free is taken, so a little time is left if there is none to wait.
	hold = max(hold, time.Millisecond)
	w := &wait{until: time.Now().Add(hold)}
	w.Context, w.cancel = context.WithCancelCause(parent)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(hold, w.late)
	return w
}

func (w *wait) late() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	switch {
	case w.body != nil:
		w.cancel(errSilent)
	case !w.flying:
		w.cancel(errHold)
	}
}

func (w *wait) end() {
	w.timer.Stop()
	w.cancel(nil)
}

func (w *wait) Deadline() (time.Time, bool) { return w.until, true }

func (w *wait) Value(key any) any {
	if key == (waitKey{}) {
		return w
	}
	return w.Context.Value(key)
}

func (w *wait) fly() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return errHold
	}
	w.flying = true
	return nil
}

// land notes the answer. One that may be followed by another is waiting again; the last stays in flight, as long
// as its body lasts.
func (w *wait) land(resp *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if resp != nil {
		w.refusal = resp.Header
	}
	w.flying = resp != nil && (resp.StatusCode < http.StatusBadRequest || w.ended)
}

// watched is a wait as the body of its answer. It ends the request if the service sends no byte for so long. From
// the answer on, the hold has no effect.
type watched wait

func (w *wait) watch(body io.ReadCloser, idle time.Duration) io.ReadCloser {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.body, w.idle = body, idle
	w.timer.Reset(idle)
	return (*watched)(w)
}

func (b *watched) Read(p []byte) (int, error) {
	b.timer.Reset(b.idle)
	return b.body.Read(p)
}

func (b *watched) Close() error { return b.body.Close() }
