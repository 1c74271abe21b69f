package schedule

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/internal/check"
)

// Bounds of the period. Our choice: less is a loop and no schedule, and more than a year has no meaning
// to a process.
const (
	minPeriod = 10 * time.Millisecond
	maxPeriod = 365 * 24 * time.Hour
)

// tolerance is the allowed lateness of a run: a hundredth of the period, so that one in a hundred clients that
// stood still runs at once. It is at least a second, which a busy machine may need. Our choice.
func tolerance(period time.Duration) time.Duration { return max(period/100, time.Second) }

func (c Config) withDefaults() (Config, error) {
	c.Rand = cmp.Or(c.Rand, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	return c, cmp.Or(checkPeriod(c.Period), check.Duration("StartWithin", &c.StartWithin, 0, 0, maxPeriod))
}

func checkPeriod(p time.Duration) error {
	return check.Duration("Period", &p, 0, minPeriod, maxPeriod)
}

// plan says when work that repeats is to be done. It is pure; a time older than the last one counts as the
// last one. A driver waits until Next, asks Begin, does the work, and calls Ended.
//
// Invariant: between newPlan or Ended and a Begin that is granted, a run is planned, at Next, not before the
// time of the last event.
type plan struct {
	period       time.Duration
	jitterPeriod bool
	rand         *rand.Rand
	// now is the latest time of an event.
	now time.Time
	// next is the time when the run that is planned, or that is under way, was to begin.
	next    time.Time
	running bool
	// postponed: the run was late already and has been planned again.
	postponed bool
	// missed is how many times a run was put off to a later cell, because its time had passed.
	missed uint64
}

// newPlan returns a plan that starts now. Its settings are right.
func newPlan(now time.Time, s Config) plan {
	c := plan{period: s.Period, jitterPeriod: s.JitterPeriod, rand: s.Rand, now: now}
	if s.StartWithin > 0 {
		c.next = now.Add(c.random(s.StartWithin))
	} else {
		c.next = c.after(now)
	}
	return c
}

// Begin reports whether the run may begin: not before its time, and not while a run is under way. If it is long
// after its time, the run is planned again, and Next has changed. Ended must follow a granted Begin.
func (c *plan) Begin(now time.Time) bool {
	now = c.at(now)
	late := now.Sub(c.next)
	if c.running || late < 0 {
		return false
	}
	if late > tolerance(c.period) && !c.postponed {
		c.postponed = true
		c.missed++
		c.next = c.after(now)
		return false
	}
	c.running, c.postponed = true, false
	return true
}

// Ended ends the run, and plans the next one in the cell after the last plan. "next_execution =
// truncate(next_execution, period); next_execution += random(1.0, 2.0) * period" ([SafeClients]), and if
// that has passed, in the cell after this one. A jittered period counts from now.
func (c *plan) Ended(now time.Time) {
	if !c.running {
		panic("schedule: Ended without a run under way")
	}
	c.running = false
	now = c.at(now)
	if c.jitterPeriod {
		c.next = c.after(now)
		return
	}
	// The last plan as this clock has it: the wall clock may have been set.
	planned := now.Add(c.next.Sub(now))
	c.next = c.inCellAfter(planned)
	if c.next.Before(now) {
		c.missed++
		c.next = c.inCellAfter(now)
	}
}

// SetPeriod changes the period, or returns an error if it is not allowed. The planned run comes on the new
// grid if that is sooner, else the run after it.
func (c *plan) SetPeriod(now time.Time, p time.Duration) error {
	if err := checkPeriod(p); err != nil {
		return err
	}
	now = c.at(now)
	if p == c.period {
		return nil
	}
	c.period = p
	if c.running {
		return nil // Ended plans with it
	}
	if sooner := c.after(now); sooner.Before(c.next) {
		c.next = sooner
	}
	return nil
}

// Next returns the time of the next run, or false while a run is under way.
func (c *plan) Next() (time.Time, bool) { return c.next, !c.running }

// at is the time of an event.
func (c *plan) at(now time.Time) time.Time {
	if now.Before(c.now) {
		return c.now
	}
	c.now = now
	return now
}

// after is a time for the run that follows what happened at t.
func (c *plan) after(t time.Time) time.Time {
	if c.jitterPeriod {
		return t.Add(c.period/2 + c.random(c.period))
	}
	return c.inCellAfter(t)
}

// inCellAfter is a random time in the cell of the grid that follows t's. It is made from t, and so
// compares with the clock that t came from.
func (c *plan) inCellAfter(t time.Time) time.Time {
	since := t.Sub(t.Truncate(c.period))
	return t.Add(c.period - since + c.random(c.period))
}

// random is 0 to d, without d itself.
func (c *plan) random(d time.Duration) time.Duration {
	return min(time.Duration(c.rand.Float64()*float64(d)), d-1)
}
