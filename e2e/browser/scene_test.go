package browser

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// refused is a 503, maybe with a Retry-After.
type refused struct{ retryAfter time.Duration }

func (refused) Error() string { return http.StatusText(http.StatusServiceUnavailable) }

func (r refused) Verdict() attempt.Verdict {
	return attempt.Verdict{Outcome: window.Overload, Retry: true, RetryAfter: r.retryAfter}
}

// play runs so many callers through a limiter, until the test ends, against a service
// that takes 24 at a time, and for a while fewer, and for a while none.
func play(t *testing.T, l *limiter.Limiter, callers int) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	var flying atomic.Int64
	began := time.Now()
	attempt := func(context.Context) error {
		defer flying.Add(-1)
		n := flying.Add(1)
		switch at := time.Since(began); {
		case at > 5*time.Second && at < 6*time.Second:
			time.Sleep(10 * time.Millisecond)
			return refused{time.Second}
		case n > 24 || n > 10 && at > 3*time.Second && at < 5*time.Second:
			time.Sleep(10 * time.Millisecond)
			return refused{}
		}
		time.Sleep(60 * time.Millisecond)
		return nil
	}
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				_ = l.Do(ctx, attempt) // it ends with the context
			}
		})
	}
}
