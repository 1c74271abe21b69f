package admission

import (
	"time"

	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

const (
	// returning is the share of what the server can serve at which shed requests are
	// told to come back; the rest is for first attempts. Our choice.
	returning = 0.5
	// assumedService is how long a request takes as long as none has succeeded
	// yet. Our choice.
	assumedService = 100 * time.Millisecond
)

// core decides which requests are served, wait, or are shed. It is pure: no goroutine,
// lock, context, clock or global randomness. T is what the driver wants to find again
// in an item.
//
// After each event the driver, the Controller, calls Next and Shed until both return
// nil, and then sets one timer for Deadline, at which it calls Next.
//
// now is the time of the event. A time before the last one counts as the last one.
type core[T any] struct {
	window window.Window
	line   line[T]
	config Config
	// shed has the requests that were shed, until the driver takes them.
	shed queue.Queue[*item[T]]

	// now is the latest time that was seen, began the first.
	now, began time.Time
	// spacedUntil is the earliest time to admit the next request, for a law that paces.
	spacedUntil time.Time
	// returns is when shed requests come back.
	returns returns
	// service is the smoothed time that a success takes, 0 before the first.
	service time.Duration
}

// newCore returns a core in its initial state, or an error that names the
// setting that is wrong, its value and what is allowed.
func newCore[T any](l Limit, c Config) (core[T], error) {
	c, err := c.withDefaults()
	if err != nil {
		return core[T]{}, err
	}
	w, err := l.window()
	if err != nil {
		return core[T]{}, err
	}
	return core[T]{window: w, config: c, returns: returns{Min: c.RetryAfterMin, Max: c.RetryAfterMax}}, nil
}

// Events.

// Tried admits a request if there is a place and nothing waits. If it reports false,
// the request is for Queued.
func (c *core[T]) Tried(now time.Time) (window.Ticket, bool) {
	c.seen(now)
	if c.line.len() > 0 || !c.open() {
		return window.Ticket{}, false
	}
	return c.admit(), true
}

// Queued makes a request wait. If the queue is too long then, the request of the lowest
// level is shed. It reports false if that is this one.
func (c *core[T]) Queued(now time.Time, i *item[T]) bool {
	c.seen(now)
	i.since = c.now
	i.level = levelOf(c.turn(i.Tags), i.Tags.Criticality)
	c.line.push(i)
	if c.line.len() <= c.config.QueueBound {
		return true
	}
	least := c.line.least()
	if least == i {
		c.drop(i, Full)
		return false
	}
	c.drop(least, Displaced)
	return true
}

// Cancelled takes a request out of the queue whose client has gone, and reports false
// if the request is not in the queue (any more).
func (c *core[T]) Cancelled(now time.Time, i *item[T]) bool {
	c.seen(now)
	return c.line.remove(i)
}

// Answered tells how an admitted request ended, and returns what that changed. One that
// is not in service (any more) is window.Late and changes nothing.
func (c *core[T]) Answered(now time.Time, t window.Ticket, o window.Outcome) window.Change {
	c.seen(now)
	change := c.window.Answered(c.now.Sub(c.began), t, o)
	if change != window.Late && o == window.Success {
		c.served(c.window.RTT())
	}
	return change
}

// served smooths the service time as TCP does the round-trip time (RFC 6298,
// section 2.3): 7/8 of the old, 1/8 of the new.
func (c *core[T]) served(took time.Duration) {
	if c.service == 0 {
		c.service = took
	}
	c.service += (took - c.service) / 8
}

// Effects.

// Next takes the next request that may be served now out of the queue and books its
// place. It returns nil if there is none.
func (c *core[T]) Next(now time.Time) (*item[T], window.Ticket) {
	c.seen(now)
	i := c.line.next()
	if i == nil || !c.open() {
		return nil, window.Ticket{}
	}
	c.line.remove(i)
	return i, c.admit()
}

// Shed takes the next request that was shed, with what to tell its client. It returns
// nil if there is none.
func (c *core[T]) Shed() (*item[T], refusal) {
	gone := c.shed.Pop()
	if gone == nil {
		return nil, refusal{}
	}
	return gone.Value, gone.Value.refused
}

// Deadline returns when to call Next again though nothing happened, and false if no
// request waits. Its value may change with every event.
func (c *core[T]) Deadline() (time.Time, bool) {
	i := c.line.oldest()
	if i == nil {
		return time.Time{}, false
	}
	at := i.since.Add(c.config.QueueTime)
	if c.window.Open() && c.now.Before(c.spacedUntil) && c.spacedUntil.Before(at) {
		at = c.spacedUntil
	}
	return at, true
}

// Questions.

// Waited is how long the item waited until the last event.
func (c *core[T]) Waited(i *item[T]) time.Duration { return c.now.Sub(i.since) }

// seen notes the time, and sheds what has waited too long.
func (c *core[T]) seen(now time.Time) {
	if c.began.IsZero() {
		c.began = now
	}
	if now.After(c.now) {
		c.now = now
	}
	for i := c.line.oldest(); i != nil && c.now.Sub(i.since) >= c.config.QueueTime; i = c.line.oldest() {
		c.drop(i, Expired)
	}
}

func (c *core[T]) open() bool { return c.window.Open() && !c.now.Before(c.spacedUntil) }

func (c *core[T]) admit() window.Ticket {
	if gap := c.window.State().Gap; gap > 0 {
		c.spacedUntil = c.now.Add(gap)
	}
	return c.window.Sent(c.now.Sub(c.began))
}

// drop takes a request out of the line and refuses it.
func (c *core[T]) drop(i *item[T], why Reason) {
	c.line.remove(i)
	service := c.service
	if service == 0 {
		service = assumedService
	}
	// Little's law: so many at a time, each so long, make so many in a second.
	each := time.Duration(float64(service) / c.window.State().Cwnd / returning)
	i.refused = refusal{Reason: why, RetryAfter: c.returns.Shed(c.now, each, c.config.Rand.Float64())}
	c.shed.Push(&i.turn)
}

// turn is when the request is to be shed.
func (c *core[T]) turn(t tag.Tags) Turn {
	for _, r := range c.config.Rules {
		if r.Matches(t) {
			return r.Shed
		}
	}
	return Ordinary
}
