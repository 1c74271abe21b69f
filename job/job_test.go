package job_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/job"
)

// refused is the error of an answer of 503, with a Retry-After in seconds if it is not "".
func refused(after string) error {
	return &httplimit.StatusError{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {after}}}
}

var errRefused = refused("")

// newLimiter returns a limiter with a window of one attempt.
func newLimiter(t *testing.T, config aimd.Config) *aimd.Limiter {
	config.InitialWindow, config.MaxWindow = 1, 1
	return attempttest.Reno(t, config)
}

// occupy takes the slot of the limiter for that time.
func occupy(t *testing.T, l *aimd.Limiter, d time.Duration) {
	p := attempttest.Acquire(t, l)
	time.AfterFunc(d, func() { p.End(nil) })
}

// end ends an attempt, the only one, with the head of an answer.
func end(l *aimd.Limiter, err error, quotas ...answer.Quota) {
	a, failed := l.Begin(context.Background())
	if failed != nil {
		panic(failed)
	}
	a.Head(err, quotas...)
	a.Drop()
}

// refuseAll lets the service refuse everybody for an hour.
func refuseAll(l *aimd.Limiter) {
	end(l, &httplimit.StatusError{
		StatusCode: http.StatusForbidden, Header: http.Header{"Retry-After": {"3600"}}, Body: []byte("secondary rate limit"),
	})
}

// useUp lets the service report a quota that is used up for an hour.
func useUp(l *aimd.Limiter) {
	end(l, nil, answer.Quota{Name: "calls", Limit: 60, Left: 0, Reset: time.Hour})
}

func nothing(context.Context) error { return nil }

// A refused job is tried again in its worker, before the jobs that wait already.
func TestARefusedJobGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, d := newLimiter(t, aimd.Config{}), &job.Desk{}
		var order []string
		for i := range 3 {
			go func() {
				refused := false
				_, err := d.Run(t.Context(), l, 0, false, func(context.Context) error {
					order = append(order, fmt.Sprint(i))
					time.Sleep(time.Second)
					if i == 0 && !refused {
						refused = true
						return errRefused
					}
					return nil
				})
				assert.NoError(t, err)
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"0", "1", "0", "2"}, order, "the slot that it gives back is another job's")
	})
}

