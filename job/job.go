// Package job runs the jobs of a job engine under a limiter. contrib/asynqlimit and contrib/riverlimit use it, and
// so can an integration of another engine. A job waits for its slot in the engine's worker. A refused job is tried
// again there, at the front of the queue. A job that waits too long goes back to its engine, which brings it to a
// worker again.
package job

import (
	"context"
	"errors"
	"math"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
)

// brief is the least time that a job has its worker before it goes back. Our choice: at most ten jobs a second
// cycle between the engine and each worker, and other queues do not wait long for the worker.
const brief = 100 * time.Millisecond

// Desk runs the jobs of one server of an engine. The zero Desk lets any number of jobs wait. It is safe for
// any number of goroutines.
type Desk struct {
	// Waiters is the number of jobs that may wait at a time; 0: any number. A further job waits for 100 ms.
	Waiters int
	// Final reports an error by which the work tells its engine what to do: no further attempt, another time. It ends the
	// job, also if it wraps a refusal, which the limiter hears. It is never called with nil; nil: there is none.
	Final func(error) bool

	waiting atomic.Int32
}

// Run runs work as one operation of the limiter, as its Do does. patience is the longest time for which it waits
// for slots, in all; 0: no bound. A nil limiter lets the work run at once. Run returns nil, the error of work if
// that is final, or the *attempt.Error if a guard, a policy or a limit of attempts ended the operation.
//
// If back is true, the job goes back to its engine without a result, and the engine should not count it as an attempt.
// The error is then an *attempt.Error, with the refusal if there was one. With stay the job waits until ctx ends,
// because its engine would count its return as a failure: also if a pause is longer than that. A job goes back if it
// waits for longer than patience, if its next attempt is due after its deadline, and if the limiter is closed or has a
// full queue. It also goes back if its first attempt would wait for longer than aimd.Config.MaxWait. After an attempt
// that wait is a failure: the engine counts it, and backs off.
func (d *Desk) Run(ctx context.Context, l *aimd.Limiter, patience time.Duration, stay bool, work func(context.Context) error) (back bool, err error) {
	if l == nil {
		return false, work(ctx)
	}
	w := &wait{desk: d, stay: stay}
	if patience > 0 {
		w.until = time.Now().Add(patience)
	}
	for {
		began := time.Now()
		back, err = w.do(ctx, l, work)
		if !back || ctx.Err() != nil {
			return back && !stay, err // ctx may end after do looked
		}
		select {
		case <-time.After(brief - time.Since(began)):
		case <-ctx.Done():
		}
		if !stay {
			return back, err
		}
	}
}

// errPatience is why a job that waited too long goes back.
var errPatience = errors.New("no slot in time")

// wait is the waiting of one job.
type wait struct {
	desk *Desk
	stay bool
	// until is the time when the job goes back if it waits then; zero: never.
	until time.Time

	// end ends the context of the job, and timer calls it; timer is nil while the job does not wait.
	end   context.CancelCauseFunc
	timer *time.Timer
	// final is an error of the work that ends the job.
	final error
}

// do is one round of Run.
func (w *wait) do(ctx context.Context, l *aimd.Limiter, work func(context.Context) error) (back bool, err error) {
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	w.end = end
	w.begin()
	defer w.over()
	err = l.Do(inner, func(ctx context.Context) error {
		if !w.over() {
			end(errPatience) // the timer's own call may be under way
			return context.Canceled
		}
		defer w.begin()
		err := work(ctx)
		if err != nil && w.desk.Final != nil && w.desk.Final(err) {
			w.final = err
			end(nil)
		}
		return err
	})
	story, _ := err.(*attempt.Error) // nil if err is
	switch {
	case w.final != nil:
		return false, w.final
	case story == nil:
		return false, err
	case story.Reason == nil:
		return false, story.Cause
	case w.stay && errors.Is(story.Reason, context.DeadlineExceeded):
		<-ctx.Done() // a pause is longer: told at once, its worker would take the next job, and empty the engine's queue
		return false, err
	case ctx.Err() != nil:
		return false, err
	}
	back = context.Cause(inner) == errPatience ||
		errors.Is(story.Reason, context.DeadlineExceeded) || // the next attempt is due after it
		errors.Is(story.Reason, aimd.ErrClosed) || errors.Is(story.Reason, aimd.ErrQueueFull) ||
		story.Attempts == 0 && (errors.Is(story.Reason, aimd.ErrWait) || errors.Is(story.Reason, aimd.ErrQuota))
	return back, err
}

// begin begins to wait.
func (w *wait) begin() {
	n := w.desk.waiting.Inc()
	patience := time.Duration(math.MaxInt64)
	switch most := w.desk.Waiters; {
	case w.stay:
	case most > 0 && int(n) > most:
		patience = brief
	case !w.until.IsZero():
		patience = time.Until(w.until)
	}
	w.timer = time.AfterFunc(patience, func() { w.end(errPatience) })
}

// over ends what begin began, and reports false if the patience was over before.
func (w *wait) over() bool {
	if w.timer == nil {
		return true
	}
	w.desk.waiting.Dec()
	intime := w.timer.Stop()
	w.timer = nil
	return intime
}
