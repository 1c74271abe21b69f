package httplimit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// drainTime is how long an answer that is not the last is read at most. Our
// choice: a new connection takes less.
const drainTime = 250 * time.Millisecond

// exchange is one request of a Retrier, with all its attempts. One goroutine
// has it.
type exchange struct {
	base http.RoundTripper
	req  *http.Request
	// sent: the body of req was given to the base, which closes it.
	sent bool
	// answer is the one that came last, open; nil: none, or it was dropped.
	answer *http.Response
}

// attempt sends the request once. Its error is what the policy is asked about.
func (x *exchange) attempt(ctx context.Context) error {
	req, err := x.request(ctx, attempt.Number(ctx))
	if err != nil {
		return err
	}
	resp, err := x.base.RoundTrip(req)
	if err != nil {
		return err
	}
	if resp == nil {
		return errNoAnswer
	}
	x.answer = resp
	if resp.StatusCode < http.StatusBadRequest {
		return nil
	}
	return glance(resp)
}

// under is request for an attempt that has begun, and ends it if there is none: also
// if the caller's GetBody panics.
func (x *exchange) under(a *attempt.Attempt, number int) (req *http.Request, err error) {
	defer func() {
		if req == nil {
			a.Drop()
		}
	}()
	return x.request(x.req.Context(), number)
}

// request is the request of the next attempt: a copy, since a RoundTripper changes no
// request, with a new body, and with the attempt's number in its tags if it has any.
func (x *exchange) request(ctx context.Context, number int) (*http.Request, error) {
	req := x.req.WithContext(ctx)
	if x.sent && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		req.Body = body
	}
	x.sent = true
	if _, tagged := req.Header[HeaderCriticality]; tagged && number > 1 {
		// A Tagger above has seen the first attempt only.
		req.Header = req.Header.Clone()
		AddTags(req.Header, tag.Tags{Attempt: number})
	}
	return req, nil
}

// Admit makes the exchange an attempt.Guard that hears when there is going to be
// another attempt. The answer to the one before is of no use then.
func (x *exchange) Admit(context.Context, int) error {
	if x.answer != nil {
		drop(x.answer)
		x.answer = nil
	}
	return nil
}

// Ended is there for attempt.Guard.
func (x *exchange) Ended(context.Context, window.Outcome) {}

// drop reads the rest of an answer, within bounds, and closes it.
func drop(resp *http.Response) {
	if resp.Body == nil {
		return
	}
	defer resp.Body.Close()
	// A service that sends its refusal byte by byte must not hold up the client. The
	// attempt has ended when the body was closed, by whichever of the two.
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
	_, _ = io.CopyN(io.Discard, resp.Body, drainedBody)
}

// result is what RoundTrip returns.
func (x *exchange) result(err error) (*http.Response, error) {
	if x.answer != nil {
		return x.answer, nil
	}
	var story *attempt.Error
	if !errors.As(err, &story) {
		return nil, err // there is no other
	}
	switch {
	case story.Attempts == 0:
		if x.req.Body != nil {
			x.req.Body.Close()
		}
		return nil, notSent(x.req.Context(), story.Reason)
	case story.Attempts == 1 && story.Reason == nil:
		return nil, story.Cause
	}
	return nil, err
}
