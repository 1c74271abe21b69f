package aimd

import (
	"math/bits"
	"time"

	"github.com/aimd-go/aimd/window"
)

// EventKind is the kind of an event, in a word or two for logs and metrics. Compare it with the constants.
type EventKind string

// The kinds of events. Each answer is an EventAnswered or an EventCut.
const (
	// EventAnswered: an attempt ended, for Event.Outcome. The law may have moved the window, from Event.Before.
	EventAnswered EventKind = "answered"
	// EventCut: the first overload of a burst. The law reacted; the window may be the same.
	EventCut EventKind = "cut"
	// EventPaused: a pause for all operations began; no attempt is sent for Event.Wait.
	EventPaused EventKind = "paused"
	// EventAdmitted: an operation got its slot after it waited for Event.Wait.
	EventAdmitted EventKind = "admitted"
	// EventLate: a permit was released a second time.
	EventLate EventKind = "late"
	// EventFull: an operation was turned away, the queue is full.
	EventFull EventKind = "full"
	// EventTooLate: Event.Count operations so far were not sent before their deadline, the last for the reason in Event.Err.
	// Once, and when the number has doubled.
	EventTooLate EventKind = "too late"
	// EventAside: Event.Count operations so far fail while the service takes others, the last with the error in Event.Err. Once, and
	// when the number has doubled.
	EventAside EventKind = "set aside"
	// EventOpen: Event.Count answers are open, nothing was sent, began or ended for Event.Wait, and operations wait. So one
	// attempt more was sent. Once, and when the number has doubled.
	EventOpen EventKind = "open"
	// EventClosed: the limiter takes no more work.
	EventClosed EventKind = "closed"
	// EventReconfigured: the limiter has new settings.
	EventReconfigured EventKind = "reconfigured"
	// EventAway: an attempt found no service, for the reason in Event.Err; once until the service answers.
	EventAway EventKind = "away"
	// EventBlocked: answers of 403 in a row are taken for a block of the client by a firewall, the last in Event.Err. All
	// operations pause for Event.Wait.
	EventBlocked EventKind = "blocked"
	// EventUnknown: an attempt failed with the error in Event.Err, which no classifier knows, while others were refused in
	// the last minute. Once a minute at most: it may be a refusal too (aimd.Refused).
	EventUnknown EventKind = "unknown"
	// EventUsedUp: the quota in Event.Quota is used up for Event.Wait.
	EventUsedUp EventKind = "used up"
	// EventShare: the window is from elsewhere now, or the process leads or does not lead any longer, as Event.Cause says
	// (Share.Mode, Share.Leads). Event.Count is the number of processes, Event.Err why the store is not heard.
	EventShare EventKind = "share"
)

// Event is an event in the life of a limiter, with the limiter's state right after it.
type Event struct {
	// Name is the limiter's, Config.Name.
	Name string
	// Seq numbers a limiter's events 1, 2, 3... in the order in which they happened. Observers are called
	// without the lock, so of two goroutines' events the later may arrive first.
	Seq uint64
	// Time is the time of the event.
	Time time.Time
	// Kind is one of the kinds from EventAnswered to EventShare.
	Kind EventKind
	// Window is the window after the event. Before is cwnd before the event.
	Window window.State
	Before float64
	// Gap is the shortest time between two sends after the event, GapBefore the shortest time before the event. 0:
	// no gap.
	Gap, GapBefore time.Duration
	// InFlight and Queued are counted after the event.
	InFlight, Queued int
	// Cause is the law's word for the reason of its decision at an answer. Probe has "load", "chance", "own", "outage",
	// "back", "used up", "slow" and "more". It is "" for other events but EventShare, and for Tahoe and Reno.
	Cause string
	// Outcome and RTT are the outcome and the round-trip time of an answer. They are zero for every other event.
	Outcome window.Outcome
	RTT     time.Duration
	// Wait is the length of the pause (EventPaused, EventBlocked), of the wait of the operation (EventAdmitted), or of the
	// wait for the quota (EventUsedUp).
	Wait time.Duration
	// RetryAfter is the service's Retry-After, or 0. A pause has it if the service asked for the pause, which lasts
	// a little longer. MaxRetryAfter is the setting if a pause was cut to it, otherwise 0.
	RetryAfter, MaxRetryAfter time.Duration
	// Count is the number of operations of the kinds EventTooLate and EventAside, of answers of the kind
	// EventOpen, and of processes of the kind EventShare.
	Count uint64
	// Err is the error of the kinds EventAway, EventBlocked, EventTooLate, EventAside, EventUnknown and EventShare, and of a pause that the service asked for.
	Err error
	// Quota is the quota of the kind EventUsedUp, nil for other kinds.
	Quota *Quota
}

func (e Event) narrowed() bool { return e.Window.Cwnd < e.Before }

// moved reports whether a window moved by more than 1, which any success may add.
func moved(before, after float64) bool { return after < before || after >= before+2 }

// decision reports whether the event is one of Snapshot.Decisions.
func (e Event) decision() bool {
	switch e.Kind {
	case EventCut, EventPaused, EventClosed, EventReconfigured, EventUsedUp:
		return true
	}
	return e.Kind == EventAnswered && moved(e.Before, e.Window.Cwnd)
}

// decisions is the number of decisions that a limiter keeps. Our choice.
const decisions = 32

// noteDoubled is note for an event whose count is 1, or has doubled.
func (l *Limiter) noteDoubled(now time.Duration, e Event) {
	if bits.OnesCount64(e.Count) == 1 {
		l.note(now, e)
	}
}

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
	e.InFlight, e.Queued = l.gate.Flying(), l.line.Len()
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
