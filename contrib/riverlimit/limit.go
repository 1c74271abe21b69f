package riverlimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/job"
	"github.com/aimd-go/aimd/setting"
)

// Settings say which limiter a job waits for. Either Limiter or Of is required.
type Settings struct {
	// Limiter is the limiter of all jobs.
	Limiter *aimd.Limiter
	// Of returns the limiter of a job, such as For of an aimd.Keyed with the job's queue, kind or
	// tenant. nil without an error: the job needs no limiter. An error is the job's.
	Of func(*rivertype.JobRow) (*aimd.Limiter, error)
	// Waiters is the number of workers, of all queues, that may wait at a time. Jobs beyond that number are handed
	// back. 0 or negative: any number, since each queue has its own workers.
	Waiters int
}

const (
	// rescue is river's default of RescueStuckJobsAfter, without JobTimeout.
	rescue = time.Hour
	// snooze is the time that a job is away that found too many others. Our choice: as long as river's
	// scheduler waits between two looks.
	snooze = 5 * time.Second
)

// Limit adds a middleware to the config that lets each job wait for a slot of the limiter. Call it before
// river.NewClient, and after JobTimeout and RescueStuckJobsAfter are set. It panics if an argument is nil.
func Limit(c *river.Config, l *aimd.Limiter) {
	if err := LimitBy(c, Settings{Limiter: l}); err != nil {
		panic(err)
	}
}

// LimitBy is Limit with a limiter for each queue, kind or tenant, or a bound of the workers that wait. The error names
// the wrong setting.
func LimitBy(c *river.Config, s Settings) error {
	switch {
	case c == nil:
		return fmt.Errorf("riverlimit: %w", &setting.Error{Name: "config", Value: "nil"})
	case s.Limiter == nil && s.Of == nil:
		return fmt.Errorf("riverlimit: %w", &setting.Error{Name: "Limiter", Value: "nil", Want: "either Limiter or Of"})
	case s.Limiter != nil && s.Of != nil:
		return fmt.Errorf("riverlimit: %w", &setting.Error{Name: "Of", Value: "a function", Want: "either Limiter or Of"})
	}
	if s.Of == nil {
		s.Of = func(*rivertype.JobRow) (*aimd.Limiter, error) { return s.Limiter, nil }
	}
	rescued := c.RescueStuckJobsAfter
	if rescued == 0 {
		rescued = rescue + max(0, c.JobTimeout)
	}
	d := &job.Desk{Waiters: max(0, s.Waiters), Final: func(err error) bool {
		return errors.Is(err, new(river.JobCancelError)) || errors.Is(err, new(river.JobSnoozeError))
	}}
	c.Middleware = append(slices.Clip(c.Middleware), river.WorkerMiddlewareFunc(
		func(ctx context.Context, row *rivertype.JobRow, work func(context.Context) error) error {
			l, err := s.Of(row)
			if err != nil {
				return err
			}
			back, err := d.Run(ctx, l, rescued/2, false, work)
			switch {
			case !back:
				return err
			case errors.Is(err, aimd.ErrClosed):
				return river.JobSnooze(0) // another process may have it at once
			}
			return river.JobSnooze(snooze)
		}))
	return nil
}
