package httplimit

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/limiter"
)

// Transport is an http.RoundTripper that waits for a slot of its limiter
// before it sends a request, and tells the limiter how the attempt ended. The
// slot is held until the answer's body is read to its end or closed, reading
// fails, or the request's context ends.
//
// What the limiter is told: an answer with a status below 400 is a success;
// any other is put to the limiter's classifier as a [StatusError], and so is an error. Of
// the body it has the start, at most 64 KiB, where the status is 429 or 403 and the
// body JSON: there a service says that a quota is used up. Of other answers it has none.
// What the end of the request's context means, the package comment says.
//
// If the limiter has guards (aimd.WithGuard: a throttle, a retry budget) they are
// asked before each request. A throttle counts as accepted what the service
// answered and did not refuse.
//
// It does not retry. A request that a guard refused, or that got no slot, fails with an
// [*attempt.Error] of no attempt, so it may be sent again even where it is not
// idempotent; its reason is limiter.ErrClosed, attempt.ErrQueueFull, what ended the
// request's context (context.Cause), the error of a guard, or that of PerHost's
// newLimiter. Other errors are those of the base, within an attempt.Error if it is an
// attempt.ErrNoContact. It is safe for any number of goroutines. The
// zero value sends nothing; make one with [New] or [PerHost].
type Transport struct {
	beneath
	// One of these two is set.
	single *limiter.Limiter
	hosts  *limiter.Keyed[string]
}

// New returns a Transport with one limiter for all its requests. base does the
// sending; nil means what http.DefaultTransport is now. It panics if l is nil.
func New(base http.RoundTripper, l *limiter.Limiter) *Transport {
	if l == nil {
		panic("httplimit: New with a nil limiter")
	}
	return &Transport{beneath: over(base), single: l}
}

// beneath is what the round trippers of this package have below them.
type beneath struct{ base http.RoundTripper }

func over(base http.RoundTripper) beneath {
	if base == nil {
		base = http.DefaultTransport
	}
	return beneath{base}
}

// CloseIdleConnections closes the idle connections of the base, if it can.
// http.Client.CloseIdleConnections calls it.
func (b beneath) CloseIdleConnections() {
	if c, ok := b.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends the request once it has a slot.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a, err := t.begin(req.Context(), req)
	if err != nil {
		return nil, err
	}
	resp, v, err := t.send(a, req)
	switch {
	case resp != nil:
		return resp, nil
	case errors.Is(v.Reason, attempt.ErrNoContact):
		err = &attempt.Error{Attempts: 1, Reason: v.Reason, Cause: err}
	}
	return nil, err
}

// begin asks the limiter's guards, and waits for the request's slot.
func (t *Transport) begin(ctx context.Context, req *http.Request) (*run.Attempt, error) {
	l, err := t.limiter(req)
	if err == nil {
		var a attempt.Attempt
		if a, err = l.Begin(ctx); err == nil {
			return a.(*run.Attempt), nil
		}
	}
	return nil, notSent(req, err)
}

// send makes the attempt. It returns the answer if there is one, what its head or the
// error of the base comes to, and that error. The attempt ends with the answer's body.
func (t *Transport) send(a *run.Attempt, req *http.Request) (*http.Response, attempt.Verdict, error) {
	open := false
	defer func() {
		if !open { // after an end this does nothing
			a.Drop()
		}
	}()
	sent := req
	if _, plain := t.base.(*http.Transport); !plain {
		sent = req.WithContext(a.Context()) // what the base begins within has the slot
	}
	resp, err := t.base.RoundTrip(sent)
	switch {
	case err != nil:
		return nil, a.End(unanswered{err}), err
	case resp == nil:
		return nil, a.End(errNoAnswer), errNoAnswer
	case resp.Request == sent:
		resp.Request = req
	}
	err = failure(resp)
	v := a.Answered(err)
	if bodyless(req, resp) {
		a.End(nil)
	} else {
		resp.Body = hold(a, resp)
		open = true
	}
	return resp, v, err
}

// unanswered is the error of a request without an answer, for the limiter.
type unanswered struct{ error }

func (u unanswered) Unwrap() error    { return u.error }
func (u unanswered) Unanswered() bool { return true }

// failure is what the head of an answer says, nil if it is no error. It is put to
// the classifier, so that a limiter reads an answer the same way here and in Do
// with Check. By default that is attempt.Classify.
func failure(resp *http.Response) error {
	if resp.StatusCode < http.StatusBadRequest {
		return nil
	}
	return glance(resp)
}

// bodyless reports whether an answer has no body that could end later. HTTP/2
// does not say so with http.NoBody, and a ContentLength of 0 says it only from
// there on: hand-made answers often leave it unset.
func bodyless(req *http.Request, resp *http.Response) bool {
	switch {
	case resp.Body == nil, resp.Body == http.NoBody, req.Method == http.MethodHead:
		return true
	case resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return true
	}
	return resp.ProtoMajor >= 2 && resp.ContentLength == 0
}

// limiter returns the request's limiter.
func (t *Transport) limiter(req *http.Request) (*limiter.Limiter, error) {
	switch {
	case t.single != nil:
		return t.single, nil
	case t.hosts == nil:
		return nil, errors.New("a Transport that is not made with New or PerHost")
	case req.URL == nil:
		return nil, errors.New("a request without a URL")
	}
	return t.hosts.For(host(req.URL))
}

// Limiters yields the limiters that there are now, each with its host; the one
// limiter of New has the host "". It is there for metrics and for draining.
func (t *Transport) Limiters() iter.Seq2[string, *limiter.Limiter] {
	if t.hosts != nil {
		return t.hosts.All()
	}
	return func(yield func(string, *limiter.Limiter) bool) {
		if t.single != nil {
			yield("", t.single)
		}
	}
}
