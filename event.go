package aimd

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// Kind says what an event is about.
type Kind uint8

// Every answer is exactly one of the first five; the other kinds are events of their own.
const (
	// Grew: a success widened the window.
	Grew Kind = iota + 1
	// Shrank: the law narrowed the window without an overload.
	Shrank
	// Cut: the first overload of a burst; the law reacted, though it may have left the window as it was.
	Cut
	// Ignored: an overload of a burst that counted already. A law may narrow the window a little more for it.
	Ignored
	// Steady: an answer that left the window as it was.
	Steady
	// Paused: a pause for all operations began; no attempt is sent for Event.Wait.
	Paused
	// Admitted: an operation got its slot after it waited for Event.Wait.
	Admitted
	// Late: a permit was released a second time.
	Late
	// Full: an operation was turned away, the queue is full.
	Full
	// Closed: the limiter takes no more work.
	Closed
	// Reconfigured: the limiter is under new rules.
	Reconfigured
	// Away: an attempt found no service, for the reason in Event.Err; once until the service answers.
	Away
	// Suspect: the error in Event.Err is final and neutral though it looks like a refusal, so the classifier
	// may not know it. There is one such event for each limiter. With a Wait: answers of 403 in a row are taken
	// for a block of the client, and all operations pause for that time.
	Suspect
	// UsedUp: the quota in Event.Quota is used up for Event.Wait.
	UsedUp
)

var kinds = [...]string{"none", "grew", "shrank", "cut", "ignored", "steady", "paused", "admitted", "late", "full", "closed", "reconfigured", "away", "suspect", "used up"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return kinds[0]
}

// kindOf is the kind of an answer that moved the window so.
func kindOf(a window.Answer, before, after float64) Kind {
	switch {
	case a.Outcome.Overloaded() && a.Ignored:
		return Ignored
	case a.Outcome.Overloaded():
		return Cut
	case after > before:
		return Grew
	case after < before:
		return Shrank
	}
	return Steady
}

// Event says what happened, and how the limiter stood right after it.
type Event struct {
	// Name is the limiter's, Config.Name.
	Name string
	// Seq numbers a limiter's events 1, 2, 3... in the order in which they happened. Observers are called
	// without the lock, so of two goroutines' events the later may arrive first.
	Seq  uint64
	Time time.Time
	Kind Kind
	// Window is the window after the event, and Gap the shortest time between two sends, 0 without one. Before
	// and GapBefore are cwnd and the gap before the event.
	Window         window.State
	Before         float64
	Gap, GapBefore time.Duration
	// InFlight and Queued are counted after the event.
	InFlight, Queued int
	// Outcome and RTT are the outcome and the round-trip time of an answer. They are zero for every other event.
	Outcome window.Outcome
	RTT     time.Duration
	// Wait is the length of the pause (Paused, Suspect), or of the wait of the operation (Admitted) or for the quota (UsedUp).
	Wait time.Duration
	// RetryAfter is the service's Retry-After, 0 without one; of a pause, if the service asked for the pause,
	// which lasts a little longer. MaxRetryAfter is the setting if a pause was cut to it, otherwise 0.
	RetryAfter, MaxRetryAfter time.Duration
	// Err is the error of the kinds Away and Suspect, and of a pause that the service asked for.
	Err error
	// Quota is the quota of the kind UsedUp, nil for other kinds.
	Quota *Quota
}
