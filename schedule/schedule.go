package schedule

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/internal/grid"
)

// ErrStopped is returned by Run after Stop or Drain.
var ErrStopped = errors.New("schedule: stopped")

// Config is what a Schedule is made from.
type Config struct {
	// Period is the time between two runs on average, and the cell of the grid,
	// which is aligned to the zero time in UTC: 10 ms to a year. 5 min is
	// common.
	Period time.Duration
	// StartWithin spreads the first run over so long a time from the start; up to a
	// year. Many clients may start together, so it should not be much less than the
	// period. 0: the first run is in the first whole cell of the grid, nothing to two
	// periods from the start.
	StartWithin time.Duration
	// JitterPeriod lets each run begin a period times U(0.5, 1.5) after the end of the
	// one before, without a grid, and the first one so long after the start, unless
	// StartWithin says otherwise. It is for work that must not come twice in a short
	// time, as it may on the grid. After a common start it takes some periods until the
	// load is even.
	JitterPeriod bool
	// Rand is the source of jitter, used by nothing else at the same time; nil:
	// one with a random seed.
	Rand *rand.Rand
	// Clock is the source of time; nil: the real one.
	Clock clock.Clock
}

// Schedule does work again and again, at jittered times. It is safe for any
// number of goroutines. Make one with New.
type Schedule struct {
	clock clock.Clock
	// stop is closed by Stop; changed has one element when there is a new plan.
	stop    chan struct{}
	changed chan struct{}

	mu      sync.Mutex
	core    grid.Core // guarded by mu, as is all below
	stopped bool
	runs    uint64
	// done is closed when the Run that is being called returns; nil: none is.
	done chan struct{}
}

// New returns a Schedule whose first run is planned from now on, or an error that
// names the setting that is wrong, its value and what is allowed. Nothing runs
// before Run.
func New(c Config) (*Schedule, error) {
	if c.Clock == nil {
		c.Clock = clock.New()
	}
	if c.Rand == nil {
		c.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	core, err := grid.New(c.Clock.Now(), grid.Settings{
		Period: c.Period, StartWithin: c.StartWithin, JitterPeriod: c.JitterPeriod, Rand: c.Rand,
	})
	if err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	return &Schedule{clock: c.Clock, core: core, stop: make(chan struct{}), changed: make(chan struct{}, 1)}, nil
}

// Run calls the job at the times of the schedule, one call at a time, in this
// goroutine and with this context, until the context ends or Stop is called. A
// job under way is waited for: it should honour its context.
//
// It returns the context's error as it is, or nil after Stop; ErrStopped if Stop was
// called before, and another error if another Run has not returned. After the
// context's end it may be called again.
//
// If the job panics, so does Run.
func (s *Schedule) Run(ctx context.Context, job func(context.Context)) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	for {
		if err := s.wait(ctx); errors.Is(err, ErrStopped) {
			return nil
		} else if err != nil {
			return err
		}
		s.once(ctx, job)
	}
}

// Stop makes Run return: no job begins from now on, one under way goes on. It
// may be called more than once.
func (s *Schedule) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.stopped = true
		close(s.stop)
	}
}

// Drain stops the schedule and waits until Run has returned, and so the job that
// was under way. If the context ends first it returns an error that matches the
// context's, and the job goes on until the context of Run ends. The job itself must
// not call Drain, which would wait for it; it may call Stop.
func (s *Schedule) Drain(ctx context.Context) error {
	s.Stop()
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("schedule: the job still runs: %w", ctx.Err())
	}
}

// SetPeriod changes the period from now on, or returns an error that says what
// is allowed. The run that is planned comes on the new grid if that is sooner;
// else the change counts from the run after it. The same period again changes
// nothing. A job under way is left alone.
func (s *Schedule) SetPeriod(p time.Duration) error {
	s.mu.Lock()
	err := s.core.SetPeriod(s.clock.Now(), p)
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	select {
	case s.changed <- struct{}{}:
	default: // told already
	}
	return nil
}

// Snapshot is the state of a Schedule at a moment.
type Snapshot struct {
	// Period is the one in force.
	Period time.Duration
	// Next is when the next run is planned; zero while one is under way.
	Next time.Time
	// Runs is how many have begun.
	Runs uint64
	// Missed is how many times a run was planned anew, because its time had passed.
	Missed uint64
}

// Snapshot returns the state now.
func (s *Schedule) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := Snapshot{Period: s.core.Period(), Runs: s.runs, Missed: s.core.Missed()}
	if next, planned := s.core.Next(); planned {
		snap.Next = next
	}
	return snap
}

func (s *Schedule) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return ErrStopped
	}
	if s.done != nil {
		return errors.New("schedule: runs already")
	}
	s.done = make(chan struct{})
	return nil
}

func (s *Schedule) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.done)
	s.done = nil
}

// wait waits until a run has been granted, or returns why there is none.
func (s *Schedule) wait(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := s.begin()
		if d <= 0 {
			return err
		}
		timer := s.clock.Timer(d)
		select {
		case <-timer.C:
		case <-s.changed:
		case <-s.stop:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// begin begins a run if its time has come, or returns how long to wait. Stopped
// and begun are decided under one lock: after Stop nothing begins.
func (s *Schedule) begin() (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return 0, ErrStopped
	}
	now := s.clock.Now()
	if s.core.Begin(now) {
		s.runs++
		return 0, nil
	}
	next, _ := s.core.Next()
	return next.Sub(now), nil
}

// once does the job; whatever happens, the run has ended then.
func (s *Schedule) once(ctx context.Context, job func(context.Context)) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.core.Ended(s.clock.Now())
	}()
	job(ctx)
}
