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
	// Timeout: no answer came in time. It counts as overload, with a total of its own.
	Timeout
	// Neutral: the end says nothing about load: a 500, a cancellation, an error of the client's own.
	Neutral
	// ClientError: the answer is final, a 404, a 409, a 412. The window treats it as a success.
	ClientError
)

// Valid reports whether o is one of the five outcomes.
func (o Outcome) Valid() bool { return o >= Success && o <= ClientError }

// Accepted reports whether the service took the attempt and did its work: Success or ClientError.
func (o Outcome) Accepted() bool { return o == Success || o == ClientError }

// Overloaded reports whether o speaks of too much load: Overload or Timeout, the text's "error response".
func (o Outcome) Overloaded() bool { return o == Overload || o == Timeout }

// String returns the outcome's name in lower case.
func (o Outcome) String() string {
	if !o.Valid() {
		o = 0
	}
	return [...]string{"none", "success", "overload", "timeout", "neutral", "client error"}[o]
}
