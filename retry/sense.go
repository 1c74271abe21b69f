package retry

import (
	"context"
	"errors"
	"fmt"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

// ErrSense: carrier sense found no room. The errors of a Sense wrap it and the error of the look.
var ErrSense = errors.New("retry: carrier sense found no room")

type senseError struct{ cause error }

func (e *senseError) Error() string   { return fmt.Sprintf("%v: %v", ErrSense, e.cause) }
func (e *senseError) Unwrap() []error { return []error{ErrSense, e.cause} }

// NotSent says that the request was not sent, so work that may not be done twice is tried again.
func (e *senseError) NotSent() bool { return true }

// Verdict is neutral, and another attempt may succeed. A Retry-After of the cause is obeyed.
func (e *senseError) Verdict() attempt.Verdict {
	return attempt.Verdict{Outcome: window.Neutral, Retry: true, RetryAfter: attempt.Classify(e.cause).RetryAfter}
}

// Sense is carrier sense, Ethernet's look before sending: an error keeps the attempt from being sent. Of the
// three methods of "Exponential Backoff in Distributed Systems" (Thain, 2009), the one that looks first has a
// high throughput even if retries alone do not. Look at something near that fills up before the service
// breaks: free descriptors, room on a disk, the length of a queue.
//
//   - Before puts it in front of the function of Do, as in the text. A look that finds no room is an attempt
//     that failed: the operation backs off by its policy, and looks again after the delay.
//   - As an attempt.Guard, of a limiter or of a Policy, it refuses at once: the operation ends with an
//     ErrSense. A guard must not wait, so look at known facts.
//
// A Sense is as safe for several goroutines as its function is.
type Sense func(context.Context) error

// Admit looks, and returns an ErrSense if there is no room, or the error of a context that ended meanwhile.
func (s Sense) Admit(ctx context.Context, _ int) error {
	err := s(ctx)
	if err == nil {
		return nil
	}
	if over := ctx.Err(); over != nil {
		return over
	}
	return &senseError{err}
}

// Ended makes no difference: the next look sees for itself.
func (s Sense) Ended(context.Context, window.Outcome) {}

// Before returns a function that looks and then sends, for Do. An attempt timeout includes the look.
func (s Sense) Before(send func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.Admit(ctx, attempt.Number(ctx)); err != nil {
			return err
		}
		return send(ctx)
	}
}
