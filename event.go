package aimd

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// The kinds of events. Answered and Cut are about answers, each of which is one of the two.
const (
	// Answered: an attempt ended, for Event.Outcome. The law may have moved the window, from Event.Before.
	Answered = "answered"
	// Cut: the first overload of a burst; the law reacted, though it may have left the window as it was.
	Cut = "cut"
	// Paused: a pause for all operations began; no attempt is sent for Event.Wait.
	Paused = "paused"
	// Admitted: an operation got its slot after it waited for Event.Wait.
	Admitted = "admitted"
	// Late: a permit was released a second time.
	Late = "late"
	// Full: an operation was turned away, the queue is full.
	Full = "full"
	// Closed: the limiter takes no more work.
	Closed = "closed"
	// Reconfigured: the limiter is under new rules.
	Reconfigured = "reconfigured"
	// Away: an attempt found no service, for the reason in Event.Err; once until the service answers.
	Away = "away"
	// Blocked: answers of 403 in a row are taken for a block of the client by a firewall, the last in Event.Err. All
	// operations pause for Event.Wait.
	Blocked = "blocked"
	// UsedUp: the quota in Event.Quota is used up for Event.Wait.
	UsedUp = "used up"
)

// Event says what happened, and how the limiter stood right after it.
type Event struct {
	// Name is the limiter's, Config.Name.
	Name string
	// Seq numbers a limiter's events 1, 2, 3... in the order in which they happened. Observers are called
	// without the lock, so of two goroutines' events the later may arrive first.
	Seq  uint64
	Time time.Time
	// Kind is one of the kinds from Answered to UsedUp.
	Kind string
	// Window is the window after the event, and Gap the shortest time between two sends, 0 without one. Before
	// and GapBefore are cwnd and the gap before the event.
	Window         window.State
	Before         float64
	Gap, GapBefore time.Duration
	// InFlight and Queued are counted after the event.
	InFlight, Queued int
	// Cause says in a word why the law moved the window at an answer, or left it: for New and Probe "load", "chance",
	// "own", "outage", "full", "back", "used up", "trial", "slow" or "more"; Probe has the table. It is "" for other laws,
	// and for other events.
	Cause string
	// Outcome and RTT are the outcome and the round-trip time of an answer. They are zero for every other event.
	Outcome window.Outcome
	RTT     time.Duration
	// Wait is the length of the pause (Paused, Blocked), or of the wait of the operation (Admitted) or for the quota (UsedUp).
	Wait time.Duration
	// RetryAfter is the service's Retry-After, 0 without one; of a pause, if the service asked for the pause,
	// which lasts a little longer. MaxRetryAfter is the setting if a pause was cut to it, otherwise 0.
	RetryAfter, MaxRetryAfter time.Duration
	// Err is the error of the kinds Away and Blocked, and of a pause that the service asked for.
	Err error
	// Quota is the quota of the kind UsedUp, nil for other kinds.
	Quota *Quota
}

func (e Event) narrowed() bool { return e.Window.Cwnd < e.Before }

// moved reports whether a window moved by more than the one that any success may add.
func moved(before, after float64) bool { return after < before || after >= before+2 }

// decision reports whether the event is one of Snapshot.Decisions.
func (e Event) decision() bool {
	switch e.Kind {
	case Cut, Paused, Closed, Reconfigured, UsedUp:
		return true
	}
	return e.Kind == Answered && moved(e.Before, e.Window.Cwnd)
}

// decisions is the number of decisions that a limiter keeps. Our choice.
const decisions = 32

// note numbers an event, and keeps it for the observer and for Snapshot.Decisions.
func (l *Limiter) note(now time.Duration, e Event) {
	e.Window, e.Gap = l.gate.State(), l.gate.Gap()
	if e.Outcome.Valid() {
		e.Cause, _ = l.gate.Explain()
	}
	decision := e.decision()
	if l.config.Observer == nil && !decision {
		return
	}
	l.seq++
	e.Name, e.Seq, e.Time = l.config.Name, l.seq, l.made.Add(now)
	e.InFlight, e.Queued = l.gate.Flying(), l.queue.Len()
	if l.config.Observer != nil {
		l.events = append(l.events, e)
	}
	if !decision {
		return
	}
	if len(l.recent) == decisions {
		l.recent = l.recent[1:] // a Snapshot may have the old ones
	}
	e.Err = nil // an error may hold much
	l.recent = append(l.recent, e)
}
