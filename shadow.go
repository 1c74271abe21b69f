package aimd

import (
	"time"

	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/window"
)

// above is the Event.Cause of a refusal that the law does not hear: the window had no room for the attempt.
const above = "above"

func (l *Limiter) shadow() bool { return l.settings.Load().Shadow }

func (l *Limiter) held(now time.Duration, t window.Ticket) {
	if l.gate.IsHeld(t) {
		s := l.gate.Shadow()
		l.noteDoubled(now, Event{Kind: event.Held, Count: s.Held, Wait: s.Wait / time.Duration(s.Held)})
	}
}

// endless is the error of Each and Map in shadow without a bound.
func (l *Limiter) endless() error {
	if c := l.settings.Load(); c.Shadow && c.MaxWindow >= window.MaxWindow {
		return wrong(check.Wrong("MaxWindow", "none", "one for Each and Map with Shadow: all items would begin at once"))
	}
	return nil
}
