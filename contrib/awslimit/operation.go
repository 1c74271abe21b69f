package awslimit

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/verdict"
)

// operation is one call of the SDK, and the middleware of its stack in three places: around everything
// (Initialize), around each attempt (Finalize, inside of Retry and outside of signing), and next to the
// transport (Deserialize). Its attempts follow one another, so it needs no lock.
type operation struct {
	selector

	// attempts is the number of attempts so far, last the latest failed attempt, cause its error.
	attempts int
	last     *attempt.Attempt
	cause    error
	// useless counts attempts in a row that failed before they were sent, or in a way that only the SDK
	// tries again.
	useless int
	// stopped: the limiter refused the SDK an attempt. reason is why no further attempt helps, if the
	// verdict has a reason.
	stopped bool
	reason  error

	// input is the input of the operation.
	input any

	// sent and body belong to the attempt at hand. body is nil if it is empty.
	sent bool
	body *body
}

// ID implements the SDK's middleware interfaces. Each limiter has its own, so that there may be several
// in a stack, and the same one only once.
func (o *operation) ID() string { return o.id }

// HandleInitialize adds the last attempt's error to an error that lacks it: the SDK forgets it if the context ends
// between attempts.
func (o *operation) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	o.input = in.Parameters
	out, metadata, err := next.HandleInitialize(ctx, in)
	if err != nil && o.body != nil {
		// An interceptor made an error of a good answer, and left its body open.
		_ = o.body.Close()
	}
	forgotten := err != nil && o.cause != nil && !errors.Is(err, o.cause)
	switch {
	case o.reason != nil:
		err = &attempt.Error{Attempts: o.attempts, Reason: o.reason, Cause: err}
	case o.stopped, forgotten:
		err = &attempt.Error{Attempts: o.attempts, Reason: err, Cause: o.cause}
	}
	return out, metadata, err
}

// HandleFinalize makes one attempt: it waits for a slot, and ends the attempt or leaves that to the body.
func (o *operation) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	a, err := o.begin(ctx)
	if err != nil {
		o.stopped = true
		return middleware.FinalizeOutput{}, middleware.Metadata{}, final(ctx, err)
	}
	o.attempts++
	o.sent, o.body = false, nil
	open := false
	defer func() {
		if !open { // no effect after an end
			a.Drop()
		}
	}()
	out, metadata, err := next.HandleFinalize(a.Context(), in)
	switch {
	case err != nil:
		err = o.failed(a, err)
	case !o.sent: // a middleware answered
	case o.body != nil:
		o.body.hold(a, partly(o.input, out.Result))
		open = true // not if the classifier panicked
	default:
		a.End(partly(o.input, out.Result))
	}
	return out, metadata, err
}

// HandleDeserialize sees the answer before anything else does, and puts the tracker around its body.
func (o *operation) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	o.sent = true
	out, metadata, err := next.HandleDeserialize(ctx, in)
	r, ok := out.RawResponse.(*smithyhttp.Response)
	if ok && r != nil && r.Response != nil && r.Body != nil && r.Body != http.NoBody {
		o.body = &body{inner: r.Body, sized: r.ContentLength >= 0}
		r.Body = o.body
	}
	return out, metadata, err
}

func (o *operation) begin(ctx context.Context) (*attempt.Attempt, error) {
	if o.last == nil {
		l, err := o.limiter(ctx)
		if err != nil {
			return nil, err
		}
		return l.Begin(ctx)
	}
	return o.last.Next(ctx)
}

func (o *operation) failed(a *attempt.Attempt, err error) error {
	o.last, o.cause = a, err
	known := withRetryAfter(err)
	var v verdict.Verdict
	if o.sent { // otherwise the service was not asked, and the attempt is dropped
		v = a.End(known)
	}
	if o.useless++; v.Retry() {
		o.useless = 0
	}
	switch {
	case a.Within():
		// Within Do or Each, or for the credentials of an attempt (AssumeRole, S3 Express's CreateSession), the holder
		// of the slot makes the next attempt.
		return &decided{error: known}
	case v.Reason != nil:
		o.reason = v.Reason
		return &decided{error: err}
	case o.useless >= uselessMax, misfit(err):
		return &decided{error: err}
	case v.Retry():
		return &decided{error: err, again: true}
	}
	return err // the SDK knows more codes
}

// body is the body of an answer. The SDK reads most bodies itself, and the attempt ends after that: an error of the rest
// of such a body is the SDK's, which returns it or does without the rest. The body of a streaming output belongs to the
// caller, who may read and close it from any goroutine.
type body struct {
	mu sync.Mutex
	// Guarded by mu: the body beneath, or the attempt's once held, and whether the body ended before.
	inner io.ReadCloser
	over  bool
	// sized: the answer has a length.
	sized bool
}

func (b *body) beneath() io.ReadCloser {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inner
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.beneath().Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *body) Close() error {
	defer b.end()
	return b.beneath().Close()
}

func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}

// hold leaves it to the body to end the attempt, or ends it if the body has ended. head is what the output says.
func (b *body) hold(a *attempt.Attempt, head error) {
	a.Head(head)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		a.End(nil)
		return
	}
	b.inner = a.Body(b.inner, b.sized)
}

// misfit reports a TLS that does not fit: a certificate that is not accepted, or a server without TLS. Another attempt
// fails in the same way, though the SDK makes one.
func misfit(err error) bool {
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	return errors.As(err, &certificate) || errors.As(err, &plain) || errors.Is(err, http.ErrSchemeMismatch)
}

// uselessMax is the greatest number of attempts in a row that fail before they are sent, or in a way that only the
// SDK would try again, as for missing credentials. It is the SDK's own number.
const uselessMax = retry.DefaultMaxAttempts

// decided is an error that decides for the SDK's retryers whether there is another attempt.
type decided struct {
	error
	again bool
}

func (d *decided) Unwrap() error        { return d.error }
func (d *decided) RetryableError() bool { return d.again }

// final is the error of an operation that is over: no retryer tries it again.
func final(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil && errors.Is(err, over) {
		return &aws.RequestCanceledError{Err: err}
	}
	return &decided{error: err}
}

// withRetryAfter is an error of the SDK in the form that classifiers read.
func withRetryAfter(err error) error {
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil || response.Response.Response == nil {
		return err
	}
	after, _ := answer.RetryAfter(response.Response.Header, time.Now())
	if response.Response.StatusCode < http.StatusMultipleChoices && response.Err != nil {
		// The failure is not the status. The SDK puts an empty answer of status 0 around a request that
		// could not be sent.
		err = response.Err
	}
	if after > 0 {
		err = verdict.With(err, verdict.Facts{Verdict: verdict.Verdict{Wait: after}}) // Classify reads the rest
	}
	return err
}
