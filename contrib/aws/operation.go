package aimdaws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// operation is one call of the SDK, and the middleware of its stack in three
// places: around everything (Initialize), around each attempt (Finalize, inside
// of Retry and outside of signing), and next to the transport (Deserialize).
//
// The attempts of an operation follow one another, so it needs no lock.
type operation struct {
	l *limiter.Limiter
	// guards are the limiter's; nil where somebody else has asked them.
	guards attempt.Guards

	// attempts is how many got a slot, failures how many of them failed.
	attempts, failures int
	// unsent is how many attempts in a row failed before they were sent.
	unsent int
	// last, cause and ended are how, with what error and when the last attempt failed.
	last  attempt.Verdict
	cause error
	ended time.Time
	// stopped: no attempt was made though the SDK wanted one.
	stopped bool

	// sent and body are those of the attempt at hand. body is nil if it is empty.
	sent bool
	body *body
}

// ID implements the SDK's middleware interfaces. Each limiter has its own, so
// that there may be several in a stack, and the same one only once.
func (o *operation) ID() string { return fmt.Sprintf("aimd %p", o.l) }

// HandleInitialize adds the whole story to an error that does not tell it: the
// SDK forgets the last attempt's error when the context ends between attempts.
func (o *operation) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	out, metadata, err := next.HandleInitialize(ctx, in)
	if err != nil && o.body != nil {
		// An interceptor made an error of a good answer: its body reaches nobody.
		_ = o.body.Close()
	}
	forgotten := err != nil && o.cause != nil && !errors.Is(err, o.cause)
	if o.stopped || forgotten {
		err = &attempt.Error{Attempts: o.attempts, Reason: err, Cause: o.cause}
	}
	return out, metadata, err
}

// HandleFinalize makes one attempt: it waits for a slot, lets the rest of the
// stack sign and send, and releases the slot or leaves it to the body.
func (o *operation) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
) {
	// Within Do or Each, or within an attempt for whose credentials this is
	// called (AssumeRole, S3 Express's CreateSession): to wait for a slot while
	// that attempt has one could last for ever.
	within := o.l.HasSlot(ctx)
	p, err := o.admitted(ctx, within)
	if err != nil {
		o.stopped = true
		return out, metadata, final(ctx, err)
	}
	o.attempts++
	o.sent, o.body = false, nil
	returned := false
	defer func() {
		if !returned { // a panic in the stack
			defer o.guards.Ended(ctx, 0) // whatever the limiter's observer does
			_ = p.Done(window.Neutral)
		}
	}()
	out, metadata, err = next.HandleFinalize(o.l.WithSlot(ctx), in)
	returned = true
	if err == nil && o.body != nil {
		o.body.then(ctx, func(err error) { o.answered(ctx, p, err) })
		return out, metadata, nil
	}
	v := o.answered(ctx, p, err)
	switch {
	case err != nil && within:
		// Whoever has the slot gives it back before there is another attempt.
		err = &finalError{withRetryAfter(err)}
	case err != nil:
		err = o.failed(v, err)
	}
	return out, metadata, err
}

// HandleDeserialize sees the answer before anything else does, and puts the
// tracker around its body.
func (o *operation) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	o.sent = true
	out, metadata, err := next.HandleDeserialize(ctx, in)
	r, ok := out.RawResponse.(*smithyhttp.Response)
	if ok && r != nil && r.Response != nil && r.Body != nil && r.Body != http.NoBody {
		o.body = &body{ReadCloser: r.Body}
		r.Body = o.body
	}
	return out, metadata, err
}

// admitted asks the guards for the next attempt, and waits until it may go.
func (o *operation) admitted(ctx context.Context, within bool) (limiter.Permit, error) {
	if within {
		return limiter.Permit{}, nil // released already
	}
	if o.guards = o.l.Guards(); len(o.guards) > 0 {
		if err := ctx.Err(); err != nil {
			return limiter.Permit{}, err
		}
		if err := o.guards.Admit(ctx, o.attempts+1); err != nil {
			return limiter.Permit{}, err
		}
	}
	begun := false
	defer func() {
		if !begun { // or the limiter's observer panicked
			o.guards.Ended(ctx, 0)
		}
	}()
	p, err := o.waited(ctx)
	begun = err == nil
	return p, err
}

// waited waits for a slot. An attempt after the first waits out what the last
// answer asked for, without a slot, and then at the front.
func (o *operation) waited(ctx context.Context) (limiter.Permit, error) {
	acquire := o.l.Acquire
	if o.failures > 0 {
		acquire = o.l.Reacquire
		failures, v := o.failures, o.last
		if v.Outcome == window.Neutral {
			// The SDK has backed off for this one already.
			failures = 0
		}
		// The SDK's delay, on the real clock, counts towards the Retry-After.
		v.RetryAfter = max(0, v.RetryAfter-time.Since(o.ended))
		if err := o.l.Backoff(ctx, failures, v); err != nil {
			return limiter.Permit{}, err
		}
	}
	return acquire(ctx)
}

// answered classifies the end of an attempt, releases its permit and tells the guards.
func (o *operation) answered(ctx context.Context, p limiter.Permit, err error) attempt.Verdict {
	v := attempt.Verdict{Outcome: window.Neutral}
	classified := false
	// Deferred, because the classifier may be the user's and panic.
	defer func() {
		// Deferred once more: they are told whatever the limiter's observer does.
		if classified && o.sent {
			defer o.guards.Ended(ctx, told(ctx, v, err))
		} else {
			defer o.guards.Ended(ctx, 0)
		}
		_ = p.Settle(v)
	}()
	v = verdict(o.l, err)
	classified = true
	if !o.sent || v.Outcome == window.Timeout && ctx.Err() != nil {
		// The service was not asked; or the caller's time was up, of which
		// most may have gone in the queue.
		v.Outcome = window.Neutral
	}
	return v
}

// told is what guards hear: nothing, where the service said nothing.
func told(ctx context.Context, v attempt.Verdict, err error) window.Outcome {
	var status interface{ HTTPStatusCode() int }
	if v.Outcome == window.Neutral && (ctx.Err() != nil || !errors.As(err, &status) || status.HTTPStatusCode() < 400) {
		return 0
	}
	return v.Outcome
}

// failed notes how an attempt failed, and returns the error for the retryer.
func (o *operation) failed(v attempt.Verdict, err error) error {
	o.failures++
	o.last, o.cause, o.ended = v, err, time.Now()
	if o.sent {
		o.unsent = 0
		return err
	}
	o.unsent++
	return &unsentError{error: err, times: o.unsent}
}

// final is an error that no retryer takes for one that is worth another attempt.
func final(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil && errors.Is(err, over) {
		return &aws.RequestCanceledError{Err: err}
	}
	return &finalError{err}
}

// finalError tells the SDK's retryers that the operation is over.
type finalError struct{ error }

func (e *finalError) Unwrap() error        { return e.error }
func (e *finalError) RetryableError() bool { return false }

// unsentError is the error of an attempt that failed before it was sent: for
// want of credentials, say.
type unsentError struct {
	error
	// times is how often in a row the operation failed so.
	times int
}

func (e *unsentError) Unwrap() error { return e.error }
