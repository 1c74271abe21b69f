package limiter

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// Kind says what an event is about.
type Kind uint8

// Every answer is exactly one of the first five; the others stand beside it.
const (
	// Grew: a success widened the window.
	Grew Kind = iota + 1
	// Shrank: the law narrowed the window though nothing was overloaded.
	Shrank
	// Cut: the first overload of a burst; the law reacted. The window stays as it was where
	// the law knows better, as aimd.Probe may.
	Cut
	// Ignored: an overload of a burst that counted already. A law may take a little more
	// from the window for it, as aimd.Probe does.
	Ignored
	// Steady: an answer that left the window as it was.
	Steady
	// Paused: a pause for everybody began; nothing is sent for Event.Wait.
	Paused
	// Admitted: an operation goes after it waited for Event.Wait.
	Admitted
	// Late: a permit was released a second time; nothing changed.
	Late
	// Full: an operation was turned away, the queue is full.
	Full
	// Closed: the limiter takes no more work.
	Closed
	// Reconfigured: the limiter is under new settings.
	Reconfigured
	// Away: an attempt found nobody there, as Event.Err says. It is told once, until
	// somebody answers again; work waits meanwhile.
	Away
	// Suspect: an error is neutral and final though it looks like a refusal, so the
	// classifier may not know it. It is told once.
	Suspect
)

var kinds = [...]string{"none", "grew", "shrank", "cut", "ignored", "steady", "paused", "admitted", "late", "full", "closed", "reconfigured", "away", "suspect"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return kinds[0]
}

// Event tells an observer what happened and how things stood right after it.
type Event struct {
	// Name is the limiter's, Config.Name.
	Name string
	// Seq numbers a limiter's events 1, 2, 3... in the order in which they
	// happened. Observers are called without the lock, so of two goroutines'
	// events the later may arrive first.
	Seq  uint64
	Time time.Time
	Kind Kind
	// Window is the window after the event, Before is cwnd before it.
	Window window.State
	Before float64
	// InFlight and Queued are counted after the event.
	InFlight, Queued int
	// Outcome and RTT are those of the answer; of other events, zero.
	Outcome window.Outcome
	RTT     time.Duration
	// Wait is how long the pause for everybody lasts (Paused) or the operation waited
	// (Admitted).
	Wait time.Duration
	// RetryAfter is what the service asked for with the answer; 0: nothing. Of a pause
	// (Paused) it is 0 if the service did not ask for it, and less than Wait where it did:
	// what is asked for is spread, so that not all come back at once.
	RetryAfter time.Duration
	// Err is the error that an event of the kinds Away and Suspect is about.
	Err error
}

// decision reports whether an event of the kind is one that Decisions tells of; of the
// kind Ignored, only where the window moved.
func (k Kind) decision() bool {
	switch k {
	case Cut, Shrank, Paused, Closed, Reconfigured:
		return true
	}
	return false
}

// deeper reports whether the event is one more refusal that made a cut deeper.
func (e Event) deeper() bool { return e.Kind == Ignored && e.Window.Cwnd < e.Before }

// decisions is how many events Decisions keeps.
const decisions = 32

// Decisions returns the latest decisions with a Seq greater than after, oldest first:
// events of the kinds Cut, Shrank, Paused, Reconfigured and Closed, and of the kind
// Ignored those that narrowed the window. With 0 it returns all that are kept, at most
// 32. They are kept whether there is an observer or not, so that a late look shows how
// things came to be as they are.
func (l *Limiter) Decisions(after uint64) []Event {
	l.mu.Lock()
	n := len(l.recent)
	from := n
	for from > 0 && l.recent[(l.oldest+from-1)%n].Seq > after {
		from--
	}
	all := make([]Event, 0, n-from)
	for i := from; i < n; i++ {
		all = append(all, l.recent[(l.oldest+i)%n])
	}
	l.unlock(l.time())
	return all
}

// keep keeps an event for Decisions.
func (l *Limiter) keep(e Event) {
	if len(l.recent) < decisions {
		l.recent = append(l.recent, e)
		return
	}
	l.recent[l.oldest] = e
	l.oldest = (l.oldest + 1) % decisions
}

// kindOf is the kind of event that each change is.
var kindOf = [...]Kind{
	window.Late: Late, window.Steady: Steady, window.Grew: Grew,
	window.Shrank: Shrank, window.Cut: Cut, window.Ignored: Ignored,
}
