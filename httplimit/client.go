package httplimit

import (
	"context"
	"errors"
	"net/http"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/retry"
)

// Client returns an http.Client that needs no further thought: each request waits for a
// slot of the limiter, and is sent again for as long as that may help, as limiter.Do does
// it: at the front of the queue, after the service's Retry-After, without a bound but
// the request's context and the limiter's limit of attempts.
//
// A request is sent again if the limiter's classifier says that it may help, and it
// may be done twice, as a [Retrier] has it: by its method, an Idempotency-Key, or
// retry.WithIdempotent; else only if it was certainly not sent. And its body must be one
// that can be sent again: http.NewRequest sees to that for the readers that it knows.
//
// The caller gets the last answer as it came, whatever its status. Where the context
// ends or a guard refuses between attempts, the error is an *attempt.Error that tells
// the whole story. It panics if l is nil.
//
// It sends with what http.DefaultTransport is now. For another, or a limiter for each
// host, there are [New], [PerHost] and [NewRetrier].
func Client(l *limiter.Limiter) *http.Client {
	return &http.Client{Transport: &patient{New(nil, l)}}
}

// patient is the Transport of Client.
type patient struct{ *Transport }

// terms say what may be sent again; the limiter says when.
var terms = func() *retry.Policy {
	p, err := retry.New(retry.Config{MaxAttempts: -1})
	if err != nil {
		panic(err) // the settings are right
	}
	return p
}()

// RoundTrip sends the request, again if need be.
func (p *patient) RoundTrip(req *http.Request) (*http.Response, error) {
	a, err := p.begin(req)
	if err != nil {
		return nil, err
	}
	x := &exchange{req: req}
	for attempts := 1; ; attempts++ {
		again, err := x.under(a, attempts)
		if err != nil {
			return nil, err
		}
		resp, v, err := p.send(a, again)
		var story *attempt.Error
		if errors.As(err, &story) {
			story.Attempts = attempts // the Transport knows of one
		}
		failed := err
		if err == nil && resp != nil {
			if resp.Request == again {
				resp.Request = req
			}
			if e := failure(resp); e != nil {
				failed = e
			}
		}
		if failed == nil || p.used(attempts) || !worth(req, v, failed) {
			return resp, err
		}
		if err == nil {
			drop(resp)
		}
		if a, err = a.Next(req.Context()); err != nil {
			return nil, &attempt.Error{Attempts: attempts, Reason: cause(req.Context(), err), Cause: failed}
		}
	}
}

// used reports whether the limiter allows no attempt after so many.
func (p *patient) used(attempts int) bool {
	most := p.single.Config().MaxAttempts
	return most > 0 && attempts >= most
}

// worth reports whether the request may be sent again after the failure.
func worth(req *http.Request, v attempt.Verdict, failed error) bool {
	if req.Context().Err() != nil || v.Reason != nil || !rewinds(req) {
		return false
	}
	ctx := req.Context()
	if idempotent(req) {
		ctx = retry.WithIdempotent(ctx)
	}
	return terms.Decide(context.WithoutCancel(ctx), attempt.Failure{Attempt: 1, Err: failed, Verdict: v}).Retry
}
