package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// warden is a guard that keeps what it was told, and refuses what it is to refuse.
type warden struct {
	mu     sync.Mutex
	log    []string
	open   int
	refuse func(ctx context.Context, attempt int) error
}

func (w *warden) Admit(ctx context.Context, attempt int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		if err := w.refuse(ctx, attempt); err != nil {
			w.log = append(w.log, fmt.Sprintf("refused %d", attempt))
			return err
		}
	}
	w.open++
	w.log = append(w.log, fmt.Sprintf("admitted %d", attempt))
	return nil
}

func (w *warden) Ended(_ context.Context, o window.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
	w.log = append(w.log, o.String())
}

var errRefused = errors.New("refused by a guard")

// refuseFrom refuses attempts from that number on.
func refuseFrom(n int) func(context.Context, int) error {
	return func(_ context.Context, attempt int) error {
		if attempt >= n {
			return errRefused
		}
		return nil
	}
}

func guarded(guards ...attempt.Guard) func(*limiter.Config) {
	return func(c *limiter.Config) { c.Guards = guards }
}

func TestGuardsAreAskedBeforeEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w warden
		l := newLimiter(t, 4, guarded(&w))
		fn, _ := failing(2, status{code: 503})
		require.NoError(t, l.Do(t.Context(), fn))
		require.Equal(t, []string{"admitted 1", "overload", "admitted 2", "overload", "admitted 3", "success"}, w.log)
	})
}

// What a guard refuses fails at once, "never a tighter loop", and never after the
// delay: the Retry-After here is an hour.
func TestARefusalEndsTheOperationAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &warden{}, &warden{refuse: refuseFrom(2)}
		l := newLimiter(t, 4, guarded(first, second))
		cause := status{code: 503, after: time.Hour}
		fn, calls := failing(9, cause)
		start := time.Now()
		err := l.Do(t.Context(), fn)
		require.EqualError(t, err, "gave up after 1 attempt: refused by a guard; last error: 503 Service Unavailable")
		require.ErrorIs(t, err, errRefused)
		require.ErrorIs(t, err, cause)
		require.Zero(t, time.Since(start))
		require.Equal(t, 1, *calls)
		require.Equal(t, []string{"admitted 1", "overload", "admitted 2", "none"}, first.log, "the one before hears that it was not sent")
		require.Equal(t, []string{"admitted 1", "overload", "refused 2"}, second.log)

		second.refuse = refuseFrom(1)
		err = l.Do(t.Context(), fn)
		require.EqualError(t, err, "gave up before the first attempt: refused by a guard")
		require.Equal(t, 1, *calls)
		require.Zero(t, first.open+second.open)
	})
}

// Each Admit that returned nil is followed by exactly one Ended, whatever happens.
func TestEveryAdmittedAttemptEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w warden
		l := newLimiter(t, 1, guarded(&w))
		last := func() string { return w.log[len(w.log)-1] }

		require.Panics(t, func() { _ = l.Do(t.Context(), func(context.Context) error { panic("boom") }) })
		require.Equal(t, "none", last())

		exited := make(chan struct{})
		go func() {
			defer close(exited)
			_ = l.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
		}()
		<-exited
		require.Equal(t, "none", last())

		// The context ends in the queue, and while an operation backs off.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p, _ := l.TryAcquire()
		require.ErrorIs(t, l.Do(ctx, func(context.Context) error { return nil }), context.DeadlineExceeded)
		require.Equal(t, "none", last())
		require.NoError(t, p.Done(window.Success))
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.ErrorIs(t, l.Do(ctx, func(context.Context) error { return status{code: 503, after: time.Hour} }), context.Canceled)
		require.Equal(t, "none", last())
		require.Zero(t, w.open)

		asked := len(w.log)
		require.ErrorIs(t, l.Do(ctx, func(context.Context) error { return nil }), context.Canceled)
		require.Len(t, w.log, asked, "nobody is asked when the context has ended")

		l.Close()
		require.ErrorIs(t, l.Do(t.Context(), func(context.Context) error { return nil }), limiter.ErrClosed)
		require.Zero(t, w.open)
	})
}

func TestGuardsOfEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := &warden{refuse: func(context.Context, int) error {
			if n++; n%3 == 0 {
				return errRefused
			}
			return nil
		}}
		l := newLimiter(t, 4, guarded(w))
		ok, refused := 0, 0
		for _, err := range aimd.Each(t.Context(), l, count(90), func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		}) {
			if err == nil {
				ok++
				continue
			}
			require.EqualError(t, err, "gave up before the first attempt: refused by a guard")
			refused++
		}
		require.Equal(t, 60, ok)
		require.Equal(t, 30, refused, "what is refused is the end of that item alone")
		require.Zero(t, w.open)
		require.Zero(t, l.Snapshot().InFlight)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		over := 0
		for _, err := range aimd.Each(ctx, l, count(90), func(context.Context, int) error { return nil }) {
			require.ErrorIs(t, err, context.Canceled)
			over++
		}
		require.Equal(t, 1, over, "what was pulled is yielded")
		require.Zero(t, w.open)
	})
}

func TestEachGoesOnWithAPanicOfAGuard(t *testing.T) {
	l := newLimiter(t, 4, guarded(&warden{refuse: func(context.Context, int) error { panic("boom") }}))
	require.Panics(t, func() {
		for range aimd.Each(t.Context(), l, count(9), func(context.Context, int) error { return nil }) {
			t.Error("nothing runs")
		}
	})
}

func TestNoGuardIsNil(t *testing.T) {
	_, err := limiter.New(nil, limiter.Config{Guards: []attempt.Guard{&warden{}, nil}})
	require.EqualError(t, err, "limiter: Guards: nil is not allowed")
}
