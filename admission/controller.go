package admission

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	gate "github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Controller admits as many requests at a time as its limit says, makes a few wait, and
// sheds the rest. It is safe for any number of goroutines. It has no goroutine of its own
// and need not be closed.
type Controller struct {
	clock    clock.Clock
	observer func(Event)
	// made is when the controller was made. The core's time counts from there.
	made time.Time

	mu     sync.Mutex
	core   core
	counts counts
	// timer calls woke at wake; 0: it is not set.
	timer *clock.Timer
	wake  time.Duration
	// decided and events are for after the unlock.
	decided []*request
	events  []Event
	seq     uint64
}

// New returns a controller with the limit, or an error that names the wrong setting, its
// value and the allowed values.
func New(l Limit, c Config) (*Controller, error) {
	core, err := newCore(l, c)
	if err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	source := core.config.Clock
	return &Controller{clock: source, observer: c.Observer, made: source.Now(), core: core}, nil
}

// Admit returns the permit to serve a request. If the limit is reached the request waits,
// for no longer than Config.QueueTime. If it is shed, the error is a [*Shed]. If the
// context ends first, the error is ctx.Err().
//
// Within a request that has a permit of this controller already (see [NewContext]) it
// returns the zero Permit at once: to wait for a second place with the first in hand could
// last for ever.
func (c *Controller) Admit(ctx context.Context, t tag.Tags) (Permit, error) {
	if ctx.Value(permitOf{c}) != nil {
		return Permit{}, nil
	}
	if err := ctx.Err(); err != nil {
		c.mu.Lock()
		c.note(Event{Kind: Vanished, Tags: t}, false)
		c.unlock(c.now())
		return Permit{}, err
	}
	c.mu.Lock()
	now := c.now()
	if ticket, ok := c.core.Tried(now); ok {
		c.note(Event{Kind: Admitted, Tags: t}, false)
		c.unlock(now)
		return Permit{c: c, ticket: ticket, tags: t, at: now}, nil
	}
	r := &request{tags: t, ready: make(chan struct{})}
	if c.core.Queued(now, r) {
		c.note(Event{Kind: Queued, Tags: t}, true)
	}
	c.unlock(now)
	select {
	case <-r.ready:
	case <-ctx.Done():
		if c.leave(r) {
			return Permit{}, ctx.Err()
		}
		// It was admitted or shed at the same moment; that stands.
		<-r.ready
	}
	if r.shed != nil {
		return Permit{}, r.shed
	}
	return r.permit, nil
}

// leave takes a request whose context ended out of the queue. It reports false if the
// request has left the queue: then it is or will be ready.
func (c *Controller) leave(r *request) bool {
	c.mu.Lock()
	now := c.now()
	left := c.core.Cancelled(now, r)
	if left {
		c.note(Event{Kind: Vanished, Tags: r.tags, Wait: c.core.Waited(r)}, true)
	}
	c.unlock(now)
	return left
}

func (c *Controller) release(p Permit, o window.Outcome) error {
	c.mu.Lock()
	now := c.now()
	change := c.core.Answered(now, p.ticket, o)
	if change != gate.Late {
		c.note(Event{Kind: Released, Tags: p.tags, Wait: p.waited, Outcome: o, Took: c.core.gate.RTT()}, false)
	}
	c.unlock(now)
	if change == gate.Late {
		return errReleased
	}
	return nil
}

// now is the time since the controller was made.
func (c *Controller) now() time.Duration { return c.clock.Since(c.made) }

// unlock is the one way out of the lock: it admits and sheds what it can, sets the timer
// for the rest, releases the lock, and only then wakes the waiters and calls the observer.
func (c *Controller) unlock(now time.Duration) {
	for r, t := c.core.Next(now); r != nil; r, t = c.core.Next(now) {
		r.permit = Permit{c: c, ticket: t, tags: r.tags, at: now, waited: c.core.Waited(r)}
		c.note(Event{Kind: Admitted, Tags: r.tags, Wait: r.permit.waited}, true)
		c.decided = append(c.decided, r)
	}
	for r := c.core.Shed(); r != nil; r = c.core.Shed() {
		e := Event{Kind: Refused, Tags: r.tags, Wait: r.shed.Waited, Reason: r.shed.Reason, RetryAfter: r.shed.RetryAfter}
		c.note(e, e.Reason != Full) // a request that finds the queue full was not queued
		c.decided = append(c.decided, r)
	}
	c.arm()
	decided, events := c.decided, c.events
	c.decided, c.events = nil, nil
	c.mu.Unlock()
	for _, r := range decided {
		close(r.ready)
	}
	for _, e := range events {
		c.observer(e)
	}
}

// arm sets the timer for core.Deadline. A timer that is too early does no harm: it is set
// again then.
func (c *Controller) arm() {
	at, ok := c.core.Deadline()
	if !ok || c.wake != 0 && at >= c.wake {
		return
	}
	c.wake = at
	d := at - c.now()
	if c.timer == nil {
		c.timer = c.clock.AfterFunc(d, c.woke)
	} else {
		c.timer.Reset(d)
	}
}

func (c *Controller) woke() {
	c.mu.Lock()
	c.wake = 0
	c.unlock(c.now())
}

// note counts an event and keeps it for the observer. queued: the request waited in the
// queue, or does now.
func (c *Controller) note(e Event, queued bool) {
	c.counts.note(e, queued)
	if c.observer == nil {
		return
	}
	c.seq++
	e.Seq, e.Time, e.Window = c.seq, c.clock.Now(), c.core.gate.State()
	e.InFlight, e.Queued = c.core.gate.Flying(), c.core.line.len()
	c.events = append(c.events, e)
}
