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

// Retrier is an http.RoundTripper that sends a request again where a policy
// allows it, for clients that have no SDK to do so. Put it above a [Transport],
// so that each attempt takes its own slot; a retry waits for its own at the front
// of the queue, and none is held between attempts:
//
//	retrier, err := httplimit.NewRetrier(httplimit.New(nil, lim), policy)
//	...
//	client := &http.Client{Transport: retrier}
//
// Give a throttle and a budget to the policy (retry.Config.Guards) rather than to
// the limiter: those of the policy are asked before the delay, and while the answer
// is still there to be returned; those of the Transport's limiter after both.
//
// What is tried again is what the policy says (package retry) of a [StatusError],
// for an answer of status 400 or more, or of the base's error. A Retry-After is
// obeyed. A request may be done twice if its method is idempotent (GET, HEAD,
// OPTIONS, TRACE, PUT, DELETE; RFC 9110, section 9.2.2), if it has an
// Idempotency-Key or X-Idempotency-Key header, or if its context says so
// (retry.WithIdempotent). A request is tried again only if its body can be sent
// again: it has none, or GetBody, as http.NewRequest sets it for the readers that
// it knows.
//
// An answer that is not the last is read, for at most 64 KiB and a quarter of a second,
// so that its connection can be used again, and closed before the wait for the next
// attempt. When the Retrier gives up on an answer, whatever the reason, the
// caller gets that answer as it came, its body unread. Without one the error is
// that of the base if it was final at once, else an *attempt.Error that tells the
// whole story; one of no attempt if a guard refused the request before it was sent.
//
// An answer that breaks off while its body is read is not tried again; to do that,
// put retry.Do around the request and the reading. It is safe for any number of
// goroutines. Make one with [NewRetrier].
type Retrier struct {
	beneath
	runner *run.Runner
}

// NewRetrier returns a Retrier with the policy; nil means the default policy. base does
// the sending; nil means what http.DefaultTransport is now. The policy's
// attempt timeout must not be set, since an answer's body outlives the attempt;
// set http.Transport.ResponseHeaderTimeout instead.
func NewRetrier(base http.RoundTripper, p *retry.Policy) (*Retrier, error) {
	runner := p.Runner()
	if runner.AttemptTimeout != 0 {
		return nil, fmt.Errorf("httplimit: %w", setting.Wrong("attempt timeout", runner.AttemptTimeout, "none in a Retrier's policy, and http.Transport.ResponseHeaderTimeout instead"))
	}
	return &Retrier{over(base), runner}, nil
}

// RoundTrip sends the request, again if need be.
func (r *Retrier) RoundTrip(req *http.Request) (*http.Response, error) {
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
func (r *Retrier) send(a *run.Attempt, req *http.Request) (*http.Response, attempt.Verdict, error) {
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

// idempotent reports whether a request may be done twice: "the idempotent methods
// ... PUT, DELETE, and safe request methods" (RFC 9110, section 9.2.2). The headers
// are those that net/http goes by.
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

// rewinds reports whether the request's body can be sent again.
func rewinds(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// errNoAnswer is the error of a base that returns neither an answer nor an error.
var errNoAnswer = errors.New("httplimit: the base returned neither an answer nor an error")
