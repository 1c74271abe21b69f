package httplimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/window"
)

// Transport is an http.RoundTripper that waits for a slot of its limiter before it sends a request, and
// reports the end of the attempt to the limiter. The slot is held until the answer's body is read to its
// end or closed, reading fails, or the request's context ends.
//
// An answer with a status below 400 is a success, unless it answers a PUT or POST with an error document. The limiter's
// classifier reads any other as a [StatusError], and it reads the errors of the base.
//
// A Transport does not retry, its [Transport.Client] does; attempt.WithRetry marks a request as a retry. A request
// without a slot fails with an [*attempt.Error] of no attempt, so it may be sent again even if it is not
// idempotent. The reason is aimd.ErrClosed, aimd.ErrQueueFull, the cause of the context's end (context.Cause),
// or the error of a guard or of PerHost's newLimiter. Other errors are the base's, within an attempt.Error if the
// service has never answered (aimd.ErrNeverAnswered).
//
// A base other than an *http.Transport gets a copy of the request, whose context says that it has a slot.
// A Transport is safe for any number of goroutines. The zero value sends nothing; make one with [New] or
// [PerHost], and set its fields before the first request.
type Transport struct {
	// ResendUnavailable lets a [Transport.Client] send every request again after a 503, a POST too. It is for a
	// service that refuses with 503 before it does any of the work, as nginx does by limit_req and limit_conn.
	ResendUnavailable bool
	// WithoutQuota leaves the quotas alone that a service reports in its answers. The default is to pace the
	// requests by them, as the package comment says.
	WithoutQuota bool
	// By says which limiter of a [PerHost] a request has, for services that limit by something else than the
	// host: by the credential, the tenant or the model. Requests with the same key share a limiter. newLimiter
	// gets the key as its host. By must be safe for several goroutines; nil is the host.
	By func(*http.Request) string

	beneath
	// Either single or hosts is set.
	single *aimd.Limiter
	hosts  *aimd.Keyed[string]
}

// New returns a Transport with one limiter for all its requests. It panics if l is nil.
//
// base sends. nil is a copy of what http.DefaultTransport is now, which keeps as many idle connections as the
// window may need, if that is an *http.Transport. Set MaxIdleConnsPerHost of an http.Transport of your own to the
// largest window that you expect: it keeps two by default, and the other connections are made again for each
// request.
func New(base http.RoundTripper, l *aimd.Limiter) *Transport {
	if l == nil {
		panic("httplimit: New with a nil limiter")
	}
	return &Transport{beneath: under(base), single: l}
}

type beneath struct{ base http.RoundTripper }

func over(base http.RoundTripper) beneath { return beneath{cmp.Or(base, http.DefaultTransport)} }

// under is what a limiter's Transport sends with.
func under(base http.RoundTripper) beneath {
	shared, ok := http.DefaultTransport.(*http.Transport)
	if base != nil || !ok {
		return over(base)
	}
	own := shared.Clone()
	own.MaxIdleConns, own.MaxIdleConnsPerHost = 0, window.MaxWindow // the window bounds them
	return beneath{own}
}

// CloseIdleConnections is for http.Client: it closes the idle connections of the base, if it can.
func (b beneath) CloseIdleConnections() {
	if c, ok := b.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// ask sends the request. Without an answer the error is the base's, with one it is what the head says.
func (b beneath) ask(req *http.Request) (*http.Response, error) {
	sent, judge := watched(req)
	resp, err := b.base.RoundTrip(sent)
	switch {
	case err != nil:
		return nil, judge(err)
	case resp == nil:
		return nil, errNoAnswer
	}
	if resp.Request == sent {
		resp.Request = req
	}
	if e := glance(resp); e != nil {
		return resp, e
	}
	return resp, nil
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
	case errors.Is(v.Reason, aimd.ErrNeverAnswered):
		err = &attempt.Error{Attempts: 1, Reason: v.Reason, Cause: err}
	}
	return nil, err
}

func (t *Transport) begin(ctx context.Context, req *http.Request) (*attempt.Attempt, error) {
	l, err := t.limiter(req)
	if err == nil {
		var a *attempt.Attempt
		if a, err = l.Begin(ctx); err == nil {
			return a, nil
		}
	}
	return nil, notSent(req, err)
}

