package limiter

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Shadow is what a gate did not do while Settings.Shadow was set. An attempt was held if the gate alone would not have
// sent it then: the window was full, a gap, a pause or a quota had not ended. The law hears of all attempts but the
// refusals of held ones, since they came above its window. (Refused - Above) / (Sent - Above) foretells the share that is
// refused once attempts are held, roughly; (Refused - Above) / (Sent - Held) is mostly the most.
type Shadow struct {
	// Sent counts the attempts, and Held those that were held.
	Sent uint64 `json:"sent"`
	Held uint64 `json:"held"`
	// Wait is the sum of the waits of held attempts as far as they were known: to the end of the gap, pause or quota, and for those
	// in flight above the window a round trip over the window each. In JSON in nanoseconds.
	Wait time.Duration `json:"wait"`
	// Refused counts the refusals and time-outs, and Above the refusals and time-outs of held attempts.
	Refused uint64 `json:"refused"`
	Above   uint64 `json:"above"`
}

// String is the shadow in words: "would have held 12 of 40 for 1.2s each; refused: 9 of those, 0 of the others".
func (s Shadow) String() string {
	mean := s.Wait / time.Duration(max(1, s.Held))
	return fmt.Sprintf("would have held %d of %d for %v each; refused: %d of those, %d of the others",
		s.Held, s.Sent, mean.Round(time.Millisecond), s.Above, s.Refused-s.Above)
}

// Shadow returns what the gate did not do so far.
func (g *Gate) Shadow() Shadow { return g.shadow }

// passes sends an attempt that is held, if the gate is in shadow.
func (g *Gate) passes() (t window.Ticket, ok bool) {
	if !g.rules.Shadow {
		return t, false
	}
	state := g.State()
	above := max(0, float64(g.Flying()+1)-state.Cwnd)
	g.shadow.Wait += max(0, g.due()-g.now) + time.Duration(above/state.Cwnd*float64(state.Trip))
	g.shadow.Held++
	t = g.send(true)
	g.SetHeld(t)
	return t, true
}

// aboveWindow notes a refusal in shadow, and reports whether the law hears nothing of it.
func (g *Gate) aboveWindow(t window.Ticket) bool {
	held := g.IsHeld(t)
	if g.rules.Shadow || held {
		g.shadow.Refused++
	}
	if held {
		g.shadow.Above++
	}
	return held
}
