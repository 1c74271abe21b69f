package limiter

import (
	"errors"
	"fmt"
)

// What a limiter says no with. Context errors come as they are, unwrapped.
var (
	// ErrClosed: the limiter takes no new work, Close or Drain was called.
	ErrClosed = errors.New("limiter: closed")
	// ErrQueueFull: as many operations wait as the queue bound lets in.
	ErrQueueFull = errors.New("limiter: queue full")
	// ErrReleased: the permit was released before; nothing was changed.
	ErrReleased = errors.New("limiter: permit released already")
	// ErrAttempts: the operation used up its attempts.
	ErrAttempts = errors.New("limiter: attempt limit reached")
)

// Error is the whole story of an operation that did not succeed. It matches
// both its reason and its cause with errors.Is and errors.As.
type Error struct {
	// Attempts is how many attempts were made; 0 when it never got a slot.
	Attempts int
	// Reason is why no further attempt was made: ErrAttempts, ErrClosed,
	// ErrQueueFull, the context's error, that of a guard or of the policy; nil
	// when the cause is final.
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

// Unwrap returns the reason and the cause, those of them that there are.
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

// NotSent reports whether nothing was sent: no attempt was made, or one of which
// its error says so. Guards of an operation around this one then count it for
// nothing, and a retry policy may act upon it.
func (e *Error) NotSent() bool {
	var unsent interface{ NotSent() bool }
	return e.Attempts == 0 || e.Attempts == 1 && errors.As(e.Cause, &unsent) && unsent.NotSent()
}
