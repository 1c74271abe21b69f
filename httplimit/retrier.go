package httplimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/verdict"
)

// NewRetrier returns an http.RoundTripper that sends a request again if a policy allows it, for a retry.Policy of
// your own; without a policy use [NewClient]. Put it above a [Transport], so that each attempt waits for its own
// slot. A retry waits at the front of the queue, and holds no slot before. Within Do or Each of that limiter the window
// does not hear of its refusals: use [NewClient] there, or return Check(resp).
//
// Give a throttle and a budget to the policy (retry.Config.Guards), not to the limiter: the policy's guards are
// asked before the delay, while the answer can still be returned.
//
// The policy reads a [StatusError], for an answer of status 400 or more, or the base's error. A request may be done
// twice by its method (GET, HEAD, OPTIONS, TRACE, PUT, DELETE; RFC 9110, section 9.2.2), by an Idempotency-Key or
// X-Idempotency-Key header, or by its context (retry.WithIdempotent). A request that was refused with a 4xx was not
// done, unless that is a time-out. A PUT with a condition and a request with a nonce are as with [NewClient]. A
// request is sent again only if its body can be: it has no body, or GetBody, which http.NewRequest sets for the
// readers that it knows.
//
// Earlier answers are read, for at most 64 KiB and a quarter of a second, and closed, so that their connections can
// be used again. The caller gets the last answer unchanged, with its whole body. Without an answer the error is the
// base's error if it was final at once, otherwise an *attempt.Error. If the body of an answer breaks off, the
// request is not sent again.
//
// It is safe for any number of goroutines. A nil policy is the default policy. base sends; nil means the present
// http.DefaultTransport. The policy must have no attempt timeout, since an answer's body outlives the attempt: set
// http.Transport.ResponseHeaderTimeout instead.
func NewRetrier(base http.RoundTripper, p *retry.Policy) (http.RoundTripper, error) {
	runner := *p.Runner()
	runner.Policy = refusals{Policy: runner.Policy}
	if runner.AttemptTimeout != 0 {
		return nil, fmt.Errorf("httplimit: %w", check.Wrong("AttemptTimeout", runner.AttemptTimeout, "none in a retrier's policy, and http.Transport.ResponseHeaderTimeout instead"))
	}
	r := &retrier{base: cmp.Or(base, http.DefaultTransport), runner: &runner}
	if t, ok := base.(*Transport); ok {
		r.read = t.Read
	}
	return r, nil
}

type retrier struct {
	base   http.RoundTripper
	runner *attempt.Runner
	// read is the Read of a Transport beneath.
	read func(answer.Answer) answer.Answer
}

// CloseIdleConnections is for http.Client.
func (r *retrier) CloseIdleConnections() { closeIdle(r.base) }

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
	return exchanged(a, req, r, nil, 0)
}

// send makes an attempt that ends with the head of its answer.
func (r *retrier) send(a *attempt.Attempt, req *http.Request) (*http.Response, verdict.Verdict, error) {
	resp, _, err := ask(r.base, req, r.read)
	if resp != nil {
		defer closeAfterPanic(resp)
	}
	return resp, a.End(err), passing(err)
}

// terms is the request's context, which says whether the request may be sent or done twice.
func terms(req *http.Request) context.Context {
	switch {
	case nonce(req.Header):
		return retry.WithOnce(req.Context())
	case idempotent(req):
		return retry.WithIdempotent(req.Context())
	}
	return req.Context()
}

// nonce reports a request with a nonce that the service takes once: of ACME (RFC 8555, section 6.5), OAuth 1
// (RFC 5849, section 3.3), or DPoP (RFC 9449, section 11.1).
func nonce(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	scheme, parameters, _ := strings.Cut(h.Get("Authorization"), " ")
	return kind == "application/jose+json" || h.Get("Dpop") != "" ||
		strings.EqualFold(scheme, "OAuth") && strings.Contains(parameters, "oauth_nonce")
}

// idempotent reports whether a request may be done twice: "the idempotent methods ... PUT, DELETE, and safe request
// methods" (RFC 9110, section 9.2.2). The keys are net/http's.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	case http.MethodPut, http.MethodDelete:
		if !conditional(req) {
			return true
		}
	}
	return has(req.Header, "Idempotency-Key", "X-Idempotency-Key")
}

// conditional reports a request with a condition, or one that writes at an offset: after the first attempt's work it
// fails, or does it twice. An offset is of HTTP (RFC 9110, section 14.5; OneDrive, Upload sessions), of Azure's append
// blobs (Append Block), and of Amazon S3 Express (PutObject).
func conditional(req *http.Request) bool {
	return has(req.Header, "If-Match", "If-None-Match", "If-Unmodified-Since", "X-Goog-If-Generation-Match", "X-Goog-If-Metageneration-Match",
		"Content-Range", "X-Ms-Blob-Condition-Appendpos", "X-Ms-Blob-Condition-Maxsize", "X-Amz-Write-Offset-Bytes") ||
		req.URL != nil && strings.Contains("&"+req.URL.RawQuery+"&", "&comp=appendblock&")
}

func has(h http.Header, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := h[name]
		return ok
	})
}

func rewinds(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

var errNoAnswer = errors.New("httplimit: the base returned neither an answer nor an error")
