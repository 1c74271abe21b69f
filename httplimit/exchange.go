package httplimit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/answer"
	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// drainTime is how long an answer that is not the last is read. Our choice: a new connection takes less.
const drainTime = 250 * time.Millisecond

// exchange is one request of a Client or a retrier with all its attempts. One goroutine has it.
type exchange struct {
	req *http.Request
	// send makes an attempt. If there is an answer, the error is what its head says.
	send func(*run.Attempt, *http.Request) (*http.Response, attempt.Verdict, error)
	// sent: the body of req was given to the base, which closes it.
	sent bool
	// answer is the latest answer, its body open; nil if there was no answer or it was dropped.
	answer *http.Response
}

// Try sends the request once.
func (x *exchange) Try(a *run.Attempt) (attempt.Verdict, error) {
	req, err := x.request(a.Context())
	if err != nil {
		a.Drop()
		return attempt.Verdict{Outcome: window.Neutral}, err
	}
	resp, v, err := x.send(a, req)
	if resp != nil && resp.Request == req {
		resp.Request = x.req
	}
	x.answer = resp
	return v, err
}

// request is the request of the next attempt: a copy, since a RoundTripper changes no request, with a new
// body, and with the attempt's number in its tags if it has any.
func (x *exchange) request(ctx context.Context) (*http.Request, error) {
	req := x.req.WithContext(ctx)
	if x.sent && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		req.Body = body
	}
	x.sent = true
	if number := attempt.Number(ctx); number > 1 && req.Header[headerCriticality] != nil {
		// A Tagger above has seen the first attempt only.
		req.Header = req.Header.Clone()
		AddTags(req.Header, tag.Tags{Attempt: number})
	}
	return req, nil
}

// Between drops the answer of the attempt before. It is of no use once there is going to be another one.
func (x *exchange) Between() {
	if x.answer != nil {
		drop(x.answer)
		x.answer = nil
	}
}

// drop reads the rest of an answer, within bounds, and closes it.
func drop(resp *http.Response) {
	if resp.Body == nil {
		return
	}
	defer resp.Body.Close()
	// A service that sends its refusal byte by byte must not hold up the client. Whoever closes the body
	// ends the attempt, so drop waits for the timer.
	closed := make(chan struct{})
	t := time.AfterFunc(drainTime, func() {
		defer close(closed)
		resp.Body.Close()
	})
	defer func() {
		if !t.Stop() {
			<-closed
		}
	}()
	_, _ = io.CopyN(io.Discard, resp.Body, answer.MostBody)
}

func (x *exchange) result(err error) (*http.Response, error) {
	if x.answer != nil {
		return x.answer, nil
	}
	var story *attempt.Error
	if !errors.As(err, &story) {
		return nil, err // there is no other
	}
	if story.Attempts == 1 && story.Reason == nil {
		return nil, story.Cause
	}
	story.Reason = cause(x.req.Context(), story.Reason)
	return nil, story
}

// notSent is the error of a request that was not sent. A RoundTripper always closes the body.
func notSent(req *http.Request, reason error) error {
	if req.Body != nil {
		req.Body.Close()
	}
	return &attempt.Error{Reason: cause(req.Context(), reason)}
}

// cause returns err, or if that is the context's end, its cause, as net/http does.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}
