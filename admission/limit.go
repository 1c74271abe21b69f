package admission

import (
	"math/rand/v2"
	"time"

	gate "github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

// Limit is how many requests are served at a time. It is [Fixed] or [Adaptive]; the zero Limit is an error of
// New.
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
	return Limit{law: func(window.Settings) window.Law { return constant{} }, settings: window.Settings{Initial: n, Min: n, Max: n}}
}

// Adaptive is a limit that a law decides, such as aimd.Probe. A success widens the limit while the limit
// is reached, and the first overload of each burst narrows it.
//
// If a load test can show how many requests the service serves at a time, use [Fixed] with that number: a law
// finds it only by exceeding it. In the simulated overloads of TestWhichLawServes and
// TestFixedServesMoreThanAdaptive, aimd.Probe serves in time 0.5 to 1 of the requests that the best fixed limit
// does, Reno with a factor of 0.5 0.2 to 0.85.
//
// If the number is unknown or changes, use aimd.Probe. Count an answer that takes too long as a Timeout
// (httplimit.Handler and contrib/grpc have a setting). Set Min, so that a short overload does not shut out most
// clients, and Max, so that the requests fit into memory.
func Adaptive(law window.NewLaw, s window.Settings) Limit {
	if law == nil {
		return Limit{err: setting.Nil("law")}
	}
	return Limit{law: law, settings: s}
}

// gate makes what the limit is obeyed by.
func (l Limit) gate(r *rand.Rand) (gate.Gate, error) {
	switch {
	case l.err != nil:
		return gate.Gate{}, l.err
	case l.law == nil:
		return gate.Gate{}, setting.Wrong("limit", "the zero Limit", "Fixed or Adaptive")
	}
	// Retry-After goes by how long a request takes. A server has no other pause than the gap of the law.
	l.settings.Timed = true
	return gate.NewGate(l.law, gate.Settings{Window: l.settings, PauseMax: -1, Rand: r})
}

// constant is the law that leaves the window as it is.
type constant struct{}

func (constant) Answered(_ time.Duration, s window.State, _ window.Answer) window.State { return s }

func (constant) Timed() bool { return false }
