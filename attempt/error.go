package attempt

import (
	"errors"
	"fmt"

	"github.com/aimd-go/aimd/internal/fact"
)

// Reasons for which there is no further attempt, beside the context's error and
// those of guards, policies and limiters.
var (
	// ErrAttempts: the operation used up its attempts.
	ErrAttempts = errors.New("attempt limit reached")
	// ErrQueueFull: as many operations wait for a slot as the limiter's queue
	// bound allows. Nothing was sent, so a retry policy may try again later.
	ErrQueueFull = errors.New("limiter: queue full")
	// ErrQuota: what the service allows in an hour, a day or for the money is used
	// up. To wait for seconds does not help: "Don't retry on out of quota".
	ErrQuota = errors.New("out of quota, to try again soon does not help")
	// ErrNoContact: nobody answers at the address, and nobody has since the limiter
	// was made; see limiter.Config.FirstContact.
	ErrNoContact = errors.New("nobody answers there, and nobody has yet")
)

// Error is why an operation did not succeed. It matches both its reason and its
// cause with errors.Is and errors.As.
type Error struct {
	// Attempts is how many attempts were made; 0 when it never got a slot.
	Attempts int
	// Reason is why no further attempt was made: ErrAttempts, ErrQueueFull, ErrQuota,
	// ErrNoContact, limiter.ErrClosed, the context's error, that of a guard or of the
	// policy; nil when the cause is final.
	Reason error
	// Cause is the error of the last attempt; nil when none was made.
	Cause error
}

func (e *Error) Error() string {
	attempts := fmt.Sprintf("after %d attempts", e.Attempts)
	if e.Attempts == 1 {
		attempts = "after 1 attempt"
	}
	switch {
	case e.Cause == nil:
		return fmt.Sprintf("gave up before the first attempt: %v", e.Reason)
	case e.Reason == nil:
		return fmt.Sprintf("failed %s: %v", attempts, e.Cause)
	}
	return fmt.Sprintf("gave up %s: %v; last error: %v", attempts, e.Reason, e.Cause)
}

// Unwrap returns the reason and the cause, without those that are nil.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Reason, e.Cause} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Timeout reports whether time ran out, as net.Error does; url.Error asks for it.
func (e *Error) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(errors.Join(e.Unwrap()...), &t) && t.Timeout()
}

// NotSent reports whether nothing was sent: no attempt was made, or one whose
// error says so. Guards of an operation around this one then count it for
// nothing, and a retry policy may act upon it.
func (e *Error) NotSent() bool {
	return e.Attempts == 0 || e.Attempts == 1 && fact.Of(e.Cause).Unsent
}
