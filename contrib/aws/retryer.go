package aimdaws

import (
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/limiter"
)

const (
	// pacedDelay is the longest delay before a refused operation queues again.
	// Our choice: the queue paces, the delay is there so that a burst of
	// refusals does not come back as one.
	pacedDelay = 10 * time.Millisecond
	// unsentMax is how often in a row an attempt may fail before it is sent: as
	// often as the SDK itself tries. Missing credentials do not come by waiting.
	unsentMax = retry.DefaultMaxAttempts
	// backoffMax is the longest of the ordinary backoffs, as in the limiter's
	// own. The SDK counts refusals too, so an operation that was refused some
	// times and then cut off would else wait for up to 20 s.
	backoffMax = core.DefaultPauseMax
)

// Retryer is the part of Limit that decides on retries, to be used with
// Middleware. Its rules:
//
//   - No limit on attempts; what bounds them is the context.
//   - No retry quota on the client's side: the window already holds back, and
//     the SDK's quota makes operations fail that only have to wait.
//   - Again: what the SDK would try again, 429 and TooManyRequests, and
//     whatever the limiter's classifier says to try again. But not a
//     certificate that is not trusted or an endpoint that speaks no HTTP, and not
//     for ever what fails before it is sent.
//   - What narrows the window is tried again within 10 ms, since the queue
//     paces it. Other errors take the SDK's ordinary backoff.
func Retryer(l *limiter.Limiter) aws.Retryer {
	ordinary := retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = backoffMax })
	standard := retry.NewStandard(func(o *retry.StandardOptions) {
		o.RateLimiter = ratelimit.None
		o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(hopeless)}, o.Retryables...)
		o.Retryables = append(o.Retryables,
			retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}},
			retry.RetryableErrorCode{Codes: map[string]struct{}{"TooManyRequests": {}}},
			retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				return aws.BoolTernary(verdict(l, err).Retry)
			}))
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, err error) (time.Duration, error) {
			if paced(l, err) {
				return rand.N(pacedDelay), nil
			}
			return ordinary.RetryDelay(attempt, err)
		})
	})
	// 0: no limit. NewStandard would take it for its default.
	return retry.AddWithMaxAttempts(standard, 0)
}

// hopeless says no to errors that the SDK would try again, as every failure
// to send, but that stay what they are.
func hopeless(err error) aws.Ternary {
	var (
		unsent      *unsentError
		certificate *tls.CertificateVerificationError
		plain       tls.RecordHeaderError
	)
	if errors.As(err, &unsent) && unsent.times >= unsentMax ||
		errors.As(err, &certificate) || errors.As(err, &plain) || errors.Is(err, http.ErrSchemeMismatch) {
		return aws.FalseTernary
	}
	return aws.UnknownTernary
}

// paced reports whether the error narrows the window.
func paced(l *limiter.Limiter, err error) bool {
	var unsent *unsentError
	return !errors.As(err, &unsent) && verdict(l, err).Outcome.Overloaded()
}