// What a job's error is to its engine, and how long the job had the worker.
func TestWhenAJobGoesBack(t *testing.T) {
	const whole = 10*time.Minute + 50*time.Millisecond // until the deadline, which is not when a job asks again
	final := errors.New("the file is not there")
	for _, c := range []struct {
		name     string
		patience time.Duration
		waiters  int
		stay     bool
		busy     time.Duration
		begin    func(*aimd.Limiter)
		opts     aimd.Config
		work     func(context.Context) error
		want     error // nil: done
		back     bool
		took     time.Duration
	}{
		{name: "a slot in time", patience: time.Minute, busy: time.Second, took: time.Second},
		{name: "patience", patience: time.Minute, busy: time.Hour, want: context.Canceled, back: true, took: time.Minute},
		{name: "it must stay", patience: time.Minute, busy: 5 * time.Minute, stay: true, took: 5 * time.Minute},
		{name: "no bound", busy: whole - time.Second, took: whole - time.Second},
		{name: "the deadline", busy: time.Hour, want: context.DeadlineExceeded, took: whole},
		{name: "refused for longer than the patience", patience: time.Minute, want: errRefused, back: true, took: time.Minute,
			work: func(context.Context) error { return errRefused }},
		{name: "refused until after the deadline", want: context.DeadlineExceeded, back: true, took: 100 * time.Millisecond,
			work: func(context.Context) error {
				return refused("7200")
			},
			opts: aimd.Config{MaxRetryAfter: 3 * time.Hour}},
		{name: "refused until after the deadline, it must stay", stay: true, want: context.DeadlineExceeded, took: whole,
			work: func(context.Context) error {
				return refused("7200")
			},
			opts: aimd.Config{MaxRetryAfter: 3 * time.Hour}},
		{name: "a pause until after the deadline, it must stay", stay: true, want: context.DeadlineExceeded, took: whole, begin: refuseAll,
			opts: aimd.Config{MaxRetryAfter: 3 * time.Hour}},
		{name: "a deadline of its own, it must stay", stay: true, want: context.DeadlineExceeded, took: time.Second,
			work: func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				<-ctx.Done()
				return fmt.Errorf("the work: %w", ctx.Err())
			}, opts: aimd.Config{MaxAttempts: 1}},
		{name: "one waits already", waiters: 1, busy: 10 * time.Second, want: context.Canceled, back: true, took: 100 * time.Millisecond},
		{name: "one waits already, a slot soon", waiters: 1, busy: 10 * time.Millisecond, took: 10 * time.Millisecond},
		{name: "one waits already, it must stay", waiters: 1, stay: true, busy: 10 * time.Second, took: 10 * time.Second},
		{name: "the limiter is closed", begin: func(l *aimd.Limiter) { _ = l.Close() }, want: aimd.ErrClosed, back: true, took: 100 * time.Millisecond},
		{name: "the limiter is closed, it must stay", begin: func(l *aimd.Limiter) { _ = l.Close() }, stay: true, want: context.DeadlineExceeded, took: whole},
		{name: "the queue is full", opts: aimd.Config{QueueBound: 1}, busy: time.Second, waiters: 1, want: aimd.ErrQueueFull, back: true, took: 100 * time.Millisecond},
		{name: "the queue is full, it must stay", opts: aimd.Config{QueueBound: 1}, busy: 950 * time.Millisecond, waiters: 1, stay: true, took: time.Second},
		{name: "a pause longer than MaxWait", begin: refuseAll, opts: aimd.Config{MaxWait: time.Second}, want: aimd.ErrWait, back: true, took: 100 * time.Millisecond},
		{name: "a pause longer than MaxWait, it must stay", begin: refuseAll, opts: aimd.Config{MaxWait: time.Second, MaxRetryAfter: 3 * time.Hour}, stay: true, want: context.DeadlineExceeded, took: whole},
		{name: "a quota that is used up for longer than MaxWait", begin: useUp, opts: aimd.Config{MaxWait: time.Second}, want: aimd.ErrQuota, back: true, took: 100 * time.Millisecond},
		{name: "a wait longer than MaxWait after an attempt", opts: aimd.Config{MaxWait: time.Second}, want: aimd.ErrWait,
			work: func(context.Context) error { return refused("60") }},
		{name: "a final error", work: func(context.Context) error { return final }, want: final},
		{name: "the limit of attempts", opts: aimd.Config{MaxAttempts: 1}, want: aimd.ErrAttempts,
			work: func(context.Context) error { return errRefused }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), whole)
				defer cancel()
				l, d := newLimiter(t, c.opts), &job.Desk{Waiters: c.waiters}
				if c.busy > 0 {
					occupy(t, l, c.busy)
				}
				if c.waiters > 0 {
					go func() { _, _ = d.Run(ctx, l, 0, false, nothing) }()
					synctest.Wait()
				}
				if c.begin != nil {
					c.begin(l)
				}
				if c.work == nil {
					c.work = nothing
				}
				began := time.Now()
				back, err := d.Run(ctx, l, c.patience, c.stay, c.work)
				assert.Equal(t, c.took, time.Since(began))
				assert.ErrorIs(t, err, c.want)
				assert.Equal(t, c.back, back, "%v", err)
				if c.want == final {
					assert.Equal(t, final, err, "nothing around it")
				}
			})
		})
	}
}

// After a panic nobody waits, and the slot is free.
func TestAPanicLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, d := newLimiter(t, aimd.Config{}), &job.Desk{Waiters: 1}
		require.Panics(t, func() { _, _ = d.Run(t.Context(), l, 0, false, func(context.Context) error { panic("no") }) })
		require.Zero(t, l.Snapshot().InFlight)
		occupy(t, l, time.Second)
		_, err := d.Run(t.Context(), l, 0, false, nothing)
		require.NoError(t, err)
	})
}
