package httplimit

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/body"
	"github.com/aimd-go/aimd/verdict"
)

const (
	// keptBody is the part of a body that a StatusError keeps: room for an API's error document. Our choice.
	keptBody = 4 << 10
	// shownBody is the part of the body that the error's text shows, in characters.
	shownBody = 200
)

// StatusError is an HTTP answer with a status of 400 or more, or a success whose body says that it is none.
// verdict.Classify reads it. Check makes it, and so may a test. It is never changed, so it is safe for any number
// of goroutines.
type StatusError struct {
	// StatusCode is the status: 503.
	StatusCode int
	// Status is the status with its text: "503 Service Unavailable".
	Status string
	// Header is the answer's header.
	Header http.Header
	// Body is the start of the answer's body, at most 4 KiB, without its compression. A Transport does not read a page.
	Body []byte

	// said is the answer as it was read when it came; nil if the error is made by hand.
	said *answer.Answer
	// late: the body did not come in time.
	late bool
	// passes: the program gets the answer, and the limiter learns of it.
	passes bool
}

// Check returns nil for a success, and leaves the answer unchanged. For another answer it returns a [*StatusError], reads
// at most 64 KiB of the body, for at most a quarter of a second, and closes it. An answer with a status below 400 is no
// success if it is a refusal nevertheless: see [Transport]. Check is for aimd.Do around a plain client. Read the body
// of a good answer within the function: the slot is held as long as the function runs. A batch that refused a part of its
// items is a good answer, since what was done must not be lost: return aimd.Partly for it, or send by a Transport.
func Check(resp *http.Response) error {
	e, _ := glance(resp, nil)
	if e == nil || e.passes {
		return nil
	}
	if e.Body == nil && !e.late {
		start, _ := body.Start(bodyOf(resp))
		e.Body = kept(body.Plain(resp.Header, start))
	}
	if resp.Body != nil {
		resp.Body.Close() // an error here does not matter: the status is known
	}
	return e
}

// glance returns an answer that is no plain success as a StatusError, nil for a success, and leaves the body readable.
// said is the answer as it was read, nil if it was empty. read is Transport.Read.
func glance(resp *http.Response, read func(answer.Answer) answer.Answer) (e *StatusError, said *answer.Answer) {
	var start []byte
	var late bool
	if resp.StatusCode >= http.StatusBadRequest {
		start, late = body.Peek(resp.Header, bodyOf(resp))
	} else if start = within(resp); read == nil && (len(start) == 0 || !answer.Speaks(body.Plain(resp.Header, start))) {
		return nil, nil
	}
	a := answer.Read(resp.StatusCode, resp.Header, start, time.Now())
	if read != nil {
		a = read(a)
	}
	passes := !a.Failed()
	if v := verdict.VerdictOf(a); passes && !v.Known() {
		return nil, &a
	}
	e = &StatusError{StatusCode: resp.StatusCode, Status: resp.Status, Header: resp.Header, said: &a, late: late, passes: passes}
	e.Body, e.Status = kept(body.Plain(resp.Header, start)), e.status()
	return e, &a
}

// within is body.Within for an answer that may have a body. Only the answer to a PUT or POST is begun before the work is
// done. Another that has a time of change, or is a part, is a file: whatever it says is the user's.
func within(resp *http.Response) []byte {
	long := resp.Request != nil && (resp.Request.Method == http.MethodPut || resp.Request.Method == http.MethodPost)
	if resp.StatusCode == http.StatusSwitchingProtocols || !long && has(resp.Header, "Last-Modified", "Content-Range") {
		return nil
	}
	return body.Within(resp.Header, bodyOf(resp), resp.ContentLength, long)
}

// bodyOf is the answer's body, nil if it is empty.
func bodyOf(resp *http.Response) *io.ReadCloser {
	if resp.Body == http.NoBody {
		return nil
	}
	return &resp.Body
}

// kept is the part of a body that is kept.
func kept(body []byte) []byte {
	if len(body) <= keptBody {
		return body
	}
	return bytes.Clone(body[:keptBody])
}

func (e *StatusError) status() string {
	if e.Status != "" {
		return e.Status
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", e.StatusCode, http.StatusText(e.StatusCode)))
}

// Answer returns the answer of the service, read when it came: a date counts from then.
func (e *StatusError) Answer() answer.Answer {
	if e.said != nil {
		return *e.said
	}
	return answer.Read(e.StatusCode, e.Header, e.Body, time.Now())
}

// Facts implements verdict.Factual.
func (e *StatusError) Facts() verdict.Facts {
	v := verdict.VerdictOf(e.Answer())
	if e.passes && v.Meaning == answer.Unclear {
		v.Meaning = answer.Final // an error in words that no row has, as with an unlisted 4xx
	}
	return verdict.Facts{Verdict: v, Reach: verdict.Answered}
}

// RetryAfter returns the time for which the service asked to wait, in a header or in the body, or 0.
func (e *StatusError) RetryAfter() time.Duration { return e.Answer().Wait }

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

// printable is the start of a text, with its printable characters, and single spaces for all space.
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
