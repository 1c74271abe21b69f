package admission

import (
	"time"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

// Limit is how many requests are served at a time. It is [Fixed] or
// [Adaptive]; the zero Limit is an error of New.
type Limit struct {
	law      window.NewLaw
	settings window.Settings
	err      error
}

// Fixed is a limit that stays as it is: 1 to window.MaxWindow requests.
func Fixed(requests int) Limit {
	n := float64(requests)
	if n < window.MinWindow || n > window.MaxWindow {
		return Limit{err: setting.Wrong("limit", requests, "a number from %d to %d", window.MinWindow, window.MaxWindow)}
	}
	return Limit{law: fixed, settings: window.Settings{Initial: n, Min: n, Max: n}}
}

// Adaptive is a limit that a law decides, such as aimd.Probe, as the window of a client
// is. A success widens it while it is what limits, and the first overload of each burst
// narrows it.
//
// Take aimd.Probe. It sees that answers get slow; others can react only to what they are told
// of. With twice the load that it can take, a service that gets slower and refuses nothing
// answers in time, of what it would with the best limit that is fixed, 76% to 100% under Probe,
// 23% to 85% under Reno with a factor of 0.5, and none to 44% with 0.9
// (TestWhichLawServes). In any case count what takes too long as a Timeout:
// httplimit.HandlerConfig. Set a Min, so that one bad moment does not shut out nearly all
// clients, and a Max that memory allows.
func Adaptive(law window.NewLaw, s window.Settings) Limit {
	if law == nil {
		return Limit{err: setting.Nil("law")}
	}
	return Limit{law: law, settings: s}
}

// window makes the window.
func (l Limit) window() (window.Window, error) {
	switch {
	case l.err != nil:
		return window.Window{}, l.err
	case l.law == nil:
		return window.Window{}, setting.Wrong("limit", "the zero Limit", "Fixed or Adaptive")
	}
	// The spread of Retry-After goes by how long a request takes.
	l.settings.Timed = true
	return window.New(l.law, l.settings)
}

// fixed is the law that leaves the window as it is.
func fixed(window.Settings) window.Law { return constant{} }

type constant struct{}

func (constant) Answered(_ time.Duration, s window.State, _ window.Answer) window.State { return s }

func (constant) Timed() bool { return false }
