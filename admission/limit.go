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

// Adaptive is a limit that a law decides, such as aimd.Probe. A success widens the limit
// while the limit is reached, and the first overload of each burst narrows it.
//
// If a load test can show how many requests the service serves at a time, use [Fixed] with
// that number. A law finds the number only by exceeding it, and a service that then gets
// slower at once pays for each try. In the simulated overloads of TestWhichLawServes and
// TestFixedServesMoreThanAdaptive, aimd.Probe serves 0.75 to 1 of the requests that the best
// fixed limit serves in time. Reno with a factor of 0.5 serves 0.2 to 0.85 of them.
//
// If the number is unknown or changes, use Adaptive with aimd.Probe, which sees that
// answers get slow. Count an answer that takes too long as a Timeout; httplimit.Handler and
// contrib/grpc have a setting for it. Set Min, so that a short overload does not shut out
// most clients, and Max, so that the requests fit into memory.
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
