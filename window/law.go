package window

import "time"

// State is the congestion window as a law decided it, and what the window measures for the law. It is a plain
// value. The window keeps it, and gives it to the law with every answer.
type State struct {
	// Cwnd is the congestion window: how many attempts may be in flight. It is a real number; whole attempts
	// are admitted, and always one. If sends are spaced it may be below 1, and is a rate: 1/4 is one attempt in
	// four round trips. Invariant: Settings.Min <= Cwnd <= Settings.Max; with a Min of 1 a spaced window has no
	// lower bound but 0.
	Cwnd float64 `json:"cwnd"`
	// Ssthresh is the slow-start threshold, in attempts: below it every success widens the window by one,
	// from there on by 1/cwnd (RFC 5681, section 3.1). Invariant: 1 <= Ssthresh <= MaxWindow, which is none.
	Ssthresh float64 `json:"ssthresh"`
	// Pace says whether sends are spaced. If the law is not Timed they are not.
	Pace Pace `json:"pace,omitempty"`
	// Trip is the mean round trip of the accepted answers, the latest of which count most; until one is
	// accepted, that of the first answer. It is above 0 for a law that is Timed, and 0 for other laws. The
	// window measures it; a law cannot change it.
	Trip time.Duration `json:"trip,omitempty"`
}

// Pace is how sends follow one another.
type Pace uint8

const (
	// AtOnce: an attempt is sent as soon as the window has room.
	AtOnce Pace = iota
	// Spaced: sends are spread over the round trip, one each Trip/Cwnd. If a send has to wait for the window, that
	// time is lost.
	Spaced
	// CatchUp: as Spaced, but sends that had to wait for the window follow at once, those of one Trip at most. Under
	// a greatest rate it is Spaced.
	CatchUp
	// Waits: as Spaced, at a limit that refused requests use up, too. A Retry-After that is longer than a round trip binds
	// all while one may fly at a time.
	Waits
)

// Grown is the state after a success as "Improve on exponential backoff" has it, flying being the
// attempts in flight with the answered one among them:
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

// Answer is an attempt that ended, as the law sees it.
type Answer struct {
	// Outcome is how it ended.
	Outcome Outcome
	// Ignored: the attempt was in flight at the last reaction to an overload (the text's set "ignored"),
	// so its overload belongs to a burst that counted already.
	Ignored bool
	// Flying is the number of attempts in flight, the answered one included (the text's size(flying)).
	Flying int
	// Early: the attempt was sent sooner after the one before than half of Trip/Cwnd. A limit of requests a second
	// refuses such attempts, and a limit of requests at a time does not. False unless the law is Timed.
	Early bool
	// RTT is the time from send to answer, of no use unless the law is Timed.
	RTT time.Duration
}

// Law decides the window. It gets numbers and returns numbers: it holds no pointer to the window, no
// lock, reads no clock, and has no randomness. A law may keep state of its own; then each window needs its own
// law. It is called by one goroutine at a time, under the limiter's lock, and must not panic.
//
// The window does this for every law: it counts the attempts in flight, marks the overloads of a burst that
// counted already, and keeps the result in its bounds. If a law returns nonsense (NaN, an infinity), the
// window stays as it was. A law that is not Timed is not asked about an accepted answer (Outcome.Accepted)
// while Flying + 1 <= Cwnd: growth would be without evidence.
//
// If a law spaces its sends (State.Pace), the window makes the gap between them: Trip/Cwnd, 15 s at most. It
// counts from the last send, with its present value. A gap below a millisecond is left out. While refusals
// follow one another and one attempt at a time is admitted, the gap is spread at random by half, so that
// clients do not stay in step, and replaces the doubling pauses. If it is half a second or more then, the
// attempt after the first cut in a row, and after each 20th from there, comes at once: the service may refuse
// what comes after a rest.
type Law interface {
	// Answered returns the state after an answer. now is the time of the answer since the limiter was
	// made; it is of no use unless the law is Timed.
	Answered(now time.Duration, s State, a Answer) State
	// Timed reports whether the law needs now, Answer.RTT, and State.Trip, and never changes. Reading a clock
	// twice costs more than the rest of an uncontended acquire and release.
	Timed() bool
}

// Explained is a Law that says in a word why it moved the window, and what it is doing. Events, the log and the live
// page show it.
type Explained interface {
	Law
	// Explain returns the cause for which the last answer moved the window or left it as it was ("load", "chance"), and
	// the phase that the law is in ("trying"). Each is "" if there is none to tell. It is called after Answered.
	Explain() (cause, phase string)
}

// NewLaw makes the law for one window, from the settings with defaults filled in. A law with numbers of its own
// that are wrong is made as a law that is an error too: then the constructor of the window returns that error.
type NewLaw func(Settings) Law

// Outcome is how an attempt ended. Every attempt ends in exactly one.
//
// The zero value is no outcome: a classifier that returns it says "I do not know".
type Outcome uint8

const (
	// Success: the service answered and did the work.
	Success Outcome = iota + 1
	// Overload: the service said "too much": 429, 503, SlowDown, RESOURCE_EXHAUSTED.
	Overload
	// Timeout: no answer came in time. It counts as overload, with a total of its own.
	Timeout
	// Neutral: the end says nothing about load: a lock, a cancellation, an error of the client's own.
	Neutral
	// ClientError: the answer is final, a 404, a 409, a 412. The window treats it as a success.
	ClientError
	// Unclear: the service failed and does not say why: a 500, a 502. A limiter takes it for Neutral, and for Timeout
	// while most of the latest answers are unclear; so a law never sees it.
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
