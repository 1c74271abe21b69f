package aimd

import (
	"math/bits"
	"time"

	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/window"
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
	// Kind is one of the kinds from event.Answered to event.Share.
	Kind event.Kind
	// Shadow: the limiter only watches (Config.Shadow), so nothing was held, paused or turned away.
	Shadow bool
	// Window is the window after the event. Before is cwnd before the event.
	Window window.State
	Before float64
	// Gap is the shortest time between two sends after the event, GapBefore the shortest time before the event. 0:
	// no gap.
	Gap, GapBefore time.Duration
	// InFlight and Queued are counted after the event.
	InFlight, Queued int
	// Cause is the law's word for the reason of its decision at an answer. Probe has "load", "chance", "own", "outage",
	// "back", "used up", "slow" and "more". In shadow "above" is the refusal of an
	// attempt that the window had no room for. It is "" for other events but event.Share, and for Tahoe and Reno.
	Cause string
	// Outcome and RTT are the outcome and the round-trip time of an answer. They are zero for every other event.
	Outcome window.Outcome
	RTT     time.Duration
	// Wait is the length of the pause (event.Paused, event.Blocked), of the wait of the operation (event.Admitted), for the
	// quota (event.UsedUp) or for items aside (event.Aside), or the mean of the waits that would have been (event.Held).
	Wait time.Duration
	// RetryAfter is the service's Retry-After, or 0. A pause has it if the service asked for the pause, which lasts
	// a little longer. MaxRetryAfter is the setting if a pause was cut to it, otherwise 0.
	RetryAfter, MaxRetryAfter time.Duration
	// Count is the number of operations of the kinds event.TooLate and event.Aside, of answers of the kind
	// event.Open, of attempts of the kind event.Held, and of processes of the kind event.Share.
	Count uint64
	// Err is the error of the kinds event.Away, event.Blocked, event.TooLate, event.Aside, event.Unknown and event.Share,
	// and of a pause that the service asked for.
	Err error
	// Quota is the quota of the kind event.UsedUp, nil for other kinds.
	Quota *Quota
}

func (e Event) narrowed() bool { return e.Window.Cwnd < e.Before }

// moved reports whether a window moved by more than 1, which any success may add.
func moved(before, after float64) bool { return after < before || after >= before+2 }

// decision reports whether the event is one of Snapshot.Decisions.
func (e Event) decision() bool {
	switch e.Kind {
	case event.Cut, event.Paused, event.Closed, event.Reconfigured, event.UsedUp:
		return true
	}
	return e.Kind == event.Answered && moved(e.Before, e.Window.Cwnd)
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
	e.Window, e.Gap, e.Shadow = l.gate.State(), l.gate.Gap(), l.shadow()
	if e.Outcome.Valid() && e.Cause == "" {
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
