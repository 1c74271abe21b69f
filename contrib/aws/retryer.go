package aimdaws

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// Retryer is the part of Limit that lets the SDK go on, to be used with
// Middleware. Its rules:
//
//   - No limit on attempts but that of the limiter (aimd.WithMaxAttempts).
//   - No retry quota on the client's side: the window already holds back, and
//     the SDK's quota makes operations fail that only have to wait.
//   - No delay: Middleware backs off, as Do of the limiter does, and the queue paces
//     what was refused.
//   - Again: what the SDK would try again, and whatever the limiter's classifier
//     says to. Middleware tells any retryer of the SDK of the latter.
func Retryer() aws.Retryer {
	standard := retry.NewStandard(func(o *retry.StandardOptions) {
		o.RateLimiter = ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
	// 0: no limit. NewStandard would take it for its default.
	return retry.AddWithMaxAttempts(standard, 0)
}
