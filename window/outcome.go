package window

// Outcome is how an attempt ended. Every attempt ends in exactly one.
//
// The zero value is no outcome: a classifier that returns it says "I do not know".
type Outcome uint8

const (
	// Success: the service answered and did the work.
	Success Outcome = iota + 1
	// Overload: the service said "too much": 429, 503, SlowDown, RESOURCE_EXHAUSTED.
	Overload
	// Timeout: no answer came in time. It counts as overload, told apart in totals.
	Timeout
	// Neutral: the answer says nothing about load: a 404, a caller's cancellation.
	Neutral
)

// Valid reports whether o is one of the four outcomes.
func (o Outcome) Valid() bool { return o >= Success && o <= Neutral }

// Overloaded reports whether o speaks of too much load: Overload or Timeout.
// TCP makes no difference between a loss it was told of and a timeout in
// whether it reacts, and seed 4 maps both to "error response".
func (o Outcome) Overloaded() bool { return o == Overload || o == Timeout }

// String returns the outcome's name in lower case.
func (o Outcome) String() string {
	switch o {
	case Success:
		return "success"
	case Overload:
		return "overload"
	case Timeout:
		return "timeout"
	case Neutral:
		return "neutral"
	}
	return "none"
}
