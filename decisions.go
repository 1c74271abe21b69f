package aimd

import (
	"slices"
	"time"
)

func (e Event) decision() bool {
	switch e.Kind {
	case Cut, Shrank, Paused, Closed, Reconfigured, UsedUp:
		return true
	}
	return e.deeper()
}

func (e Event) deeper() bool { return e.Kind == Ignored && e.Window.Cwnd < e.Before }

const decisions = 32

// Decisions returns the latest 32 decisions, those with a Seq greater than after, oldest first: events of the
// kinds Cut, Shrank, Paused, Reconfigured, UsedUp and Closed, and of Ignored those that narrowed the window.
func (l *Limiter) Decisions(after uint64) []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Event
	for _, e := range l.recent {
		if e.Seq > after {
			all = append(all, e)
		}
	}
	return all
}

// note numbers an event, and keeps it for the observer and for Decisions.
func (l *Limiter) note(now time.Duration, e Event) {
	e.Window, e.Gap = l.gate.State(), l.gate.Gap()
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
		l.recent = slices.Delete(l.recent, 0, 1)
	}
	e.Err = nil // an error may hold much
	l.recent = append(l.recent, e)
}
