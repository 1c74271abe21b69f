package sim

import (
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/window"
)

// A client that does for real what the simulator shows is made from these, so that it
// drops no setting.

// Settings are those of the limiter that the words mean, without a source of
// randomness.
func (w Window) Settings() limiter.Settings {
	s := w.settings(nil)
	s.Rand = nil
	return s
}

// MakeLaw is the law that the words mean; nil: there is no window.
func (w Window) MakeLaw() window.NewLaw {
	if !w.on() {
		return nil
	}
	return w.law()
}

// Settings are those of the retry.Budget that the words mean.
func (b Budget) Settings() retry.BudgetSettings { return b.settings() }

// Settings are those of the throttle.Throttle that the words mean, without a source of
// randomness.
func (t Throttle) Settings() throttle.Settings {
	s := t.settings(nil)
	s.Rand = nil
	return s
}
