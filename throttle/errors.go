package throttle

import (
	"errors"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/tag"
)

// ErrThrottled: the client rejected the request, and did not send it. The errors of Admit and Do match it.
var ErrThrottled = errors.New("throttle: rejected by the client")

// Error says why a request was rejected. It is an ErrThrottled.
type Error struct {
	// Rejection is the probability with which it was, greater than 0 and less than 1.
	Rejection float64
	// Criticality is the request's.
	Criticality tag.Criticality
	// Requests and Accepts are the counts of this criticality within the Window.
	Requests, Accepts int
	Window            time.Duration
}

func (e *Error) Error() string {
	return fmt.Sprintf("%v: probability %.2f, since of %d %s requests in %v the service accepted %d",
		ErrThrottled, e.Rejection, e.Requests, e.Criticality, e.Window, e.Accepts)
}

// Is reports whether the target is ErrThrottled.
func (e *Error) Is(target error) bool { return target == ErrThrottled }

// NotSent says that the request was not sent, for retry policies and other guards.
func (e *Error) NotSent() bool { return true }
