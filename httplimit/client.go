package httplimit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/retry"
)

// patience is three times the longest Retry-After that a limiter obeys by default. Our choice.
const patience = 15 * time.Minute

var errPatience = errors.New("httplimit: the request has no deadline, and was sent again for 15 minutes")

// Client returns an http.Client for which each request waits for a slot of the limiter, and is sent again as
// aimd.Do runs a function again: until its deadline or, without one, for 15 minutes. If the limiter has a
// policy, the policy decides instead.
//
// Which requests are sent again, if the limiter's classifier allows it:
//
//	GET, HEAD, OPTIONS, TRACE, PUT, DELETE               after every failure
//	any, with an Idempotency-Key or retry.WithIdempotent after every failure
//	any, after a 429                                     the service did not do the work
//	any, after a 403 of a block (attempt.Verdict.Denied) the same
//	any, after a 503                                     with the option ResendUnavailable
//	any that was certainly not sent                      there was no connection
//	POST, PATCH and others, after other failures         never
//	any whose body cannot be read twice                  never; http.NewRequest sees to the usual readers
//
// The caller gets the last answer as it came, whatever its status. Without one the error is as with a
// retrier ([NewRetrier]). The option Base sets what sends: with a proxy, a private CA, or another client's
// credentials. [Transport.Client] of [PerHost] has a limiter for each host. Client panics if l is nil.
func Client(l *aimd.Limiter, opts ...Option) *http.Client { return New(nil, l, opts...).Client() }

// Client returns an http.Client that sends each request through the Transport, and again by the rules of the
// function [Client].
func (t *Transport) Client() *http.Client {
	p := &patient{Transport: t}
	p.send, p.may = t.send, p.again
	return &http.Client{Transport: p}
}

// Option is a setting of a Client or a Transport.
type Option func(*options)

type options struct {
	// sender is the base, nil for the default.
	sender http.RoundTripper
	// unavailable: a 503 says that the work was not done.
	unavailable bool
	// unread: what the answers report of quotas is not read.
	unread bool
	// key says which limiter of PerHost a request has.
	key func(*http.Request) string
}

func optionsOf(opts []Option) (all options) {
	for _, o := range opts {
		o(&all)
	}
	return all
}

// Base sets the http.RoundTripper that sends. nil, the default, is a copy of what http.DefaultTransport is now,
// which keeps as many idle connections as the window may need, if that is an *http.Transport. Set
// MaxIdleConnsPerHost of an http.Transport of your own to the largest window that you expect: it keeps two by
// default, and the other connections are made again for each request. New and PerHost have an argument instead.
func Base(rt http.RoundTripper) Option { return func(o *options) { o.sender = rt } }

// ResendUnavailable lets a Client send every request again after a 503, a POST too. It is for a service that
// refuses with 503 before it does any of the work, as nginx does by limit_req and limit_conn.
func ResendUnavailable() Option { return func(o *options) { o.unavailable = true } }

// WithoutQuota leaves the quotas alone that a service reports in its answers. The default is to pace the
// requests by them, as the package comment says.
func WithoutQuota() Option { return func(o *options) { o.unread = true } }

// By sets the limiter that a request has, for a [PerHost] whose services limit by something else than the host: by
// the credential, the tenant or the model. Requests with the same key share a limiter. newLimiter gets the key as
// its host. New ignores By. key must be safe for several goroutines; nil is the default, the host.
func By(key func(*http.Request) string) Option { return func(o *options) { o.key = key } }

type patient struct {
	*Transport
	// send and may are methods, made into functions once.
	send func(*run.Attempt, *http.Request) (*http.Response, attempt.Verdict, error)
	may  func(context.Context, attempt.Failure) (bool, error)
}

// RoundTrip sends the request, again if need be.
func (p *patient) RoundTrip(req *http.Request) (*http.Response, error) {
	if !rewinds(req) {
		return p.Transport.RoundTrip(req)
	}
	a, err := p.begin(terms(req), req)
	if err != nil {
		return nil, err
	}
	x := &exchange{req: req, send: p.send}
	return x.result(a.Drive(x, p.may))
}

// sendable is what may be sent again; the limiter decides when.
var sendable = func() *retry.Policy {
	p, err := retry.New(retry.Config{MaxAttempts: -1})
	if err != nil {
		panic(err) // the settings are right
	}
	return p
}()

func (p *patient) again(ctx context.Context, f attempt.Failure) (bool, error) {
	if _, bounded := ctx.Deadline(); !bounded && f.Elapsed >= patience {
		return false, errPatience
	}
	d := refusals{sendable, p.unavailable}.Decide(ctx, f)
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
	var answer *StatusError
	if f.Verdict.Denied || errors.As(f.Err, &answer) && (answer.StatusCode == http.StatusTooManyRequests ||
		r.unavailable && answer.StatusCode == http.StatusServiceUnavailable) {
		ctx = retry.WithIdempotent(ctx)
	}
	return r.Policy.Decide(ctx, f)
}
