package window

import "time"

// State is the congestion window as a law decided it, and the measurements of the window for the law. It is a plain
// value. The window keeps it, and gives it to the law with every answer.
type State struct {
	// Cwnd is the congestion window: the number of attempts that may be in flight. It is a real number; whole
	// attempts are admitted, and at least one. If sends are spaced, Cwnd may be below 1, and is a rate: 1/4 is one
	// attempt in four round trips. Invariant: Settings.Min <= Cwnd <= Settings.Max; if sends are spaced, a Min of 1
	// means 0.
	Cwnd float64 `json:"cwnd"`
	// Ssthresh is the slow-start threshold, in attempts: below it every success widens the window by one, above it
	// by 1/cwnd (RFC 5681, section 3.1). Invariant: 1 <= Ssthresh <= MaxWindow; MaxWindow means no threshold.
	Ssthresh float64 `json:"ssthresh"`
	// Pace is the spacing of the sends. If the law is not Timed, it is AtOnce.
	Pace Pace `json:"pace,omitempty"`
	// Trip is the mean round trip of the accepted answers; the latest answers count most. Before the first accepted
	// answer it is the round trip of the first answer. For a law that is Timed it is above 0, at most 24 h; for
	// other laws it is 0 until Window.Measure is called. A law cannot change it.
	Trip time.Duration `json:"trip,omitempty"`
}

// Pace is the spacing of the sends.
type Pace uint8

const (
	// AtOnce: an attempt is sent as soon as the window has room.
	AtOnce Pace = iota
	// Spaced: sends are spread over the round trip, one each Trip/Cwnd. If a send has to wait for the window, the
	// sends after it are late too.
	Spaced
	// CatchUp: as Spaced, but sends that had to wait for the window follow at once, for up to one Trip of waiting.
	// Under a MaxRate it is Spaced.
	CatchUp
)

// Grown is the state after a success, by the rule of "Improve on exponential backoff". flying is the number of
// attempts in flight, the answered attempt included:
//
//	"max (cwnd, min(size(flying) + 1, cwnd + 1)) if size(flying) < sshthres or
//	max (cwnd, min(size(flying) + 1, cwnd + 1.0/cwnd)) otherwise"
//
// That is slow start and congestion avoidance (RFC 5681, section 3.1), bounded by the attempts in flight.
func (s State) Grown(flying int) State {
	step := 1.0
	if float64(flying) >= s.Ssthresh {
		step = 1 / s.Cwnd
	}
	s.Cwnd = max(s.Cwnd, min(float64(flying+1), s.Cwnd+step))
	return s
}

// End is an attempt that ended, as the law sees it. It has four fields and four words, so that the compiler passes it in
// registers.
type End struct {
	// Outcome is the end of the attempt.
	Outcome Outcome
	Marks
	// Flying is the number of attempts in flight, the answered attempt included (the text's size(flying)).
	Flying int
	// RTT is the time from send to answer; undefined unless the law is Timed.
	RTT time.Duration
}

// Marks are what the window noted of an attempt.
type Marks struct {
	// Ignored: the attempt was in flight at the last cut (the text's set "ignored"). Its overload belongs to a
	// burst that counted already.
	Ignored bool
	// Early: the attempt was sent less than Trip/Cwnd/2 after the attempt before. A limit of requests a second
	// refuses such attempts; a limit of requests at a time does not. False unless the law is Timed.
	Early bool
	// Asked: the service asked for a time (Retry-After) that is longer than Trip. Until then the operation waits in no
	// slot, and the window shows less than the callers want. False unless the law is Timed.
	Asked bool
	// Urgent: the attempt is of an urgent operation (Window.SetUrgent), whose work may be of another kind.
	Urgent bool
}

// Law decides the window. It gets numbers and returns numbers: it holds no pointer to the window and no lock, reads
// no clock, and has no randomness. It may keep state: each window has its own law. One goroutine at a time calls
// it, under the limiter's lock. It must not panic.
//
// For every law the window counts the attempts in flight, marks the overloads of a burst that counted already, and
// keeps Cwnd in its bounds. If a law returns NaN or an infinity, Cwnd stays. While Flying + 1 <= Cwnd, a law that
// is not Timed is not asked about an accepted answer (Outcome.Accepted): growth would be without evidence.
//
// If a law spaces its sends (State.Pace), the window makes the gap between two sends: Trip/Cwnd, 15 s at most. The
// gap counts from the last send. A gap below a millisecond is left out. While refusals follow one another and one
// attempt at a time is admitted, the gap replaces the doubling pauses, and is multiplied by U(0.5, 1.5), so that
// clients do not stay in step. Some services refuse the first request after a rest. So with gaps from 0.5 s, or any gap if
// the law is at CatchUp, the attempt after the first cut in a row, and after each 20th cut from there, is sent without
// its gap. Below a window of 4 a refused attempt gives its gap back, if no other was sent since and the window is full.
type Law interface {
	// Answered returns the state after an answer. now is the time of the answer since the limiter was made;
	// undefined unless the law is Timed.
	Answered(now time.Duration, s State, a End) State
	// Timed reports whether the law needs now, End.RTT, and State.Trip. It must not change. A law should need no
	// times if it can: to read a clock twice costs more than the rest of an uncontended acquire and release.
	Timed() bool
}

// Explained is a Law that names the cause of its last decision, and its phase. Events, the log and the live page
// show both.
type Explained interface {
	Law
	// Explain returns the cause of the last decision ("load", "chance") and the present phase ("holding"); "" if the
	// law has no cause or phase to name. It is called after Answered.
	Explain() (cause, phase string)
}

// NewLaw makes the law for one window, from the settings with defaults filled in. If a number of the law is wrong,
// NewLaw returns a Law that is also an error. The constructor of the window then returns that error.
type NewLaw func(Settings) Law

// Outcome is the end of an attempt. Every attempt has exactly one outcome.
//
// The zero value is no outcome: a guard hears it of an attempt without an answer.
type Outcome uint8

const (
	// Success: the service answered and did the work.
	Success Outcome = iota + 1
	// Overload: the service said "too much": 429, 503, SlowDown, RESOURCE_EXHAUSTED.
	Overload
	// Timeout: no answer came in time. It counts as overload, in a separate total.
	Timeout
	// Neutral: the end says nothing about load: a lock, a cancellation, an error of the client.
	Neutral
	// ClientError: the answer is final, a 404, a 409, a 412. The window treats it as a success.
	ClientError
	// Unclear: the service failed and does not say why: a 500, a 502. A limiter takes it for Neutral. While most of
	// the latest answers are unclear, a limiter takes it for Timeout. A law never sees it.
	Unclear
)

// Valid reports whether o is one of the six outcomes.
func (o Outcome) Valid() bool { return o >= Success && o <= Unclear }

// Accepted reports whether the service took the attempt and did its work: Success or ClientError.
func (o Outcome) Accepted() bool { return o == Success || o == ClientError }

// Overloaded reports whether o speaks of too much load: Overload or Timeout, the text's "error response".
func (o Outcome) Overloaded() bool { return o == Overload || o == Timeout }

// String returns the outcome's name in lower case.
func (o Outcome) String() string {
	if !o.Valid() {
		o = 0
	}
	return [...]string{"none", "success", "overload", "timeout", "neutral", "client error", "unclear"}[o]
}
