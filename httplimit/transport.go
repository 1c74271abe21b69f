package httplimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/body"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Transport is an http.RoundTripper that waits for a slot of its limiter before it sends a request, and
// reports the end of the attempt to the limiter. The slot is held until the answer's body is read to its
// end or closed, reading fails, or the request's context ends.
//
// An answer with a status below 400 is a success, unless its body says otherwise. JSON, XML and the first event of a
// stream are looked at, up to 64 KiB and for at most a quarter of a second, as package answer says: a refusal within a
// 200 is a refusal. A file, with Last-Modified or Content-Range, is not looked at. A batch that refused a part for load
// is an overload for the limiter, and passes: the program sends the rest. A later error in a stream ends the attempt,
// and passes. Other answers are [StatusError]s for the limiter's classifier, which also reads the errors of the base.
//
// A Transport does not retry; its [Transport.Client] does. A request without a slot fails with an [*attempt.Error]
// of no attempt, so it may be sent again even if it is not idempotent. The reason is aimd.ErrClosed,
// aimd.ErrQueueFull, the cause of the context's end (context.Cause), or the error of a guard or of the field
// Of. Other errors are the base's, within an attempt.Error if the service has never answered
// (aimd.ErrNeverAnswered).
//
// A base other than an *http.Transport gets a copy of the request, with a context that has the slot. A Transport is
// safe for any number of goroutines. Do not copy it, nor change its fields, after the first request. The zero value
// sends nothing: each request fails, since it has no Limiter.
type Transport struct {
	// Base sends. nil is a copy of the http.DefaultTransport at the first request; an *http.Transport then keeps as
	// many idle connections as the window may need, and finds within 45 s that a connection of HTTP/2 is lost. If
	// you set an http.Transport, set its MaxIdleConnsPerHost to the largest window that you expect: it keeps two by
	// default, and makes other connections again for each request. Set its HTTP2.SendPingTimeout too.
	Base http.RoundTripper
	// Limiter is the limiter of all requests. Either Limiter or Of is required.
	Limiter *aimd.Limiter
	// Of returns the limiter of a request: [PerHost] and [By] make such functions. If it returns an error, or nil, the
	// request fails and is not sent. It must be safe for several goroutines.
	Of func(*http.Request) (*aimd.Limiter, error)
	// Resend503 lets a [Transport.Client] send every request again after a 503, a POST too. It is for a
	// service that refuses with 503 before it does any of the work, as nginx does by limit_req and limit_conn.
	Resend503 bool
	// IgnoreQuotas ignores the quotas that a service reports. The default is to pace the requests by them, as the
	// package comment says.
	IgnoreQuotas bool
	// ReadUsage takes the tokens that an answer of OpenAI's or Anthropic's form reports for what the attempt cost
	// (attempt.Used), so that aimd.Config.MaxAmountRate counts the tokens in fact. It keeps at most 16 KiB of an answer,
	// and delays none. The answer must be JSON or a stream of events, without a Content-Encoding, and complete.
	// The default is false: some contracts count the tokens that a request may cost at most.
	ReadUsage bool
	// Read gets each answer as package answer reads it. It returns the answer, or another reading of a service that
	// you know better: see [answer.Answer.As]. A success has Body, Codes and Text if its body is looked at. Read must be
	// safe for several goroutines. nil is no change.
	Read func(answer.Answer) answer.Answer

	once sync.Once
	own  http.RoundTripper // for Base, if that is nil
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	t.once.Do(func() {
		t.own = http.DefaultTransport
		if shared, ok := t.own.(*http.Transport); ok {
			own := shared.Clone()
			own.MaxIdleConns, own.MaxIdleConnsPerHost = 0, window.MaxWindow // the window bounds them
			if own.HTTP2 == nil {
				// TCP needs a quarter of an hour to find out that the other end is gone.
				own.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
			}
			t.own = own
		}
	})
	return t.own
}

// CloseIdleConnections closes the idle connections of the base, if the base can. It is for http.Client.
func (t *Transport) CloseIdleConnections() { closeIdle(t.base()) }

