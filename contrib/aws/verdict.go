package aimdaws

import (
	"errors"
	"net/http"
	"time"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
)

// verdict is what the limiter's classifier says of an error of the SDK.
func verdict(l *limiter.Limiter, err error) attempt.Verdict {
	return l.Classify(withRetryAfter(err))
}

// withRetryAfter is an error of the SDK in the form that classifiers read.
func withRetryAfter(err error) error {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil || answer.Response.Response == nil {
		return err
	}
	after, _ := httplimit.RetryAfter(answer.Response.Header, time.Now())
	if answer.Response.StatusCode < http.StatusMultipleChoices && answer.Err != nil {
		// The failure is another than the status tells. The SDK puts an empty
		// answer of status 0 around a request that could not be sent.
		err = answer.Err
	}
	if after > 0 {
		err = &refusal{err, after}
	}
	return err
}

// refusal is an error with the Retry-After that came with it, in the way that
// classifiers look for it.
type refusal struct {
	error
	after time.Duration
}

func (r *refusal) Unwrap() error             { return r.error }
func (r *refusal) RetryAfter() time.Duration { return r.after }
