package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/retry"
)

// NewRetrier returns an http.RoundTripper that sends a request again if a policy allows it, for clients
// without an SDK. Put it above a [Transport], so that each attempt waits for its own slot. A retry waits at
// the front of the queue, and holds no slot before.
//
// Give a throttle and a budget to the policy (retry.Config.Guards) rather than to the limiter: the policy's
// guards are asked before the delay, while the answer can still be returned.
//
// The policy reads a [StatusError], for an answer of status 400 or more, or the base's error. A request
// may be done twice if its method is idempotent (GET, HEAD, OPTIONS, TRACE, PUT, DELETE; RFC 9110,
// section 9.2.2), if it has an Idempotency-Key or X-Idempotency-Key header, or if its context says so
// (retry.WithIdempotent). It is sent again only if its body can be: it has none, or GetBody, as
// http.NewRequest sets it for the readers that it knows.
//
// An answer that is not the last is read, for at most 64 KiB and a quarter of a second, and closed, so
// that its connection can be used again. The caller gets the last answer as it came, its body unread.
// Without an answer the error is the base's error if that was final at once, otherwise an *attempt.Error.
// If the body of an answer breaks off, the request is not sent again.
//
// It is safe for any number of goroutines. A nil policy is the default policy. base sends; nil means what
// http.DefaultTransport is now. The policy must have no attempt timeout, since an answer's body outlives the
// attempt: set http.Transport.ResponseHeaderTimeout instead.
func NewRetrier(base http.RoundTripper, p *retry.Policy) (http.RoundTripper, error) {
	runner := p.Runner()
	if runner.AttemptTimeout != 0 {
		return nil, fmt.Errorf("httplimit: %w", setting.Wrong("AttemptTimeout", runner.AttemptTimeout, "none in a retrier's policy, and http.Transport.ResponseHeaderTimeout instead"))
	}
	return &retrier{over(base), runner}, nil
}

type retrier struct {
	beneath
	runner *run.Runner
}

// RoundTrip sends the request, again if need be.
func (r *retrier) RoundTrip(req *http.Request) (*http.Response, error) {
	runner := r.runner
	if !rewinds(req) {
		once := *runner
		once.Policy = nil
		runner = &once
	}
	a, err := runner.Begin(terms(req))
	if err != nil {
		return nil, notSent(req, err)
	}
	x := &exchange{req: req, send: r.send}
	return x.result(a.Drive(x, nil))
}

// send makes an attempt that ends with the head of its answer.
func (r *retrier) send(a *run.Attempt, req *http.Request) (*http.Response, attempt.Verdict, error) {
	resp, err := r.base.RoundTrip(req)
	switch {
	case err != nil:
		resp = nil
	case resp == nil:
		err = errNoAnswer
	default:
		err = failure(resp)
	}
	return resp, a.End(err), err
}

// terms is the request's context, which says whether the request may be done twice.
func terms(req *http.Request) context.Context {
	if idempotent(req) {
		return retry.WithIdempotent(req.Context())
	}
	return req.Context()
}

// idempotent reports whether a request may be done twice: "the idempotent methods ... PUT, DELETE, and
// safe request methods" (RFC 9110, section 9.2.2). The headers are those that net/http goes by.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if _, ok := req.Header[name]; ok {
			return true
		}
	}
	return false
}

func rewinds(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

var errNoAnswer = errors.New("httplimit: the base returned neither an answer nor an error")
