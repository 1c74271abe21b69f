package httplimit

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/verdict"
)

// patience is three times the longest Retry-After that a limiter obeys by default. Our choice.
const patience = 15 * time.Minute

// longest is when no wait lasts any longer: such a Retry-After more, so that most requests end with an answer.
const longest = patience + 5*time.Minute

var errPatience = errors.New("httplimit: the request has no deadline, and was sent again for 15 minutes, or waited for 20")

// NewClient returns an http.Client whose requests wait for slots of the limiter. A request is sent again as aimd.Do
// runs a function again: until its deadline or, without a deadline, for 15 minutes. It waits for an attempt more for 20 minutes
// since the first one, at most. If the limiter has a policy, the policy decides instead.
//
// Which requests are sent again, if the limiter's classifier allows it:
//
//	any that was certainly not done                      there was no connection, or HTTP/2 said so
//	any with retry.WithOnce, or a nonce in it            never; see below
//	any whose body cannot be read twice                  never; http.NewRequest sees to the usual readers
//	GET, HEAD, OPTIONS, TRACE, PUT, DELETE               after every failure
//	any, with an Idempotency-Key or retry.WithIdempotent after every failure
//	any, after a 4xx, but for a time-out                 the service did not do the work
//	any, after a refusal within a success                nor then
//	any, after a 503                                     with Transport.Resend503
//	any whose connection broke off in its body           the service cannot have the whole request
//	POST, PATCH and others, after other failures         never
//	PUT and DELETE with a condition, such as If-Match    as a POST
//	a PUT that writes at an offset (Content-Range)       as a POST
//
// Within Do or Each of the same limiter a request is sent again under their slot, which it holds meanwhile. The window hears of
// each refusal.
//
// A condition would fail after the first attempt's work, and the caller would take its own object for another's.
//
// A request with a nonce is one of ACME (application/jose+json), of OAuth 1, or with a DPoP proof. The service
// takes the nonce once, so the caller gets the first answer, with its Retry-After. If a RoundTripper beneath the
// Transport signs, each attempt has a new nonce, and the request is sent again as any other.
//
// A service that takes no byte of a body holds the request, and its slot, until the request's context ends: give it a
// deadline.
//
// The caller gets the last answer unchanged, with any status. Without an answer the error is as with a retrier
// ([NewRetrier]). NewClient is short for the [Transport.Client] of a Transport with that Limiter. Make the
// Transport yourself for a base (a proxy, a private CA, another client's credentials) or for several limiters.
// NewClient panics if l is nil.
func NewClient(l *aimd.Limiter) *http.Client {
	if l == nil {
		panic("httplimit: the limiter is nil")
	}
	return (&Transport{Limiter: l}).Client()
}

// Client returns an http.Client that sends each request through the Transport, and again by the rules of
// [NewClient].
func (t *Transport) Client() *http.Client { return &http.Client{Transport: patient{t}} }

type patient struct{ *Transport }

// RoundTrip sends the request, again if need be.
func (p patient) RoundTrip(req *http.Request) (*http.Response, error) {
	if !rewinds(req) {
		return p.Transport.RoundTrip(req)
	}
	a, err := p.begin(terms(req), req)
	if err != nil {
		return nil, err
	}
	return exchanged(a, req, p.Transport, p.again, longest)
}

// sendable is what may be sent again; the limiter decides when.
var sendable = func() *retry.Policy {
	p, err := retry.New(retry.Config{MaxAttempts: -1})
	if err != nil {
		panic(err) // the settings are right
	}
	return p
}()

func (p patient) again(ctx context.Context, f attempt.Failure) (bool, error) {
	if _, bounded := ctx.Deadline(); !bounded && f.Elapsed >= patience {
		return false, errPatience
	}
	d := refusals{sendable, p.Resend503}.Decide(ctx, f)
	return d.Retry, d.Reason
}

// refusals is a policy that knows which answers say that the work was not done.
type refusals struct {
	attempt.Policy
	// unavailable: a 503 says so too.
	unavailable bool
}

// Decide decides as the policy does for work that may be done twice, if the work was not done.
func (r refusals) Decide(ctx context.Context, f attempt.Failure) attempt.Decision {
	var refusal *StatusError
	if errors.As(f.Err, &refusal) && (refusal.undone(f.Verdict) || r.unavailable && refusal.StatusCode == http.StatusServiceUnavailable) {
		ctx = retry.WithIdempotent(ctx)
	}
	return r.Policy.Decide(ctx, f)
}

// undone reports whether the answer says that the work was not done: a 4xx, or a success that refuses. A failure within
// a success says so in XML alone, where nothing else was done.
func (e *StatusError) undone(v verdict.Verdict) bool {
	within := e.StatusCode < http.StatusBadRequest && v.Meaning == answer.Unclear && !strings.Contains(e.Header.Get("Content-Type"), "xml")
	return e.StatusCode < http.StatusInternalServerError && v.Meaning != answer.Slow && !within
}
