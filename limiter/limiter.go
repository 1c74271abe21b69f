package limiter

import (
	"fmt"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/window"
)

// Limiter bounds the attempts in flight by a congestion window, and makes the
// rest wait in a queue, first in, first out. It is safe for any number of
// goroutines. Make one with New, or with NewReno and NewTahoe of package aimd.
//
// Most callers want Do, or Each for bulk work. Acquire is for those who drive
// their attempts themselves.
type Limiter struct {
	// published comes first: its 64-bit values must be aligned, and on 32-bit
	// machines only the start of an allocation is.
	published published

	config Config
	// loop is how Do and Each run an operation.
	loop Loop
	law  window.NewLaw
	// tuning is what of the config is in force since the last Reconfigure.
	tuning atomic.Pointer[Tuning]
	// made is when the limiter was. What the core is told of time counts from here.
	made time.Time
	// timed: the core measures round-trip times.
	timed bool
	// shut is closed by Close, for those who wait outside the queue.
	shut chan struct{}

	// waiters has those not in use. Each limiter has its own: a channel made in
	// a testing/synctest bubble must not be used outside of it.
	waiters sync.Pool

	// The one lock. Under it: decide and book. After it: wake, then call user
	// code. lock and open, below, lock and unlock it.
	latch latch
	// All below is guarded by it.
	core   Core[*waiter]
	closed bool
	// idle is closed when the limiter is closed and nothing flies any more.
	idle chan struct{}
	// timer calls woke at wake; wake is zero when it is not armed.
	timer *clock.Timer
	wake  time.Time
	// timing is the waiter whose wait is being timed.
	timing *waiter
	// woken and events are what is to do after the unlock.
	woken  *waiter
	events []Event
	seq    uint64
}

// New returns a limiter with the law, or an error that names the setting that is
// wrong, its value and what is allowed.
func New(law window.NewLaw, c Config) (*Limiter, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("limiter: %w", err)
	}
	core, err := NewCore[*waiter](law, c.Settings)
	if err != nil {
		return nil, fmt.Errorf("limiter: %w", err)
	}
	l := &Limiter{config: c, law: law, core: core, latch: newLatch(), made: c.Clock.Now(), shut: make(chan struct{}), idle: make(chan struct{})}
	l.core.Began(l.made)
	l.timed = l.core.Timed()
	l.loop = Loop{Policy: c.Policy, Guards: c.Guards, Classifier: c.Classifier, Clock: c.Clock, limiter: l}
	l.waiters.New = newWaiter
	c.Settings = core.rules
	l.tuning.Store(tuningOf(c))
	l.published.state(l.core.State())
	l.lock()
	l.open()
	return l, nil
}

func (p Permit) release(o Outcome, retryAfter time.Duration) error {
	if !o.Valid() {
		panic(fmt.Sprintf("limiter: Permit.Done with %d, want Success, Overload, Timeout, Neutral or ClientError", o))
	}
	l := p.l
	if l == nil {
		return ErrReleased
	}
	l.lock()
	var now, held time.Time
	if o.Overloaded() {
		now, held = l.now(), l.core.Held()
	} else if l.core.NeedsTime() {
		now = l.now()
	}
	before := l.core.State().Cwnd
	change := l.core.Answered(now, p.t, o, retryAfter)
	if o != Success || change != window.Steady || l.config.Observer != nil {
		l.changed(change, o, before, held)
	}
	if l.quiet() {
		l.open()
	} else {
		l.unlock(now)
	}
	if change == window.Late {
		return ErrReleased
	}
	return nil
}

// changed publishes what an answer changed, and notes it for the observer.
func (l *Limiter) changed(change window.Change, o Outcome, before float64, held time.Time) {
	p := &l.published
	if change == window.Late {
		p.late.Inc()
		l.note(Event{Kind: Late, Outcome: o})
		return
	}
	p.state(l.core.State())
	if o != Success {
		p.failures[o].Inc()
	}
	if change == window.Cut {
		p.cuts.Inc()
	}
	l.note(Event{Kind: kindOf[change], Before: before, Outcome: o, RTT: l.core.RTT()})
	if until := l.core.Held(); o.Overloaded() && until.After(held) {
		p.holds.Inc()
		l.note(Event{Kind: Held, Wait: l.config.Clock.Until(until)})
	}
}

