package aimdaws

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/aimd-go/aimd/httplimit"
)

// uselessMax is the most attempts in a row that fail before they are sent, or in a way that only the SDK
// would try again, as for missing credentials: as many as the SDK makes by itself.
const uselessMax = retry.DefaultMaxAttempts

// decided is an error that decides for the SDK's retryers whether there is another attempt.
type decided struct {
	error
	again bool
}

func (d *decided) Unwrap() error        { return d.error }
func (d *decided) RetryableError() bool { return d.again }

// final is the error of an operation that is over: no retryer takes it for one that is worth another
// attempt.
func final(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil && errors.Is(err, over) {
		return &aws.RequestCanceledError{Err: err}
	}
	return &decided{error: err}
}

// withRetryAfter is an error of the SDK in the form that classifiers read.
func withRetryAfter(err error) error {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil || answer.Response.Response == nil {
		return err
	}
	after, _ := httplimit.RetryAfter(answer.Response.Header, time.Now())
	if answer.Response.StatusCode < http.StatusMultipleChoices && answer.Err != nil {
		// The failure is not the status. The SDK puts an empty answer of status 0 around a request that
		// could not be sent.
		err = answer.Err
	}
	if after > 0 {
		err = &refusal{err, after}
	}
	return err
}

// refusal is an error with the Retry-After that came with it, in the way that classifiers look for it.
type refusal struct {
	error
	after time.Duration
}

func (r *refusal) Unwrap() error             { return r.error }
func (r *refusal) RetryAfter() time.Duration { return r.after }
