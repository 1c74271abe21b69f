package httplimit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/body"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/verdict"
)

// sender makes an attempt. If there is an answer, the error is what its head says.
type sender interface {
	send(*attempt.Attempt, *http.Request) (*http.Response, verdict.Verdict, error)
}

// exchange is one request of a Client or a retrier with all its attempts. One goroutine has it.
type exchange struct {
	sender
	req *http.Request
	// sent: the body of req was given to the base, which closes it.
	sent bool
	// answer is the latest answer, its body open; nil if there was no answer or it was dropped.
	answer *http.Response
	// late: its body did not come in time.
	late bool
}

// exchanged sends the request, whose first attempt has begun; may and most are for attempt.Attempt.Drive.
func exchanged(a *attempt.Attempt, req *http.Request, by sender, may func(context.Context, attempt.Failure) (bool, error), most time.Duration) (*http.Response, error) {
	x := &exchange{sender: by, req: req}
	defer func() {
		if v := recover(); v != nil { // of a guard or the policy: the caller never gets the latest answer
			x.Between()
			panic(v)
		}
	}()
	return x.result(a.Drive(x, may, most))
}

// Try sends the request once.
func (x *exchange) Try(a *attempt.Attempt) (verdict.Verdict, error) {
	req, err := x.request(a.Context())
	if err != nil {
		a.Drop()
		return verdict.Verdict{Meaning: answer.Final}, err
	}
	resp, v, err := x.send(a, req)
	if resp != nil && resp.Request == req {
		resp.Request = x.req
	}
	x.answer, x.late = resp, err != nil && tardy(err)
	return v, err
}

func tardy(err error) bool {
	var refusal *StatusError
	return errors.As(err, &refusal) && refusal.late
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
	if number := attempt.Number(ctx); number > 1 && req.Header["Aimd-Criticality"] != nil {
		// A Tagger above has seen the first attempt only.
		req.Header = req.Header.Clone()
		tag.AddHeader(req.Header, tag.Tags{Attempt: number})
	}
	return req, nil
}

// Between drops the answer of the attempt before. It is of no use once there is going to be another one.
func (x *exchange) Between() {
	if x.answer != nil {
		if !x.late {
			body.Start(bodyOf(x.answer)) // its rest, within bounds, so that the connection can be used again
		}
		if x.answer.Body != nil {
			x.answer.Body.Close()
		}
		x.answer = nil
	}
}

func (x *exchange) result(err error) (*http.Response, error) {
	if x.answer != nil {
		return x.answer, nil
	}
	var story *attempt.Error
	switch {
	case !errors.As(err, &story):
		return nil, err // there is no other
	case story.Attempts == 1 && story.Reason == nil:
		return nil, story.Cause
	}
	return nil, &attempt.Error{Attempts: story.Attempts, Reason: cause(x.req.Context(), story.Reason), Cause: story.Cause}
}

// notSent is the error of a request that was not sent. A RoundTripper always closes the body.
func notSent(req *http.Request, reason error) error {
	if req.Body != nil {
		req.Body.Close()
	}
	return &attempt.Error{Reason: cause(req.Context(), reason)}
}

// cause returns err, or if that is the context's end and has a cause of the caller, the cause, as net/http does.
// Without a deadline of the caller it was the patience that ended.
func cause(ctx context.Context, err error) error {
	over := ctx.Err()
	if over != nil && errors.Is(err, over) && context.Cause(ctx) != over {
		return context.Cause(ctx)
	}
	if _, bounded := ctx.Deadline(); over == nil && !bounded && errors.Is(err, context.DeadlineExceeded) {
		return errPatience
	}
	return err // it may say how long the request waited
}
