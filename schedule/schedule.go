package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
)

// Config has the settings of a Schedule.
type Config struct {
	// Period is the mean time between two runs: 10 ms to a year. It is the cell of the grid, which is aligned to
	// the zero time in UTC.
	Period time.Duration
	// StartWithin spreads the first run over this time from the start, up to a year. If many clients start
	// together, set about a period or more. 0: the first run is in the first whole cell of the grid.
	StartWithin time.Duration
	// JitterPeriod makes each run begin a period times U(0.5, 1.5) after the end of the run before, without a grid.
	// The first run comes that long after the start, unless StartWithin is set.
	JitterPeriod bool
	// Rand is the source of jitter, which no other code may use; nil means one with a random seed.
	Rand *rand.Rand
}

// Schedule runs a job again and again, at jittered times. It is safe for any number of goroutines. Make one
// with New.
type Schedule struct {
	clock clock.Clock
	// changed has one element if there is a new plan.
	changed chan struct{}

	mu   sync.Mutex
	core plan // guarded by mu, as are the fields below
	runs uint64
	// running: a Run has not returned.
	running bool
	// period is the one of New.
	period time.Duration
}

// New returns a Schedule whose first run is planned from now on, or an error that names the wrong setting, its
// value and the allowed values. No job runs before Run.
func New(c Config) (*Schedule, error) { return newOn(clock.New(), c) }

func newOn(source clock.Clock, c Config) (*Schedule, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	return &Schedule{clock: source, core: newPlan(source.Now(), c), period: c.Period, changed: make(chan struct{}, 1)}, nil
}

// Run calls the job at the times of the schedule, one call at a time, in this goroutine and with this context. It
// ends when the context ends, after the job under way, and returns the context's error unwrapped. The job hears of
// that end by its context, unless it takes another. While another Run has not returned, it returns another error. After
// the context's end it may be called again. If the job panics, so does Run.
func (s *Schedule) Run(ctx context.Context, job func(context.Context)) error {
	if !s.enter(true) {
		return errors.New("schedule: runs already")
	}
	defer s.enter(false)
	for ctx.Err() == nil {
		if d := s.begin(); d > 0 {
			s.wait(ctx, d)
		} else {
			s.once(ctx, job)
		}
	}
	return ctx.Err()
}

// SetPeriod changes the period, or returns an error with the allowed values; 0 restores the period of New. If the
// new grid has a sooner run, the planned run moves to it. Otherwise the change counts from the run after the
// planned run.
func (s *Schedule) SetPeriod(p time.Duration) error {
	s.mu.Lock()
	err := s.core.SetPeriod(s.clock.Now(), cmp.Or(p, s.period))
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	select {
	case s.changed <- struct{}{}:
	default: // wait has not taken the last change yet
	}
	return nil
}

// Snapshot is the state of a Schedule at a moment.
type Snapshot struct {
	Period time.Duration
	// Next is the time for which the next run is planned; zero while a run is under way.
	Next time.Time
	// Runs is the number of runs that have begun, Missed the number that were planned again because their time had passed.
	Runs, Missed uint64
}

// Snapshot returns the present state.
func (s *Schedule) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := Snapshot{Period: s.core.period, Runs: s.runs, Missed: s.core.missed}
	if next, planned := s.core.Next(); planned {
		snap.Next = next
	}
	return snap
}

// enter says whether a Run is under way from now on, and reports false if that is so already.
func (s *Schedule) enter(running bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.running != running
	s.running = running
	return changed
}

// begin begins a run if its time has come and returns 0, or returns how long to wait.
func (s *Schedule) begin() (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if s.core.Begin(now) {
		s.runs++
		return 0
	}
	next, _ := s.core.Next()
	return next.Sub(now)
}

// wait returns after that time, or before it if there is something new.
func (s *Schedule) wait(ctx context.Context, d time.Duration) {
	timer := s.clock.Timer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.changed:
	case <-ctx.Done():
	}
}

// once calls the job; the run ends even if the job panics.
func (s *Schedule) once(ctx context.Context, job func(context.Context)) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.core.Ended(s.clock.Now())
	}()
	job(ctx)
}
