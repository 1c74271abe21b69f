package attempt

import (
	"context"
	"io"
)

// Attempt is one attempt of an operation: its guards have admitted it, and it has a slot.
// limiter.Limiter.Begin makes it. It ends with the first call of End or Drop, or with the body of Body;
// later calls have no effect.
//
// End, Drop and the methods of the body are safe for any number of goroutines. One goroutine calls the
// other methods, before the end, and Next after it.
type Attempt interface {
	// Context is the caller's context with the attempt's Number and its slot.
	Context() context.Context
	// Answered notes that an answer began whose end comes later. err is what its head says, nil for a
	// success. Answered returns the head's verdict. A body that breaks off later is still an answer.
	Answered(err error) Verdict
	// Body returns an answer's body in a form that ends the attempt when it is closed or read to its end,
	// when reading fails, or when the caller's context ends. Call Answered first.
	Body(inner io.ReadCloser) io.ReadCloser
	// End ends the attempt: it classifies the error, gives the slot back and notifies the guards. nil is a
	// success, or what Answered noted. End returns the verdict, or the zero Verdict if the attempt had
	// ended before. If the classifier panics, the attempt ends as with Drop, and the panic continues.
	End(err error) Verdict
	// Drop ends an attempt without a result. It is neutral, unless Answered noted an overload.
	Drop()
	// Next begins the attempt after this one, which has failed and ended, for SDKs that decide by themselves
	// whether there is one. It backs off as limiter.Do does without a policy, less the time since the end.
	// At the limiter's limit of attempts its error is ErrAttempts.
	Next(ctx context.Context) (Attempt, error)
	// Run runs fn as the operation whose first attempt this is, as limiter.Do does.
	Run(fn func(context.Context) error) error
}
