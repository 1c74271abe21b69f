package window

import "time"

// State is what a law decides: the congestion window and what goes with it.
//
// It is a plain value. The window keeps it, gives it to the law with every
// answer and takes back what the law returns.
type State struct {
	// Cwnd is the congestion window: how many attempts may be in flight.
	// A real number, as in seed 4; what is admitted is whole attempts.
	// Invariant: Settings.Min <= Cwnd <= Settings.Max, so never below 1.
	Cwnd float64 `json:"cwnd"`
	// Ssthresh is the slow-start threshold, in attempts: below it every success
	// widens the window by one, from there on by 1/cwnd (RFC 5681, section 3.1).
	// Invariant: 1 <= Ssthresh <= MaxWindow.
	Ssthresh float64 `json:"ssthresh"`
	// Gap is the shortest time between two sends. 0: none. A law that paces
	// sets it, and a law whose window sinks below one says so with it: a window
	// of 1/4 over a round trip of 100 ms is Cwnd 1 with Gap 400 ms.
	// Invariant: 0 <= Gap <= MaxGap.
	Gap time.Duration `json:"gap,omitempty"`
}

// Step is by how much seed 4 widens the window on a success, flying being
// the attempts in flight with the answered one among them:
//
//	"cwnd + 1 if size(flying) < sshthres or cwnd + 1.0/cwnd otherwise"
//
// That is slow start and congestion avoidance (RFC 5681, section 3.1).
func (s State) Step(flying int) float64 {
	if float64(flying) < s.Ssthresh {
		return 1
	}
	return 1 / s.Cwnd
}

// Answer is what a law is told of one attempt that ended.
type Answer struct {
	// Outcome is how it ended.
	Outcome Outcome
	// Ignored tells that the attempt was in flight at the last reaction to an
	// overload (seed 4's set "ignored"): its overload belongs to a burst that
	// counted already.
	Ignored bool
	// Flying is the number of attempts in flight, the answered one included
	// (size(flying) in seed 4).
	Flying int
	// RTT is the time from send to answer; 0 when the law is not Timed.
	RTT time.Duration
}

// Law decides the window. It gets numbers and returns numbers: it holds no
// pointer to the window, no lock, and reads no clock.
//
// A law may keep state of its own (a CUBIC, a latency baseline); then each
// window needs its own law. It is called by one goroutine at a time, and must not
// panic: it is called under the limiter's lock.
//
// What the window does by itself, for every law alike: it counts what flies,
// tells which overloads belong to a burst that counted already, holds growth
// to what the window really limited, and keeps the result in its bounds. A law
// that returns nonsense (NaN, an infinity) changes nothing.
type Law interface {
	// Answered returns the state after an answer. now is the time of the
	// answer, the zero time when the law is not Timed.
	Answered(now time.Time, s State, a Answer) State
	// Timed reports whether the law needs now and Answer.RTT. Reading a clock
	// twice costs more than the rest of an uncontended acquire and release, so
	// laws that need no time should say so. The answer must never change.
	Timed() bool
}

// NewLaw makes the law for one window, from the settings with defaults filled in.
type NewLaw func(Settings) Law
