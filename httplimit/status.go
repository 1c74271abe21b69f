package httplimit

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/aimd-go/aimd/internal/answer"
)

const (
	// keptBody is the part of a body that a StatusError keeps: room for an API's error document. Our choice.
	keptBody = 4 << 10
	// shownBody is the part of the body that the error's text shows, in characters.
	shownBody = 200
)

// StatusError is an HTTP answer with a status of 400 or more, which attempt.Classify reads.
// Check makes it, and so may a test. It is never changed, so it is safe for any number of goroutines.
type StatusError struct {
	// StatusCode is the status: 503.
	StatusCode int
	// Status is the status with its text: "503 Service Unavailable".
	Status string
	// Header is the answer's header.
	Header http.Header
	// Body is the start of the answer's body: at most 4 KiB; of a 402, 403 or 429 in JSON 64 KiB.
	Body []byte

	held
	// late: the body did not come in time.
	late bool
}

// held has the answer as it was read when it came, for attempt.Classify; none if the error is made by hand.
type held = answer.Held

// Check returns nil if the answer's status is below 400, and leaves the answer as it is. For any other it
// returns a [*StatusError], reads at most 64 KiB of the body, for at most a quarter of a second, and closes it.
// It is for aimd.Do around a plain client. Read the body of a good answer within the function: the slot is
// held as long as the function runs.
func Check(resp *http.Response) error {
	if resp.StatusCode < http.StatusBadRequest {
		return nil
	}
	e := glance(resp)
	if e.Body == nil && !e.late {
		start, _ := answer.Start(resp)
		e.Body = start[:min(len(start), keptBody)]
	}
	if resp.Body != nil {
		resp.Body.Close() // an error here does not matter: the status is known
	}
	return e
}

// glance returns the answer as a StatusError and leaves its body readable.
func glance(resp *http.Response) *StatusError {
	e := &StatusError{StatusCode: resp.StatusCode, Status: resp.Status, Header: resp.Header}
	e.Body, e.late = answer.Peek(resp)
	e.Status = e.status()
	e.held = answer.Hold(e.answer())
	return e
}

func (e *StatusError) status() string {
	if e.Status != "" {
		return e.Status
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", e.StatusCode, http.StatusText(e.StatusCode)))
}

func (e *StatusError) answer() answer.Answer {
	if a, ok := e.Answer(); ok {
		return a // a date is read once, when the answer came
	}
	return answer.Read(e.StatusCode, e.Header, e.Body, time.Now())
}

// RetryAfter returns the delay that the service asked for, or 0.
func (e *StatusError) RetryAfter() time.Duration { return e.answer().After }

// Error returns the status, the Retry-After and the start of the body, printable and in one line.
func (e *StatusError) Error() string {
	var s strings.Builder
	s.WriteString("httplimit: " + printable(e.status()))
	if after := e.RetryAfter(); after > 0 {
		fmt.Fprintf(&s, " (Retry-After %v)", after)
	}
	if text := printable(string(e.Body)); text != "" && e.Header.Get("Content-Encoding") == "" { // a compressed body is noise
		s.WriteString(": " + text)
	}
	return s.String()
}

// printable is the start of a text with only what can be printed, and single spaces for all space.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Join(strings.Fields(text), " ")
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
	if shown := []rune(text); len(shown) > shownBody {
		return string(shown[:shownBody]) + "..."
	}
	return text
}

// RetryAfter returns the delay that a service asks for in an answer's header: X-Amz-Retry-After and its
// like in milliseconds, Retry-After as seconds or as a date (RFC 9110, section 10.2.3), or
// X-RateLimit-RetryAfter as seconds or as a Unix time. A number may have a fraction. A date counts from
// the answer's own Date, since the service's clock may differ from ours, or from now if there is no Date.
// A past date is a delay of 0.
//
// It returns false without such a header, and for a delay that is malformed, negative, or more than a
// year.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) { return answer.RetryAfter(h, now) }
