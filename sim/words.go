package sim

import (
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// A client that does for real what the simulator shows is made from these, so that it
// drops no setting.

// Settings are those of the limiter that the words mean, without a source of
// randomness.
func (w Window) Settings() limiter.Config {
	s := w.settings(nil)
	return limiter.Config{
		Window: s.Window, QueueBound: s.QueueBound, PauseMin: s.PauseMin, PauseMax: s.PauseMax,
		Patience: s.Patience, RetryAfterMax: s.RetryAfterMax,
	}
}

// MakeLaw is the law that the words mean; nil: there is no window, or no law of that
// name.
func (w Window) MakeLaw() window.NewLaw {
	if w.NewLaw != nil {
		return w.NewLaw
	}
	law, _ := LawNamed(w.Law)
	return law
}
