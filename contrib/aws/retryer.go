package aimdaws

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// Retryer is the part of Limit that lets the SDK try again, to be used with Middleware:
//
//   - Its only limit on attempts is the limiter's (aimd.WithMaxAttempts).
//   - It has no retry quota on the client's side. The window holds back already, and the SDK's quota
//     fails operations that only have to wait.
//   - It has no delay. Middleware backs off, as the limiter's Do does.
//   - It tries again if the SDK or the limiter's classifier would. Middleware marks the errors for the
//     latter, for any retryer of the SDK.
func Retryer() aws.Retryer {
	standard := retry.NewStandard(func(o *retry.StandardOptions) {
		o.RateLimiter = ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
	// 0: no limit. NewStandard would take it for its default.
	return retry.AddWithMaxAttempts(standard, 0)
}