func closeIdle(base http.RoundTripper) {
	if c, ok := base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// ask sends the request. Without an answer the error is the base's, with one it is what the answer says at its start; said
// is the answer as it was read, nil if it was empty. read is Transport.Read.
func ask(base http.RoundTripper, req *http.Request, read func(answer.Answer) answer.Answer) (_ *http.Response, said *answer.Answer, _ error) {
	sent, judge := watched(req)
	resp, err := base.RoundTrip(sent)
	switch {
	case err != nil:
		return nil, nil, judge(err)
	case resp == nil:
		return nil, nil, errNoAnswer
	}
	if resp.Request == sent {
		resp.Request = req
	}
	defer closeAfterPanic(resp)
	e, said := glance(resp, read)
	if e != nil {
		return resp, said, e
	}
	return resp, said, nil
}

// passing is the error for the program: nil if it gets the answer.
func passing(err error) error {
	switch e := err.(type) {
	case *StatusError:
		if e.passes {
			return nil
		}
	case unread:
		return e.error
	}
	return err
}

// closeAfterPanic closes the answer if the program's code panics, Read or the classifier: the caller never gets the
// answer, and its connection would stay open for ever. Defer it.
func closeAfterPanic(resp *http.Response) {
	if v := recover(); v != nil {
		if resp.Body != nil {
			resp.Body.Close()
		}
		panic(v)
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
func (t *Transport) send(a *attempt.Attempt, req *http.Request) (*http.Response, verdict.Verdict, error) {
	open := false
	defer func() {
		if !open { // no effect after an end
			a.Drop()
		}
	}()
	sent := req
	base := t.base()
	if _, plain := base.(*http.Transport); !plain && req.Context() != a.Context() {
		sent = req.WithContext(a.Context()) // what the base begins within has the slot
	}
	resp, said, err := ask(base, sent, t.Read)
	if resp == nil {
		return nil, a.End(unanswered{err}), passing(err)
	}
	if resp.Request == sent {
		resp.Request = req
	}
	defer closeAfterPanic(resp)
	var reports []answer.Quota
	if !t.IgnoreQuotas {
		reports = quotas(resp, said)
	}
	v := a.Head(err, reports...)
	if bodyless(req, resp) {
		a.End(nil)
	} else {
		if t.ReadUsage {
			resp.Body = metered(a.Context(), resp)
		}
		resp.Body = hold(a, t.watched(a, resp, err))
		open = true
	}
	return resp, v, passing(err)
}

// watched returns the answer with a body that ends the attempt at an error in its stream of events.
func (t *Transport) watched(a *attempt.Attempt, resp *http.Response, err error) *http.Response {
	kind := resp.Header["Content-Type"]
	if err != nil || len(kind) == 0 || !strings.HasPrefix(kind[0], "text/event-stream") || resp.StatusCode >= http.StatusBadRequest ||
		resp.Header.Get("Content-Encoding") != "" {
		return resp
	}
	resp.Body = body.Watch(resp.Body, func(event []byte) {
		said := answer.Read(resp.StatusCode, resp.Header, event, time.Now())
		if t.Read != nil {
			said = t.Read(said)
		}
		if said.Failed() {
			a.End(&StatusError{StatusCode: resp.StatusCode, Status: resp.Status, Header: resp.Header, said: &said, Body: kept(event)})
		}
	})
	return resp
}

// quotas are the reports of an answer; said is nil if it was not read.
func quotas(resp *http.Response, said *answer.Answer) []answer.Quota {
	if said != nil {
		return said.Quotas
	}
	return answer.Quotas(resp.Header, time.Now)
}

// unanswered is the error of a request without an answer, for the limiter.
type unanswered struct{ error }

func (u unanswered) Unwrap() error        { return u.error }
func (u unanswered) Facts() verdict.Facts { return verdict.Facts{Reach: verdict.Unanswered} }

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
	case t.Limiter != nil && t.Of != nil:
		return nil, fmt.Errorf("httplimit: %w", check.Wrong("Transport.Of", "a function", "either Limiter or Of"))
	case t.Limiter != nil:
		return t.Limiter, nil
	case t.Of == nil:
		return nil, fmt.Errorf("httplimit: %w", check.Wrong("Transport.Limiter", "nil", "either Limiter or Of"))
	}
	l, err := t.Of(req)
	if err == nil && l == nil {
		err = fmt.Errorf("httplimit: %w", check.Nil("what Transport.Of returned"))
	}
	return l, err
}

func hold(a *attempt.Attempt, resp *http.Response) io.ReadCloser {
	w, ok := resp.Body.(io.Writer)
	switch {
	case !ok:
		return a.Body(resp.Body, resp.ContentLength >= 0)
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return &duplex{a.Body(resp.Body, false), w}
	}
	return a.Body(struct{ io.ReadCloser }{resp.Body}, resp.ContentLength >= 0)
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
