package aimd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/line"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// wall is the source of time.
var wall = clock.New()

var errAtWork = errors.New("aimd: Restore: the limiter has made attempts already")

var errHasSlot = errors.New("aimd: Acquire within an attempt that has a slot")

// Limiter bounds the attempts in flight by a congestion window; other operations wait in a queue, first in, first
// out. Once one is too late for its deadline, the newest with a deadline goes first for a while, and what is too late is
// not sent. Make one with New. It is safe for any number of goroutines; all users of one service share it. Most callers
// want Do, or Each for bulk work. Acquire is for callers that make each attempt themselves, and Begin for
// integrations. All methods of a Limiter that New has not made panic.
type Limiter struct {
	// lived is the time when a part came of an answer whose length is known, while starved. It comes first to be
	// aligned on 32-bit machines.
	lived atomic.Duration

	// These are set once.

	// config is the Config of New, with defaults.
	config Config
	// law is the type of its law: "aimd.reno".
	law    string
	runner attempt.Runner
	clock  clock.Clock
	// made is the time when the limiter was made. The gate's time counts from there.
	made time.Time
	// shut is closed by Close, for callers that wait outside the queue.
	shut chan struct{}
	// idle is closed when the limiter is closed and no attempt is in flight.
	idle chan struct{}

	// settings are the settings in force that may change. They are read without the lock.
	settings atomic.Pointer[Config]
	contact  contact
	// starved: operations wait, and nothing but open answers is in flight.
	starved atomic.Bool
	// changing is held while the settings change, so that no change is lost. It is taken before mu.
	changing sync.Mutex
	// waiters has those not in use. A channel of a testing/synctest bubble must not be used outside.
	waiters sync.Pool

	// mu is the one lock. An event leaves it by unlock, a question by mu.Unlock. Under the lock: decide
	// and book. After it: wake, then call the program's code.
	mu sync.Mutex
	guarded
}

type guarded struct {
	gate limiter.Gate
	line line.Line[*waiter]
	// counts has what Snapshot counts since the start, and nothing else.
	counts Snapshot
	// told is the number of open answers of the latest event.Open.
	told uint64
	// narrowed: the present burst of overloads counts as a cut already.
	narrowed bool
	// longest is the time of the longest of the latest answers; 0 under a law that measures none.
	longest time.Duration
	closed  bool
	pause   pause
	// pauseMin is Config.PauseMin as it was given: if 0, it follows PauseMax.
	pauseMin time.Duration
	// timer calls woke at wake; 0: it is not set.
	timer *clock.Timer
	wake  time.Duration
	// resent has the attempts in flight that took the place of another, by the number of the first.
	resent map[uint64]window.Ticket
	// woken and events are for after the unlock.
	woken  woken
	events []Event
	seq    uint64
	// patient is when the latest item of Each that fails by itself is given up.
	patient time.Duration
	// refused is the time of the latest overload, 0 without one; strange is when an error that nobody knows is an event again.
	refused, strange time.Duration
	// recent are the latest decisions, the oldest first.
	recent []Event
}

// New returns a limiter. New(Config{}) is the one for most programs: its law is [Probe], which needs no tuning. It starts
// no goroutine and need not be closed. The error is a [github.com/aimd-go/aimd/setting.Error]: it names the wrong field,
// its value and the allowed values.
func New(c Config) (*Limiter, error) {
	pauseMin := c.PauseMin
	c, settings, err := c.checked()
	if err != nil {
		return nil, wrong(err)
	}
	law := c.Law(settings.Window)
	gate, err := limiter.NewGate(func(window.Settings) window.Law { return law }, settings)
	if err != nil {
		return nil, wrong(err)
	}
	l := &Limiter{
		config: c, law: strings.TrimPrefix(fmt.Sprintf("%T", law), "*"), clock: wall, made: wall.Now(),
		shut: make(chan struct{}), idle: make(chan struct{}),
		guarded: guarded{gate: gate, line: line.Line[*waiter]{Bound: c.QueueBound}, pauseMin: pauseMin},
	}
	l.runner = attempt.Runner{Slots: (*slots)(l), Policy: c.Policy, Guards: c.guards(), Classifier: c.Classifier}
	l.waiters.New = newWaiter
	inForce := c.tunable()
	l.settings.Store(&inForce)
	return l, nil
}

// ready returns the limiter, or panics if New has not made it. A zero Limiter has no law, so it would admit one attempt
// at a time for ever.
func (l *Limiter) ready() *Limiter {
	if l == nil || l.clock == nil {
		panic("aimd: a Limiter that New has not made is not allowed, want the limiter of aimd.New")
	}
	return l
}

func (l *Limiter) lock() { l.ready().mu.Lock() }

// now is the time since the limiter was made, by one of the machine's clocks; the time of day takes two.
func (l *Limiter) now() time.Duration { return l.clock.Since(l.made) }

// timed reports whether an event needs the time.
func (l *Limiter) timed() bool { return l.config.Observer != nil || l.gate.Timed() }

// cwnd is the window, for those that need nothing else.
func (l *Limiter) cwnd() float64 {
	l.lock()
	defer l.mu.Unlock()
	return l.gate.State().Cwnd
}

// time is the time if it is needed, else 0: reading the clock costs more than all the rest.
func (l *Limiter) time() time.Duration {
	if l.timed() {
		return l.now()
	}
	return 0
}

