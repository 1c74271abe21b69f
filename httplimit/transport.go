package httplimit

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	"github.com/aimd-go/aimd/limiter"
)

// Transport is an http.RoundTripper that waits for a slot of its limiter
// before it sends a request, and tells the limiter how the attempt ended. The
// slot is held until the answer's body is read to its end or closed, reading
// fails, or the request's context ends.
//
// What the limiter is told: an answer with a status below 400 is a success;
// any other is put to the limiter's classifier as a [StatusError] (without the
// body), and so is an error. The end of the request's context is read
// as the package comment says.
//
// If the limiter has guards (aimd.WithGuard: a throttle, a retry budget) they are
// asked before each request. A throttle counts as accepted what the service
// answered and did not refuse.
//
// It does not retry. A request that a guard refused, or that got no slot, fails with a
// [NotSentError]; other errors are those of the base. It is safe for any number of goroutines. The
// zero value sends nothing; make one with [New] or [PerHost].
type Transport struct {
	base http.RoundTripper
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
	return &Transport{base: orDefault(base), single: l}
}

func orDefault(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		return http.DefaultTransport
	}
	return base
}

// RoundTrip sends the request once it has a slot.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a, err := t.admit(req)
	if err != nil {
		// A RoundTripper closes the body always, also on errors.
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, &NotSentError{Err: err}
	}
	settled := false
	defer func() {
		if !settled { // the base, or the classifier, panicked or ended the goroutine
			a.end(limiter.Verdict{Outcome: limiter.Neutral})
		}
	}()
	resp, err := t.base.RoundTrip(req)
	if err != nil || resp == nil {
		v := a.failed(err)
		settled = true
		a.end(v)
		return resp, err
	}
	a.heard = true
	v := a.answered(resp)
	settled = true
	if bodyless(req, resp) {
		a.end(v)
	} else {
		resp.Body = a.hold(resp, v)
	}
	return resp, nil
}

// admit asks the limiter's guards, and waits for the request's slot.
func (t *Transport) admit(req *http.Request) (attempt, error) {
	l, err := t.limiter(req)
	if err != nil {
		return attempt{}, err
	}
	ctx := req.Context()
	if l.HasSlot(ctx) {
		// Within Do or Each of the same limiter, which asked the guards, and hears of
		// the answer from its function. The zero permit is released already.
		return attempt{limiter: l, ctx: ctx}, nil
	}
	// Contexts keep real time, so this does too, whatever the limiter's clock.
	deadline, bounded := ctx.Deadline()
	var asked time.Time
	if bounded {
		asked = time.Now()
	}
	a, err := begin(ctx, l)
	if err != nil {
		return attempt{}, cause(ctx, err)
	}
	if bounded {
		a.patient = time.Until(deadline) >= deadline.Sub(asked)/2
	}
	return a, nil
}

// begin returns an attempt that its guards have admitted and that has a slot.
func begin(ctx context.Context, l *limiter.Limiter) (attempt, error) {
	a := attempt{limiter: l, guards: l.Guards(), ctx: ctx}
	number := attemptNumber(ctx)
	if len(a.guards) > 0 {
		if err := ctx.Err(); err != nil {
			return attempt{}, err
		}
		if err := a.guards.Admit(ctx, number); err != nil {
			return attempt{}, err
		}
	}
	begun := false
	defer func() {
		if !begun { // or the limiter's observer panicked
			a.guards.Ended(ctx, 0)
		}
	}()
	var err error
	if number > 1 {
		a.permit, err = l.Reacquire(ctx)
	} else {
		a.permit, err = l.Acquire(ctx)
	}
	begun = err == nil
	return a, err
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

// CloseIdleConnections closes the idle connections of the base, if it can.
// http.Client.CloseIdleConnections calls it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