// lock locks, and tells the core what went without it.
func (l *Limiter) lock() {
	id, ok := l.latch.tryLock()
	if !ok {
		id = l.latch.lockInLine()
	}
	l.core.SentUpTo(id)
}

// open publishes what is in flight, lays out the slots that are free, and unlocks.
func (l *Limiter) open() {
	free := 0
	if !l.closed {
		free = min(l.core.Free(), freeMost)
	}
	// In a window that is not full this stays the same, so it is rarely stored.
	if c := int64(l.core.Flying() + free); c != l.published.ceiling.Load() {
		l.published.ceiling.Store(c)
	}
	l.latch.unlock(l.core.Last(), free)
}

// time is the time if anything needs it, else the zero time: reading the clock
// costs more than all the rest.
func (l *Limiter) time() time.Time {
	if l.core.NeedsTime() {
		return l.now()
	}
	return time.Time{}
}

// now is the time. To read how much of it went by since the limiter was made
// takes one of the machine's clocks, to read the time takes two.
func (l *Limiter) now() time.Time { return l.made.Add(l.config.Clock.Since(l.made)) }

// note keeps an event for the observer.
func (l *Limiter) note(e Event) {
	if l.config.Observer == nil {
		return
	}
	l.seq++
	e.Seq, e.Time, e.Window = l.seq, l.config.Clock.Now(), l.core.State()
	e.InFlight, e.Queued = l.core.Flying(), l.core.Waiting()
	l.events = append(l.events, e)
}

// unlock admits all who may go, sets the timer for the rest, releases the lock,
// and only then wakes those admitted and tells the observer.
func (l *Limiter) unlock(now time.Time) {
	l.admit(now)
	l.arm()
	if n := int64(l.core.Waiting()); n != l.published.queued.Load() {
		l.published.queued.Store(n)
	}
	if l.closed {
		l.settle()
	}
	woken, events := l.woken, l.events
	l.woken, l.events = nil, nil
	l.open()
	for w := woken; w != nil; {
		next := w.next
		w.next = nil
		w.ready <- struct{}{}
		w = next
	}
	for _, e := range events {
		l.config.Observer(e)
	}
}

// quiet reports that there is nobody to wake and nothing to tell.
func (l *Limiter) quiet() bool {
	return l.core.Waiting() == 0 && l.published.queued.Load() == 0 && l.events == nil && !l.closed
}

// admit books everybody who may go, in order, and lists them to be woken.
func (l *Limiter) admit(now time.Time) {
	last := &l.woken
	for i, t := l.core.Next(now); i != nil; i, t = l.core.Next(now) {
		w := i.Value
		w.ticket = t
		*last, last = w, &w.next
		if w.since > 0 {
			l.waited(w)
		}
	}
}

// waited notes how long a timed waiter waited.
func (l *Limiter) waited(w *waiter) {
	wait := l.config.Clock.Since(l.made) + 1 - w.since
	if l.timing == w {
		l.timing = nil
	}
	if wait > l.published.longestWait.Load() {
		l.published.longestWait.Store(wait)
	}
	l.note(Event{Kind: Admitted, Wait: wait})
}

// arm sets the timer for the next time that somebody may go without an answer.
func (l *Limiter) arm() {
	at, ok := l.core.Deadline()
	if !ok || at.Equal(l.wake) {
		return
	}
	l.wake = at
	d := l.config.Clock.Until(at)
	if l.timer == nil {
		l.timer = l.config.Clock.AfterFunc(d, l.woke)
	} else {
		l.timer.Reset(d)
	}
}

func (l *Limiter) woke() {
	l.lock()
	l.wake = time.Time{}
	l.unlock(l.now())
}