// unlock ends an event. It admits all operations that may go, sets the timer and releases the lock. Only then it
// wakes the admitted operations and calls the observer.
func (l *Limiter) unlock(now time.Duration) {
	if l.line.Len() == 0 && len(l.events) == 0 && !l.closed && l.woken.first == nil {
		l.mu.Unlock()
		return
	}
	if l.starved.Load() {
		l.gate.Lived(l.lived.Load())
	}
	l.admit(now)
	l.arm()
	if l.closed {
		l.settle()
	}
	all := l.woken
	l.woken = woken{}
	if len(l.events) > 0 {
		l.unlockAndReport(all)
		return
	}
	l.mu.Unlock()
	all.wake()
}

func (l *Limiter) unlockAndReport(all woken) {
	var few [4]Event // so that an event costs no allocation
	events := append(few[:0], l.events...)
	l.events = l.events[:0]
	l.mu.Unlock()
	all.wake()
	for i := range events {
		l.config.Observer(events[i])
	}
}

// admit books all operations that may go, in order, and lists them to be woken. An operation with an amount may have
// come to the front since it was last asked whether it can wait.
func (l *Limiter) admit(now time.Duration) {
	for {
		w := l.turn(now)
		if w != nil && w.amount != 0 && l.dismissed(now, w) {
			continue
		}
		quiet, _ := l.gate.Quiet(now)
		t, ok := l.gate.Next(now, l.line.Len())
		if !ok {
			return
		}
		if quiet > 0 {
			l.opened(now, quiet)
		}
		l.line.Went(&w.Waiter)
		w.ticket = t
		l.held(now, t)
		if l.config.Observer != nil {
			now := l.now()
			l.note(now, Event{Kind: event.Admitted, Wait: now - w.Since})
		}
		l.woken.add(w)
	}
}

func (l *Limiter) arm() {
	if _, quiet := l.gate.Quiet(0); (quiet > 0) != l.starved.Load() {
		l.starved.Store(quiet > 0)
	}
	at, ok := l.gate.Deadline(l.line.Len())
	if !ok || at == l.wake {
		return
	}
	l.wake = at
	d := at - l.now()
	if l.timer == nil {
		l.timer = l.clock.AfterFunc(d, l.woke)
	} else {
		l.timer.Reset(d)
	}
}

func (l *Limiter) woke() {
	l.lock()
	l.wake = 0
	l.unlock(l.now())
}

// Do runs fn as one operation: it waits for a slot, runs fn, and runs fn again while that may help. So fn must be safe
// to repeat. It returns nil after fn returned nil, otherwise an *attempt.Error with the number of attempts, the reason to
// give up, and the last error. It ends when fn succeeds, fn's error is final, or ctx ends.
//
// Tried again are a refusal (429, 503), a time-out of the attempt, a 500 or 502, and a connection that broke. Final are a
// 404 and most other 4xx, a wrong credential, and an error that nobody knows. Config.Classifier decides, by default
// verdict.Classify; [Refused], [Passing] and [Final] say it of an error of your own.
//
// Do also gives up
//
//   - before ctx ends, if its deadline comes before the next attempt may go, or leaves too little time for one. The reason
//     wraps context.DeadlineExceeded;
//   - with ErrOwnFault, if the operation fails again and again while others succeed (Config.MaxFailures). Refusals do
//     not count, nor does an outage;
//   - with ErrNeverAnswered, if the service never answered (Config.FirstContact);
//   - with ErrQuota or ErrWait, if it would wait for longer than Config.MaxWait; ErrAttempts (Config.MaxAttempts);
//     ErrQueueFull (Config.QueueBound); ErrClosed;
//   - with the error of a guard (Config.Guards) or of the policy (Config.Policy).
//
// So bulk work loses no item by refusals and outages, and interactive callers give a deadline.
//
// While an operation waits for its next attempt, its slot is another's. A refused operation waits for the service's
// Retry-After, and then at the front of the queue. One that failed otherwise, or several times, backs off first, and lets
// others go before.
//
// The context of fn is ctx with the attempt's timeout, its number (attempt.Number) and its slot. A Do or Each of the same
// limiter within fn, or a client with an integration of it, makes its attempts under that slot; with another context it waits
// for a second slot, perhaps for ever. The guards are asked for its retries only, and it backs off from its first failure. The
// window hears of each failure that is tried again there, and of the end of fn. Let fn make one call at a time: nothing bounds them.
//
// A policy decides on further attempts, their number, the backoff of an operation, and its Retry-After. Pauses for all
// operations are the limiter's, and so is the number of refusals that the window alone paces. The lower of the two limits
// of attempts counts. The comment of package attempt says how each end of a context counts.
func (l *Limiter) Do(ctx context.Context, fn func(context.Context) error) error {
	return l.ready().runner.Do(ctx, fn)
}

// Begin is for integrations, and for callers that drive their attempts themselves. It asks the guards, waits for a
// slot and returns an attempt, which must be ended (attempt.Attempt.End) and may be followed by another (Next).
// attempt.Number of the context is its number; a retry waits at the front of the queue. After an error, of the
// context, of a guard or of the limiter, there is no attempt.
//
// If ctx holds a slot of the limiter, the new attempt is part of the attempt with that slot: Begin asks no guard
// and does not wait.
func (l *Limiter) Begin(ctx context.Context) (*attempt.Attempt, error) {
	return l.ready().runner.Begin(ctx)
}
