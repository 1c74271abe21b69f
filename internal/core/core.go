package core

import (
	"time"

	"github.com/aimd-go/aimd/internal/jitter"
	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// Core is the limiter without its lock: a window, a queue and the pauses. It
// decides who goes now and when to look again. It is pure: no goroutine,
// lock, context, clock or global randomness; T is whatever the driver wants to
// find again in an item that waits.
//
// limiter.Limiter drives it behind a lock, on real time; a simulator drives the same
// Core on virtual time. Every driver does, after each event: call Next until
// it says no, then arm one timer for Deadline.
//
// now is the time of the event, counted from any start that stays the same. A time
// before the last one counts as the last one; so 0 will do for
// an event that needs no time: see Timed.
type Core[T any] struct {
	window window.Window
	queue  queue.Queue[T]
	rules  Settings

	// now is the latest time that was seen.
	now time.Duration
	// pausedUntil is when the pause for everybody ends. Before that nothing is sent,
	// whatever the window says.
	pausedUntil time.Duration
	// sent is the last send of a law that spaces its sends: when it went, or was due if
	// the timer was late. A send that is not timed counts from the time seen last.
	sent time.Duration
	// held: the gap alone held back the operation at the front when Next was last
	// asked, so that what the next send is late is the timer's lateness.
	held bool
	// spread is by how much the next gap is stretched where it is spread.
	spread float64
}

// lateness is by how much a timer may be late without the next sends being so too. On a
// busy machine that is many milliseconds: with a bound of 2 ms a law that spaces its sends
// by 3 ms took a twentieth more time for a store.
const lateness = 20 * time.Millisecond

// New returns a core in its initial state, or an error that names the
// setting that is wrong, its value and what is allowed.
func New[T any](law window.NewLaw, s Settings) (Core[T], error) {
	s, err := s.WithDefaults()
	if err != nil {
		return Core[T]{}, err
	}
	w, err := window.New(law, s.Window)
	if err != nil {
		return Core[T]{}, err
	}
	return Core[T]{window: w, queue: queue.Queue[T]{Bound: s.QueueBound}, rules: s, sent: -2 * window.MaxGap, spread: 1}, nil
}

// Events.

// Restored puts the window to a state that was learned earlier, or returns an error
// that names what is wrong with it.
func (c *Core[T]) Restored(s window.State) error { return c.window.Restored(s) }

// Tried sends an attempt at once if it may go now. It reports false when it has to
// wait: the window is full, there is a pause, or others wait already.
func (c *Core[T]) Tried(now time.Duration) (window.Ticket, bool) {
	if c.queue.Len() > 0 || !c.window.Open() || c.Timed() && !c.open(now) {
		return window.Ticket{}, false
	}
	c.held = false
	return c.send(), true
}

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
// when the attempt is not in flight.
func (c *Core[T]) Withdrawn(t window.Ticket) bool { return c.window.Withdrawn(t) }

// Answered tells how an attempt ended, and the service's Retry-After with it
// (0: none), and returns what that changed. An attempt that is not in flight is
// window.Late and changes nothing: a second answer, or a late one.
func (c *Core[T]) Answered(now time.Duration, t window.Ticket, o window.Outcome, retryAfter time.Duration) window.Change {
	change := c.window.Answered(c.seen(now), t, o)
	if change == window.Cut || change == window.Ignored {
		c.overloaded(change == window.Cut, retryAfter)
	}
	return change
}

// overloaded begins a pause for everybody if it is time to.
//
// The first cut after an answer that was accepted pauses nothing: the window alone
// reacts. From the second on, with no such answer in between though all that was in
// flight at the one before had its answer, the window is not enough. Each such
// cut pauses everybody, twice as long as the one before: TCP's doubled timeout (RFC
// 6298, section 5.5). A law that spaces its sends below a window of one has that in
// its gap, and gets none.
//
// A Retry-After speaks for everybody only when these pauses did not help either
// (Settings.Patience). A service with a smooth rate cap and short answers
// refuses twice within milliseconds and takes more a moment later: a client that
// stops for its "1 second" each time gets a fifteenth of what it gives
// (TestRetryAfterOfASmoothRateCap in package sim).
func (c *Core[T]) overloaded(cut bool, retryAfter time.Duration) {
	streak := c.window.Streak()
	if streak < 2 {
		return
	}
	var d time.Duration
	if cut && !c.spaced() {
		d = c.pause(streak - 2)
	}
	if retryAfter > 0 && streak >= c.rules.Patience {
		d = max(d, c.retryAfter(retryAfter))
		c.window.Restarted()
	}
	if d > 0 {
		c.pausedUntil = max(c.pausedUntil, c.now+d)
	}
}

// Effects.

// Next takes the next operation that may go now out of the queue and books its
// attempt. It returns nil when nobody may go.
func (c *Core[T]) Next(now time.Duration) (*queue.Item[T], window.Ticket) {
	if c.queue.Len() == 0 || !c.open(now) {
		c.held = c.queue.Len() > 0 && c.window.Open() && c.now >= c.pausedUntil
		return nil, window.Ticket{}
	}
	return c.queue.Pop(), c.send()
}

// Deadline returns when to call Next again though nothing happened, and false
// when only an event can let anybody go. Its value may change with every event.
func (c *Core[T]) Deadline() (time.Duration, bool) {
	at := c.pausedUntil
	if c.window.Open() {
		at = max(at, c.due())
	}
	return at, c.queue.Len() > 0 && at > c.now
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
	if n := c.Backoffs(failures, last); n > 0 {
		d = c.pause(n - 1)
	}
	return max(d, c.retryAfter(retryAfter))
}

// Questions.

// Backoffs is how often such an operation has to have backed off by itself: the
// delay that is due now is the one of that number, 0: none is.
func (c *Core[T]) Backoffs(failures int, last window.Outcome) int {
	return c.rules.Backoffs(failures, last)
}

// Timed reports whether the next event needs the time: round-trip times are measured,
// there is a pause, or the law spaces its sends. An overload always needs it.
func (c *Core[T]) Timed() bool {
	return c.window.Timed() || c.pausedUntil > c.now || c.window.Gap() > 0
}

// Law is the type of the law.
func (c *Core[T]) Law() string { return c.window.Law() }

// State is the window's state.
func (c *Core[T]) State() window.State { return c.window.State() }

// Flying is the number of attempts in flight.
func (c *Core[T]) Flying() int { return c.window.Flying() }

// Waiting is the number of operations in the queue.
func (c *Core[T]) Waiting() int { return c.queue.Len() }

// RTT is the round-trip time of the attempt that was answered last; 0 if the window
// measures none.
func (c *Core[T]) RTT() time.Duration { return c.window.RTT() }

// PausedUntil is when the last pause for everybody ends or ended.
func (c *Core[T]) PausedUntil() time.Duration { return c.pausedUntil }

// seen notes the time, and never goes back.
func (c *Core[T]) seen(now time.Duration) time.Duration {
	c.now = max(c.now, now)
	return c.now
}

// open reports whether one more attempt may be sent.
func (c *Core[T]) open(now time.Duration) bool {
	return c.seen(now) >= c.pausedUntil && c.window.Open() && c.now >= c.due()
}

// spaced reports whether the law's window is below one, so that its gap is all
// there is.
func (c *Core[T]) spaced() bool {
	return c.window.Gap() > 0 && c.window.State().Cwnd <= window.MinWindow
}

// due is the earliest time for the next send of a law that spaces its sends: its gap of
// today after the last one. A gap told by a refusal would else come one send too
// late. While refusals follow one another it is spread at random by half: many
// clients that stopped together would else stay in step.
func (c *Core[T]) due() time.Duration {
	gap := c.window.Gap()
	if gap > 0 && c.window.Streak() > 0 && c.spaced() {
		gap = time.Duration(float64(gap) * c.spread)
	}
	return c.sent + gap
}

func (c *Core[T]) send() window.Ticket {
	if c.window.Gap() == 0 {
		c.sent = c.now
	} else {
		c.space()
	}
	return c.window.Sent(c.now)
}

// space notes a send that the next gap counts from: from when it was due if only the
// timer made it late. Where the window was full or nothing waited, credit would be a
// burst of two for a bucket that holds one token.
func (c *Core[T]) space() {
	due := c.now
	if c.held {
		due = max(c.due(), c.now-lateness)
	}
	c.sent = due
	c.spread = 1
	if c.spaced() {
		c.spread = c.jitter()
	}
}

// jitter is a random number from 0.5 to 1.5.
func (c *Core[T]) jitter() float64 { return 0.5 + c.rules.Rand.Float64() }

// pause is the shortest pause doubled n times, at most the longest, times a
// random number from 0.5 to 1.5, so that many clients that stopped together
// do not start together ("Jitter Everything!", Safe Client Behaviour).
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
	return time.Duration(float64(d) * c.jitter())
}

func (c *Core[T]) retryAfter(asked time.Duration) time.Duration {
	return jitter.RetryAfter(asked, c.rules.RetryAfterMax, c.rules.Rand)
}
