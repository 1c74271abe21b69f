package aimd

import (
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// Refused returns the error as a refusal for load: the window narrows, and the operation is tried again. It is for an error
// that no classifier knows, in a function for Do or Each, or for an attempt's End.
//
// The limiter believes Refused, [Passing], [Partly], [Mostly] and [Final] whatever the error says. A nil error stays nil. The
// Retry-After of an error within counts. errors.Is and errors.As find the error.
func Refused(err error) error { return meant(err, answer.Refused) }

// Passing returns the error as one that passes and says nothing of load, such as a lock: the operation is tried again. See
// [Refused].
func Passing(err error) error { return meant(err, answer.Passing) }

// Partly returns the error as that of work of which the service took a part, and refused the rest for load: a batch
// with items that were refused. The window narrows, and the function is called again: it must send the rest alone.
// See [Mostly] and [Refused].
func Partly(err error) error { return meant(err, answer.Partly) }

// Mostly returns the error as that of work of which the service took all but less than a tenth, as a batch with an item of
// a busy key. The attempt counts as accepted, and the function is called again: it must send the rest alone. See [Refused].
func Mostly(err error) error { return meant(err, answer.Mostly) }

// Final returns the error as one that no other attempt mends, and that says nothing of load. See [Refused].
func Final(err error) error { return meant(err, answer.Final) }

func meant(err error, m answer.Meaning) error {
	if err == nil {
		return nil
	}
	return verdict.With(err, verdict.Facts{Verdict: verdict.Verdict{Meaning: m}})
}
