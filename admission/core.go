package admission

import (
	"cmp"
	"time"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

const (
	// returning is the part of the server's capacity at which shed requests come back; the rest is for
	// first attempts. Our choice.
	returning = 0.5
	// A request with less time left than trips mean services is too late, with less than half of its time at most. In a crowd, for
	// crowded times the QueueTime, the newest with a deadline goes first: oldest first, each would be served for nobody. Both are
	// the rules of package internal/line, which has no levels.
	trips, crowded = 2, 8
	// assumedService is the time that a request takes before the first one has succeeded. Our choice.
	assumedService = 100 * time.Millisecond
)

// core decides which requests are served, wait, or are shed. It is pure. After each event its driver, the
// Controller, calls Next until it returns nil, and then sets one timer for Deadline. now is the time of the
// event since any start that stays the same; a time before the last one counts as the last one.
type core struct {
	gate   limiter.Gate
	line   line
	config Config
	// shed has the requests that were shed, until the driver takes them.
	shed []*request
	// now is the latest time that was seen; until booked the shed requests come back.
	now, booked time.Duration
	// service is the smoothed time that a success takes, 0 before the first.
	service time.Duration
	// crowd is the end of the time in which the newest goes first.
	crowd time.Duration
}

func newCore(l Limit, c Config) (core, error) {
	c, err := c.withDefaults()
	if err != nil {
		return core{}, err
	}
	g, err := l.gate(c.Rand)
	return core{gate: g, config: c}, err
}

// Tried admits a request if there is a place and no request waits.
func (c *core) Tried(now time.Duration) (window.Ticket, bool) {
	c.seen(now)
	if c.line.n > 0 {
		return window.Ticket{}, false
	}
	return c.gate.Tried(c.now)
}

// Queued makes a request wait. If the queue is too long then, the request of the lowest level is shed.
func (c *core) Queued(now time.Duration, r *request) {
	c.seen(now)
	r.since = c.now
	c.line.push(r)
	if c.line.n <= c.config.QueueBound {
		return
	}
	least, why := c.line.least(), displaced
	if least == r {
		why = full
	}
	c.drop(least, why)
}

// Cancelled takes a request out of the queue, and reports false if it is not in the queue.
func (c *core) Cancelled(now time.Duration, r *request) bool {
	c.seen(now)
	if !c.line.remove(r) {
		return false
	}
	if c.now >= r.deadline {
		c.late(r)
	}
	return true
}

// late begins a crowd: a request that came after the last one could not be served by its deadline.
func (c *core) late(r *request) {
	if r.deadline != 0 && r.since >= c.crowd {
		c.crowd = c.now + crowded*c.config.QueueTime
	}
}

// next is the request whose turn it is, nil if the line is empty. It sheds those before it that have too little time left.
func (c *core) next() *request {
	for {
		r := c.line.next(c.now < c.crowd)
		if r == nil || r.deadline == 0 || c.now+min(trips*c.service, (r.deadline-r.since)/2) <= r.deadline {
			return r
		}
		c.drop(r, expired)
	}
}

// Answered ends an admitted request, and returns the time that it took, or false if it is not in service.
func (c *core) Answered(now time.Duration, t window.Ticket, o window.Outcome) (a window.End, ok bool) {
	c.seen(now)
	a, ok = c.gate.Answered(c.now, t, o, 0)
	if ok && o == window.Success {
		// As TCP smooths the round-trip time (RFC 6298, section 2.3).
		c.service = cmp.Or(c.service, a.RTT)
		c.service += (a.RTT - c.service) / 8
	}
	return a, ok
}

// Next returns the next request that left the queue: it was shed, or it may be served now and its place is
// booked.
func (c *core) Next(now time.Duration) *request {
	c.seen(now)
	r := c.next()
	if len(c.shed) > 0 {
		r := c.shed[0]
		c.shed = c.shed[1:]
		return r
	}
	t, ok := c.gate.Next(c.now, c.line.n)
	if !ok {
		return nil
	}
	c.line.remove(r)
	r.ticket = t
	return r
}

// Deadline returns when to call Next again without an event, and false if no request waits.
func (c *core) Deadline() (time.Duration, bool) {
	r := oldest(c.line.levels[:])
	if r == nil {
		return 0, false
	}
	at := r.since + c.config.QueueTime
	if due, ok := c.gate.Deadline(c.line.n); ok {
		at = min(at, due)
	}
	return at, true
}

// Waited is the time that the request waited until the last event.
func (c *core) Waited(r *request) time.Duration { return c.now - r.since }

// seen notes the time, and sheds requests that waited too long.
func (c *core) seen(now time.Duration) {
	c.now = max(c.now, now)
	for r := oldest(c.line.levels[:]); r != nil && c.Waited(r) >= c.config.QueueTime; r = oldest(c.line.levels[:]) {
		c.drop(r, expired)
	}
}

func (c *core) drop(r *request, why string) {
	if c.line.remove(r); why == expired {
		c.late(r)
	}
	// Little's law: n at a time, each for a time, make n requests in that time.
	each := float64(cmp.Or(c.service, assumedService)) / c.gate.State().Cwnd / returning
	r.shed = &Shed{Reason: why, RetryAfter: c.back(time.Duration(each)), Waited: c.Waited(r), Tags: r.tags}
	c.shed = append(c.shed, r)
}

// back returns the Retry-After of one more shed request, jittered by "period * random(.5, 1.5)" (Safe Client
// Behaviour). each is the time between two returns that the server can bear. Each shed request books its part of
// the time ahead, as in a leaky bucket (the virtual scheduling of ITU-T I.371).
func (c *core) back(each time.Duration) time.Duration {
	ahead := min(max(0, c.booked-c.now)+each, c.config.RetryAfterMax)
	c.booked = c.now + ahead
	return time.Duration(float64(max(ahead, c.config.RetryAfterMin)) * (0.5 + c.config.Rand.Float64()))
}
