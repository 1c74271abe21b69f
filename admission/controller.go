package admission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Controller admits as many requests at a time as its limit says, makes a few wait,
// and sheds the rest. It is safe for any number of goroutines. It has no goroutine of
// its own and need not be closed.
type Controller struct {
	clock    clock.Clock
	observer func(Event)

	mu   sync.Mutex
	core core[*waiter]
	tally
	// timer calls woke at wake; wake is zero when it is not armed.
	timer *clock.Timer
	wake  time.Time
	// decided and events are what is to do after the unlock.
	decided []*waiter
	events  []Event
	seq     uint64
}

// New returns a controller with the limit, or an error that names the setting
// that is wrong, its value and what is allowed.
func New(l Limit, c Config) (*Controller, error) {
	if c.Clock == nil {
		c.Clock = clock.New()
	}
	if c.Rand == nil {
		c.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	core, err := newCore[*waiter](l, c)
	if err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	return &Controller{clock: c.Clock, observer: c.Observer, core: core}, nil
}

// waiter is one request in Admit that found no free place.
type waiter struct {
	item item[*waiter]
	// ready is closed after permit or shed is set and the lock released.
	ready  chan struct{}
	permit Permit
	shed   *Shed
}

// Admit returns the permit to serve a request. If the limit is reached the request
// waits, for no longer than Config.QueueTime. If it is shed, the error is a [*Shed]. If
// the context ends first, the error is ctx.Err().
//
// Within a request that has a permit of this controller already (see [NewContext]) it
// returns the zero Permit at once: a request that waited for a second place while it
// holds the first could wait for ever.
func (c *Controller) Admit(ctx context.Context, t tag.Tags) (Permit, error) {
	if ctx.Value(permitOf{c}) != nil {
		return Permit{}, nil
	}
	if err := ctx.Err(); err != nil {
		c.missed(t)
		return Permit{}, err
	}
	c.mu.Lock()
	now := c.clock.Now()
	var p Permit
	var w *waiter
	if ticket, ok := c.core.Tried(now); ok {
		p = Permit{c: c, ticket: ticket, tags: t, at: now}
		c.admitted(t)
		c.note(Event{Kind: Admitted, Tags: t})
	} else {
		w = &waiter{ready: make(chan struct{})}
		w.item.Value, w.item.Tags = w, t
		c.queued(t)
		if c.core.Queued(now, &w.item) {
			c.note(Event{Kind: Queued, Tags: t})
		}
	}
	c.unlock(now)
	if w == nil {
		return p, nil
	}
	return c.wait(ctx, w)
}

// missed counts a request whose context had ended before it came.
func (c *Controller) missed(t tag.Tags) {
	c.mu.Lock()
	c.of(t).Vanished++
	c.note(Event{Kind: Vanished, Tags: t})
	c.unlock(c.clock.Now())
}

// wait waits until w is admitted or shed, or the context ends.
func (c *Controller) wait(ctx context.Context, w *waiter) (Permit, error) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		if c.leave(w) {
			return Permit{}, ctx.Err()
		}
		// It was admitted or shed at the same moment; that stands.
		<-w.ready
	}
	if w.shed != nil {
		return Permit{}, w.shed
	}
	return w.permit, nil
}

// leave takes a waiter whose context ended out of the queue. It reports false
// when it is not there any more: then it is or will be ready.
func (c *Controller) leave(w *waiter) bool {
	c.mu.Lock()
	now := c.clock.Now()
	left := c.core.Cancelled(now, &w.item)
	if left {
		c.vanished(w.item.Tags)
		c.note(Event{Kind: Vanished, Tags: w.item.Tags, Wait: c.core.Waited(&w.item)})
	}
	c.unlock(now)
	return left
}

func (c *Controller) release(p Permit, o window.Outcome) error {
	if !o.Valid() {
		panic(wrongOutcome(o))
	}
	c.mu.Lock()
	now := c.clock.Now()
	if c.core.Answered(now, p.ticket, o) == window.Late {
		c.unlock(now)
		return errReleased
	}
	c.outcomes[o]++
	c.note(Event{Kind: Released, Tags: p.tags, Wait: p.waited, Outcome: o, Took: c.core.window.RTT()})
	c.unlock(now)
	return nil
}

func wrongOutcome(o window.Outcome) string {
	return fmt.Sprintf("admission: Permit.Done with %d, want Success, Overload, Timeout, Neutral or ClientError", o)
}

// unlock admits and sheds what it can, sets the timer for the rest, releases the lock,
// and only then wakes the waiters and tells the observer.
func (c *Controller) unlock(now time.Time) {
	c.decide(now)
	c.arm()
	decided, events := c.decided, c.events
	c.decided, c.events = nil, nil
	c.mu.Unlock()
	for _, w := range decided {
		close(w.ready)
	}
	for _, e := range events {
		c.observer(e)
	}
}

func (c *Controller) decide(now time.Time) {
	for i, t := c.core.Next(now); i != nil; i, t = c.core.Next(now) {
		w := i.Value
		w.permit = Permit{c: c, ticket: t, tags: i.Tags, at: now, waited: c.core.Waited(i)}
		c.delayed(i.Tags)
		c.note(Event{Kind: Admitted, Tags: i.Tags, Wait: w.permit.waited})
		c.decided = append(c.decided, w)
	}
	for i, r := c.core.Shed(); i != nil; i, r = c.core.Shed() {
		w := i.Value
		w.shed = &Shed{Reason: r.Reason, RetryAfter: r.RetryAfter, Waited: c.core.Waited(i), Tags: i.Tags}
		c.refused(w.shed)
		c.note(Event{Kind: Refused, Tags: i.Tags, Wait: w.shed.Waited, Reason: r.Reason, RetryAfter: r.RetryAfter})
		c.decided = append(c.decided, w)
	}
}

// arm sets the timer for core.Deadline. A timer that is too early does no harm: it is
// set again then.
func (c *Controller) arm() {
	at, ok := c.core.Deadline()
	if !ok || !c.wake.IsZero() && !at.Before(c.wake) {
		return
	}
	c.wake = at
	d := c.clock.Until(at)
	if c.timer == nil {
		c.timer = c.clock.AfterFunc(d, c.woke)
	} else {
		c.timer.Reset(d)
	}
}

func (c *Controller) woke() {
	c.mu.Lock()
	c.wake = time.Time{}
	c.unlock(c.clock.Now())
}

// note keeps an event for the observer.
func (c *Controller) note(e Event) {
	if c.observer == nil {
		return
	}
	c.seq++
	e.Seq, e.Time, e.Window = c.seq, c.clock.Now(), c.core.window.State()
	e.InFlight, e.Queued = c.core.window.Flying(), c.core.line.len()
	c.events = append(c.events, e)
}
