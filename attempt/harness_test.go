package attempt_test

import (
	"fmt"
	"net/http"
	"time"
)

// status is an error with an HTTP status and a Retry-After.
type status struct {
	code  int
	after time.Duration
}

func (s status) Error() string             { return fmt.Sprintf("%d %s", s.code, http.StatusText(s.code)) }
func (s status) HTTPStatusCode() int       { return s.code }
func (s status) RetryAfter() time.Duration { return s.after }

type unsent struct{}

func (unsent) Error() string { return "not sent" }
func (unsent) NotSent() bool { return true }
