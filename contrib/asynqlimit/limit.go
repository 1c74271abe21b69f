package asynqlimit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/hibiken/asynq"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/job"
	"github.com/aimd-go/aimd/setting"
)

// ErrHandedBack matches, by errors.Is, the error of a task that goes back to its queue without a result.
// asynq passes it to its ErrorHandler.
var ErrHandedBack = errors.New("aimd: handed back")

// Settings say which limiter a task waits for. Either Limiter or Of is required.
type Settings struct {
	// Limiter is the limiter of all tasks.
	Limiter *aimd.Limiter
	// Of returns the limiter of a task, such as For of an aimd.Keyed with the task's tenant, or with its
	// queue (asynq.GetQueueName). nil without an error: the task needs no limiter. An error is the task's.
	Of func(ctx context.Context, t *asynq.Task) (*aimd.Limiter, error)
	// Waiters is the number of workers that may wait at a time, so that other queues find a worker. Tasks beyond
	// that number are handed back. 0 means half of the workers if the server has several queues, otherwise
	// all workers; negative: all.
	Waiters int
}

// Limit returns a middleware that lets each task wait for a slot of the limiter. It also changes the config, so
// call it before asynq.NewServer. For IsFailure a task that is handed back has not failed; for RetryDelayFunc its
// delay is 0. It panics if an argument is nil.
//
//	mux.Use(asynqlimit.Limit(&cfg, lim))
func Limit(c *asynq.Config, l *aimd.Limiter) asynq.MiddlewareFunc {
	limit, err := LimitBy(c, Settings{Limiter: l})
	if err != nil {
		panic(err)
	}
	return limit
}

// LimitBy is Limit with a limiter for each queue or tenant, or a bound of the workers that wait. The error names the
// wrong setting.
func LimitBy(c *asynq.Config, s Settings) (asynq.MiddlewareFunc, error) {
	switch {
	case c == nil:
		return nil, fmt.Errorf("asynqlimit: %w", &setting.Error{Name: "config", Value: "nil"})
	case s.Limiter == nil && s.Of == nil:
		return nil, fmt.Errorf("asynqlimit: %w", &setting.Error{Name: "Limiter", Value: "nil", Want: "either Limiter or Of"})
	case s.Limiter != nil && s.Of != nil:
		return nil, fmt.Errorf("asynqlimit: %w", &setting.Error{Name: "Of", Value: "a function", Want: "either Limiter or Of"})
	}
	excuse(c)
	d := &job.Desk{Waiters: max(0, s.Waiters), Final: func(err error) bool {
		return errors.Is(err, asynq.SkipRetry) || errors.Is(err, asynq.RevokeTask)
	}}
	if s.Waiters == 0 && len(c.Queues) > 1 {
		workers := c.Concurrency
		if workers < 1 {
			workers = runtime.GOMAXPROCS(0) // as asynq
		}
		d.Waiters = (workers + 1) / 2
	}
	return func(next asynq.Handler) asynq.Handler {
		return asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
			l, err := s.Limiter, error(nil)
			if s.Of != nil {
				l, err = s.Of(ctx, t)
			}
			if err != nil {
				return err
			}
			back, err := d.Run(ctx, l, patience(ctx), last(ctx), func(ctx context.Context) error { return next.ProcessTask(ctx, t) })
			if back {
				return fmt.Errorf("%w: %w", ErrHandedBack, err)
			}
			return err
		})
	}, nil
}

// excuse makes the config count no attempt of a task that is handed back.
func excuse(c *asynq.Config) {
	failure, delay := c.IsFailure, c.RetryDelayFunc
	if delay == nil {
		delay = asynq.DefaultRetryDelayFunc
	}
	c.IsFailure = func(err error) bool {
		return err != nil && !errors.Is(err, ErrHandedBack) && (failure == nil || failure(err))
	}
	c.RetryDelayFunc = func(n int, err error, t *asynq.Task) time.Duration {
		if errors.Is(err, ErrHandedBack) {
			return 0
		}
		return delay(n, err, t)
	}
}

// patience is half of the task's time: the other half is for its work.
func patience(ctx context.Context) time.Duration {
	at, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(1, time.Until(at)/2)
}

// last reports whether asynq archives the task if it is handed back.
func last(ctx context.Context) bool {
	retried, ok := asynq.GetRetryCount(ctx)
	most, _ := asynq.GetMaxRetry(ctx)
	return !ok || retried >= most
}
