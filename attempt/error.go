package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// Error is the error of an operation that did not succeed. errors.Is and errors.As find both its reason and its
// cause.
type Error struct {
	// Attempts counts the attempts; 0 if the operation never got a slot.
	Attempts int
	// Reason is the reason for no further attempt: an error of package aimd, such as aimd.ErrWait, or the error of the
	// context, a guard or the policy; nil if the cause is final.
	Reason error
	// Cause is the error of the last attempt; nil without an attempt.
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

// Unwrap returns the reason and the cause, if they are not nil.
func (e *Error) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Reason, e.Cause}, func(err error) bool { return err == nil })
}

// Timeout reports whether time ran out, as net.Error does; url.Error asks for it.
func (e *Error) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(errors.Join(e.Unwrap()...), &t) && t.Timeout()
}

// Facts implements Factual: without an attempt nothing was sent. If the caller cancelled, the cause does not count.
func (e *Error) Facts() (f verdict.Facts) {
	f.Several = e.Attempts > 1
	if e.Attempts == 0 {
		f.Reach = verdict.Unsent
	}
	if errors.Is(e.Reason, context.Canceled) {
		f.Verdict.Meaning = answer.Final
	}
	return f
}
