package limiter

import (
	"time"

	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// Core is the limiter without its lock: a window, a queue and a gate. It
// decides who goes now and when to look again. It is pure: no goroutine,
// lock, context, clock or global randomness; T is whatever the driver wants to
// find again in an item that waits.
//
// Limiter drives it behind a lock, on real time; a simulator drives the same
// Core on virtual time. Every driver does, after each event: call Next until
// it says no, then arm one timer for Deadline.
//
// now is the time of the event. It may be the zero time when NeedsTime says
// that no time is needed. A time before the last one counts as the last one.
type Core[T any] struct {
	window window.Window
	queue  queue.Queue[T]
	rules  Settings

	// now is the latest time that was seen.
	now time.Time
	// heldUntil is when the gate opens; the zero time: it is open. While it is
	// shut nothing is sent, whatever the window says.
	heldUntil time.Time
	// spacedUntil is the earliest time for the next send of a law that paces.
	spacedUntil time.Time
}

// NewCore returns a core in its initial state, or an error that names the
// setting that is wrong, its value and what is allowed.
func NewCore[T any](law window.NewLaw, s Settings) (Core[T], error) {
	s, err := s.withDefaults()
	if err != nil {
		return Core[T]{}, err
	}
	w, err := window.New(law, s.Window)
	if err != nil {
		return Core[T]{}, err
	}
	if s.Restore != nil {
		if err := w.Restored(*s.Restore); err != nil {
			return Core[T]{}, err
		}
	}
	return Core[T]{window: w, queue: queue.Queue[T]{Bound: s.QueueBound}, rules: s}, nil
}

// Events.

// Began tells when the core's time begins, for tickets that are stamped by the
// driver. Call it before anything else, or not at all.
func (c *Core[T]) Began(now time.Time) { c.window.Began(now) }

// Tried sends an attempt at once if it may go now, ahead of nobody. It reports
// false when it has to wait: the window is full, the gate is shut, or others
// wait already.
func (c *Core[T]) Tried(now time.Time) (window.Ticket, bool) {
	if c.queue.Len() > 0 || !c.open(c.seen(now)) {
		return window.Ticket{}, false
	}
	return c.send(), true
}

// SentUpTo tells that all attempts up to the one with this id were sent by leave
// of Free, without a call each.
func (c *Core[T]) SentUpTo(id uint64) { c.window.SentUpTo(id) }

// Queued puts a new operation at the end of the queue, and reports false when
// the queue is full.
func (c *Core[T]) Queued(i *queue.Item[T]) bool { return c.queue.Push(i) }

// Rejoined puts an operation whose last attempt failed at the front of the
// queue, behind others of its kind.
func (c *Core[T]) Rejoined(i *queue.Item[T]) { c.queue.PutBack(i) }

// Cancelled takes an operation out of the queue, and reports false when it does
// not wait there (any more).
func (c *Core[T]) Cancelled(i *queue.Item[T]) bool { return c.queue.Remove(i) }

// Dismissed takes the operation at the front out of the queue without sending
// it: what a driver that shuts down does until it returns nil.
func (c *Core[T]) Dismissed() *queue.Item[T] { return c.queue.Pop() }

// Withdrawn takes back a ticket that was given and not used. It reports false
// when the attempt does not fly.
func (c *Core[T]) Withdrawn(t window.Ticket) bool { return c.window.Withdrawn(t) }

// Answered tells how an attempt ended, and the service's Retry-After with it
// (0: none), and returns what that changed. An attempt that does not fly is
// window.Late and changes nothing: a second answer, or a late one.
func (c *Core[T]) Answered(now time.Time, t window.Ticket, o window.Outcome, retryAfter time.Duration) window.Change {
	if !now.IsZero() {
		now = c.seen(now)
	}
	change := c.window.Answered(now, t, o)
	if change == window.Cut || change == window.Ignored {
		c.overloaded(now, change == window.Cut, retryAfter)
	}
	return change
}

// overloaded shuts the gate if it is time to.
//
// The first cut after a success shuts nothing: the window alone reacts. From
// the second on, with no success in between though all that flew at the one
// before had its answer, the window is not enough. Each such cut pauses
// everybody, twice as long as the one before: TCP's doubled timeout (RFC 6298,
// section 5.5).
//
// A Retry-After speaks for everybody only when these pauses did not help either
// (Settings.Patience). A service with a smooth rate cap and short answers
// refuses twice within milliseconds and takes more a moment later: whoever
// stops for its "1 second" each time gets a fifteenth of what it gives
// (TestRetryAfterOfASmoothRateCap in package sim).
func (c *Core[T]) overloaded(now time.Time, cut bool, retryAfter time.Duration) {
	streak := c.window.Streak()
	if streak < 2 {
		return
	}
	var d time.Duration
	if cut {
		d = c.pause(streak - 2)
	}
	if retryAfter > 0 && streak >= c.rules.Patience {
		d = max(d, c.retryAfter(retryAfter))
		c.window.Restarted()
	}
	if until := now.Add(d); d > 0 && until.After(c.heldUntil) {
		c.heldUntil = until
	}
}

// Effects.

// Next takes the next operation that may go now out of the queue and books its
// attempt. It returns nil when nobody may go.
func (c *Core[T]) Next(now time.Time) (*queue.Item[T], window.Ticket) {
	if c.queue.Len() == 0 || !c.open(c.seen(now)) {
		return nil, window.Ticket{}
	}
	return c.queue.Pop(), c.send()
}

// Deadline returns when to call Next again though nothing happened, and false
// when only an event can let anybody go. Its value may change with every event.
func (c *Core[T]) Deadline() (time.Time, bool) {
	switch {
	case c.queue.Len() == 0:
		return time.Time{}, false
	case c.now.Before(c.heldUntil):
		return c.heldUntil, true
	case c.window.Open() && c.now.Before(c.spacedUntil):
		return c.spacedUntil, true
	}
	return time.Time{}, false
}

// RetryDelay is how long an operation of which so many attempts failed in a
// row waits by itself, without a slot and outside the queue, before it rejoins.
// last is the outcome of the attempt that failed last.
//
// A Retry-After delays the operation that got it. Beside that, the window
// paces overloads, so an operation backs off by itself only after several of
// them (Settings.Patience); a neutral failure is the operation's own
// affair from the first one.
func (c *Core[T]) RetryDelay(failures int, last window.Outcome, retryAfter time.Duration) time.Duration {
	var d time.Duration
	if n := c.rules.Backoffs(failures, last); n > 0 {
		d = c.pause(n - 1)
	}
	return max(d, c.retryAfter(retryAfter))
}

// Questions.

// NeedsTime reports whether the next event needs the time: the gate is shut,
// or the law paces or wants round-trip times. An overload always does.
func (c *Core[T]) NeedsTime() bool {
	return c.window.Timed() || !c.heldUntil.IsZero() || c.window.State().Gap > 0
}

// Free is how many attempts may be sent, from here on and before the next event,
// without a call of Tried for each: 0 when somebody waits, the gate is shut, or
// the law paces. Tell of them with SentUpTo before that event; their tickets
// are those of window.Stamped, with the time if the core is Timed.
func (c *Core[T]) Free() int {
	if c.queue.Len() > 0 || !c.heldUntil.IsZero() || c.window.State().Gap > 0 {
		return 0
	}
	return c.window.Free()
}

// Timed reports whether round-trip times are measured. It never changes.
func (c *Core[T]) Timed() bool { return c.window.Timed() }

// Last is the id of the attempt sent last, 0 if none was.
func (c *Core[T]) Last() uint64 { return c.window.Last() }

// State is the window's state.
func (c *Core[T]) State() window.State { return c.window.State() }

// Flying is the number of attempts in flight.
func (c *Core[T]) Flying() int { return c.window.Flying() }

// Waiting is the number of operations in the queue.
func (c *Core[T]) Waiting() int { return c.queue.Len() }

// RTT is the round-trip time of the attempt answered last, 0 when not measured.
func (c *Core[T]) RTT() time.Duration { return c.window.RTT() }

// Held returns when the gate opens, the zero time if it is open.
func (c *Core[T]) Held() time.Time { return c.heldUntil }

// seen notes the time, and never goes back. It opens the gate when it is due.
func (c *Core[T]) seen(now time.Time) time.Time {
	if !now.IsZero() && now.After(c.now) {
		c.now = now
		if !c.heldUntil.IsZero() && !now.Before(c.heldUntil) {
			c.heldUntil = time.Time{}
		}
	}
	return c.now
}

func (c *Core[T]) open(now time.Time) bool {
	return c.heldUntil.IsZero() && c.window.Open() && !now.Before(c.spacedUntil)
}

func (c *Core[T]) send() window.Ticket {
	if gap := c.window.State().Gap; gap > 0 {
		c.spacedUntil = c.now.Add(gap)
	}
	return c.window.Sent(c.now)
}

// pause is the shortest pause doubled n times, the longest at the most, times a
// random number from 0.5 to 1.5, so that many clients that stopped together
// do not start together ("Jitter everything", seed 3).
func (c *Core[T]) pause(n int) time.Duration {
	lo, hi := c.rules.PauseMin, c.rules.PauseMax
	if hi < 0 {
		return 0
	}
	d := hi
	// 62 doublings of a nanosecond are 146 years; past that it would overflow.
	if n <= 62 && lo < hi>>n {
		d = lo << n
	}
	return time.Duration(float64(d) * (0.5 + c.rules.Rand.Float64()))
}

func (c *Core[T]) retryAfter(asked time.Duration) time.Duration {
	return RetryAfter(asked, c.rules.RetryAfterMax, c.rules.Rand)
}

// RetryAfter is how long to stay away from a service that asked for that: no
// longer than the longest, and jitter on top: half of it, a second at the most.
// Never less than asked, and a spread that is worth something to the service
// without making a long wait much longer. 0 if it did not ask. r is the source
// of jitter.
func RetryAfter(asked, longest time.Duration, r interface{ Float64() float64 }) time.Duration {
	if asked <= 0 {
		return 0
	}
	d := min(asked, longest)
	return d + time.Duration(r.Float64()*float64(min(d/2, time.Second)))
}
