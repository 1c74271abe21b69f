package retry

import (
	"context"
	"errors"
	"fmt"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// ErrSense: carrier sense found no room. It wraps the error of the look too.
var ErrSense = errors.New("aimd: carrier sense found no room")

type senseError struct{ cause error }

func (e *senseError) Error() string   { return fmt.Sprintf("%v: %v", ErrSense, e.cause) }
func (e *senseError) Unwrap() []error { return []error{ErrSense, e.cause} }

// Facts says that another attempt may succeed, also for work that may not be done twice. A Retry-After of the cause
// is obeyed.
func (e *senseError) Facts() verdict.Facts {
	v := verdict.Verdict{Meaning: answer.Passing, Wait: verdict.Classify(e.cause).Wait}
	return verdict.Facts{Verdict: v, Reach: verdict.Unsent}
}

// Sense is carrier sense, Ethernet's look before sending. It returns a function for Do, here or of a limiter, that
// looks and then sends. A look that returns an error is an attempt that failed with ErrSense: the operation backs
// off by its policy, and looks again after the delay. If the context ended and the look returns its error, so does the function.
//
// Of the three methods of "Exponential Backoff in Distributed Systems" (Thain, 2009), the method that looks first
// has a high throughput even if retries alone do not. Look at something near that fills up before the service
// breaks: free descriptors, space on a disk, the length of a queue. An attempt timeout includes the look.
func Sense(look, send func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err, over := look(ctx), ctx.Err()
		switch {
		case err == nil:
			return send(ctx)
		case over != nil && errors.Is(err, over):
			return err
		}
		return &senseError{err}
	}
}