// send makes the attempt, which ends with the answer's body. The error is the base's, or the head's.
func (t *Transport) send(a *attempt.Attempt, req *http.Request) (*http.Response, attempt.Verdict, error) {
	open := false
	defer func() {
		if !open { // no effect after an end
			a.Drop()
		}
	}()
	sent := req
	if _, plain := t.base.(*http.Transport); !plain && req.Context() != a.Context() {
		sent = req.WithContext(a.Context()) // what the base begins within has the slot
	}
	resp, err := t.ask(sent)
	if resp == nil {
		return nil, a.End(unanswered{err}), err
	}
	if resp.Request == sent {
		resp.Request = req
	}
	var reports []answer.Quota
	if !t.WithoutQuota {
		reports = quotas(resp, err)
	}
	v := a.Head(err, reports...)
	if bodyless(req, resp) {
		a.End(nil)
	} else {
		resp.Body = hold(a, resp)
		open = true
	}
	return resp, v, err
}

// quotas are the reports of an answer; err is what its head says.
func quotas(resp *http.Response, err error) []answer.Quota {
	if e, ok := err.(*StatusError); ok {
		return e.Answer().Quotas
	}
	return answer.Quotas(resp.Header, time.Now)
}

// unanswered is the error of a request without an answer, for the limiter.
type unanswered struct{ error }

func (u unanswered) Unwrap() error        { return u.error }
func (u unanswered) Facts() attempt.Facts { return attempt.Facts{Reach: attempt.Unanswered} }

// bodyless reports whether an answer has no body that could end later. HTTP/2 does not use http.NoBody
// for that. With HTTP/1 hand-made answers often leave ContentLength unset.
func bodyless(req *http.Request, resp *http.Response) bool {
	switch {
	case resp.Body == nil, resp.Body == http.NoBody, req.Method == http.MethodHead:
		return true
	case resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return true
	}
	return resp.ProtoMajor >= 2 && resp.ContentLength == 0
}

func (t *Transport) limiter(req *http.Request) (*aimd.Limiter, error) {
	switch {
	case t.single != nil:
		return t.single, nil
	case t.hosts == nil:
		return nil, errors.New("a Transport that is not made with New or PerHost")
	case req.URL == nil:
		return nil, errors.New("a request without a URL")
	case t.By != nil:
		return t.hosts.For(t.By(req))
	}
	return t.hosts.For(host(req.URL))
}

// Limiters yields the limiters that there are now, each with its host; the one limiter of New has the
// host "". It is there for metrics and for draining.
func (t *Transport) Limiters() iter.Seq2[string, *aimd.Limiter] {
	if t.hosts != nil {
		return t.hosts.All()
	}
	return func(yield func(string, *aimd.Limiter) bool) {
		if t.single != nil {
			yield("", t.single)
		}
	}
}

func hold(a *attempt.Attempt, resp *http.Response) io.ReadCloser {
	w, ok := resp.Body.(io.Writer)
	switch {
	case !ok:
		return a.Body(resp.Body)
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return &duplex{a.Body(resp.Body), w}
	}
	return a.Body(struct{ io.ReadCloser }{resp.Body})
}

// duplex is a body that is a connection: an io.ReadWriteCloser, with CloseWrite as net/http has it.
type duplex struct {
	io.ReadCloser
	writer io.Writer
}

func (d *duplex) Write(p []byte) (int, error) { return d.writer.Write(p) }

func (d *duplex) CloseWrite() error {
	if c, ok := d.writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("httplimit: CloseWrite: %w", errors.ErrUnsupported)
}

// PerHost returns a Transport with a limiter for each host. base sends, as with [New]. newLimiter makes the limiter
// of a host at its first request, while other requests wait. host is the URL's host in lower case and with its
// port: "example.com:443". If newLimiter fails, so does the request. If c.Keys limiters are all in use, a request
// for another host fails and is not sent.
func PerHost(base http.RoundTripper, newLimiter func(host string) (*aimd.Limiter, error), c aimd.KeyedConfig) (*Transport, error) {
	if newLimiter == nil {
		return nil, fmt.Errorf("httplimit: %w", check.Nil("newLimiter"))
	}
	hosts, err := aimd.NewKeyed(func(host string) (*aimd.Limiter, error) {
		l, err := newLimiter(host)
		switch {
		case err != nil:
			return nil, fmt.Errorf("no limiter for host %q: %w", host, err)
		case l == nil:
			return nil, fmt.Errorf("no limiter for host %q: newLimiter returned nil", host)
		}
		return l, nil
	}, c)
	if err != nil {
		return nil, fmt.Errorf("httplimit: %w", err)
	}
	return &Transport{beneath: under(base), hosts: hosts}, nil
}

func host(u *url.URL) string {
	h := strings.ToLower(u.Host)
	if u.Port() != "" {
		return h
	}
	h = strings.TrimSuffix(h, ":")
	switch u.Scheme {
	case "http":
		return h + ":80"
	case "https":
		return h + ":443"
	}
	return h
}
