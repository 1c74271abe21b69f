package retry

import (
	"context"
	"errors"
	"fmt"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

// ErrSense: carrier sense found no room, and the request was not sent. The errors of a Sense match it
// with errors.Is, and also the error of the look.
var ErrSense = errors.New("retry: carrier sense found no room")

type senseError struct{ cause error }

func (e *senseError) Error() string   { return fmt.Sprintf("%v: %v", ErrSense, e.cause) }
func (e *senseError) Unwrap() []error { return []error{ErrSense, e.cause} }

// NotSent says that the request was not sent, so that work is tried again though it may not be done
// twice.
func (e *senseError) NotSent() bool { return true }

// Verdict is neutral, and another attempt may succeed. A Retry-After of the cause is obeyed.
func (e *senseError) Verdict() attempt.Verdict {
	return attempt.Verdict{Outcome: window.Neutral, Retry: true, RetryAfter: attempt.Classify(e.cause).RetryAfter}
}

// Sense is carrier sense, Ethernet's look before sending: an error keeps the attempt from being sent.
// "Exponential Backoff in Distributed Systems" (Thain, 2009) compares three methods; the one that looks
// first, called Ethernet, holds a high throughput where retries alone do not. Look at something near that
// fills up before the service breaks: free descriptors, room on a disk, the length of a queue.
//
// A look is worth its cost only just before sending:
//
//   - Before puts it in front of the function of Do. A look that finds no room is then an attempt that
//     failed: the operation backs off by its policy, and looks again after the delay. This is the method
//     of the text.
//   - As an attempt.Guard, of a limiter or of a Policy, it refuses at once: the operation ends with an
//     ErrSense, which a retry policy around it may try again. A guard must not wait, so look at known
//     facts.
//
// A Sense is as safe for several goroutines as its function is.
type Sense func(context.Context) error

// Admit looks, and returns an ErrSense if there is no room. If the context ended meanwhile, its error
// says so instead.
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

// Before returns a function that looks and then sends, for Do. The look runs within the attempt: its time
// counts towards an attempt timeout.
func (s Sense) Before(send func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.Admit(ctx, attempt.Number(ctx)); err != nil {
			return err
		}
		return send(ctx)
	}
}
