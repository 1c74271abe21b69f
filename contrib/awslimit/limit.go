package awslimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"

	"github.com/aimd-go/aimd"
)

// Limit puts the limiter under every client that is made from the config from now on. It adds to APIOptions, sets
// Retryer, and clears RetryMaxAttempts. An operation is tried until it succeeds, its error is final, its context
// ends, or the limiter's limit of attempts is reached. It panics if cfg or l is nil.
//
// One limiter is for one limit, such as a service: clients of different services should come from different
// configs (aws.Config.Copy). After a second call with another limiter, each attempt takes a slot of both. Then use the same order
// everywhere.
func Limit(cfg *aws.Config, l *aimd.Limiter) {
	if l == nil {
		panic("awslimit: the limiter is nil")
	}
	limit(cfg, selector{fmt.Sprintf("aimd %p", l), func(context.Context) (*aimd.Limiter, error) { return l, nil }})
}

// LimitBy is Limit with a limiter for each class of operations. class names the class of an operation of a service,
// such as "GetObject" of "S3". [Class] is such a function. An operation whose class has no limiter fails, and is
// not sent. LimitBy panics if an argument is nil.
//
//	limiters, err := aimd.NewKeyed(func(class string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{Name: class}) }, aimd.KeyedConfig{})
//	...
//	awslimit.LimitBy(&cfg, limiters, awslimit.Class)
func LimitBy(cfg *aws.Config, limiters *aimd.Keyed[string], class func(service, operation string) string) {
	if limiters == nil || class == nil {
		panic("awslimit: the limiters or the function for the class is nil")
	}
	limit(cfg, selector{fmt.Sprintf("aimd %p", limiters), func(ctx context.Context) (*aimd.Limiter, error) {
		service, name := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
		l, err := limiters.For(class(service, name))
		if err != nil {
			return nil, fmt.Errorf("no limiter for %s of %s: %w", name, service, err)
		}
		return l, nil
	}})
}

func limit(cfg *aws.Config, s selector) {
	if cfg == nil {
		panic("awslimit: the config is nil")
	}
	// Copies of a config share the array behind the slice; Clip makes append leave it alone.
	cfg.APIOptions = append(slices.Clip(cfg.APIOptions), s.wait)
	cfg.Retryer = retryer
	cfg.RetryMaxAttempts = 0
}

// Class is the class of an operation by its name, for LimitBy: "list" for List..., "delete" for Delete..., "read"
// for Get..., Head..., Describe..., Query, Scan and Select..., "write" for other operations. A prefix Batch or
// Transact changes nothing. The service does not matter.
func Class(_, operation string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(operation, "Batch"), "Transact")
	for _, c := range [...]struct{ prefix, class string }{
		{"List", "list"}, {"Delete", "delete"},
		{"Get", "read"}, {"Head", "read"}, {"Describe", "read"}, {"Query", "read"}, {"Scan", "read"}, {"Select", "read"},
	} {
		if strings.HasPrefix(name, c.prefix) {
			return c.class
		}
	}
	return "write"
}

// selector chooses the limiter of an operation, whose context says which it is. id tells selectors apart.
type selector struct {
	id      string
	limiter func(context.Context) (*aimd.Limiter, error)
}

// wait makes an operation wait for slots. It works with any retryer, also aws.NopRetryer, and has no effect on a presigned
// request.
func (s selector) wait(stack *middleware.Stack) error {
	if _, ok := stack.Finalize.Get(retryID); !ok {
		// A presigned request: no attempt is made.
		return nil
	}
	// The SDK makes a stack for each call of an operation: all its attempts share o.
	o := &operation{selector: s}
	if _, ok := stack.Finalize.Get(o.ID()); ok {
		return nil // the same limiter twice
	}
	return errors.Join(
		stack.Initialize.Add(o, middleware.Before),
		stack.Finalize.Insert(o, retryID, middleware.After),
		stack.Deserialize.Add(o, middleware.After), // next to the transport
	)
}

// retryID is how the stack knows the SDK's retry loop.
var retryID = (*retry.Attempt)(nil).ID()

// retryer lets the SDK try again:
//
//   - Its only limit on attempts is the limiter's (aimd.Config.MaxAttempts).
//   - It has no retry quota of the client: the window bounds the attempts, and the SDK's quota fails operations
//     that only have to wait.
//   - It has no delay. The middleware backs off, as the limiter's Do does.
//   - It tries again if the SDK or the limiter's classifier would. The middleware marks errors that the classifier
//     would try again, for any retryer of the SDK.
func retryer() aws.Retryer {
	standard := retry.NewStandard(func(o *retry.StandardOptions) {
		o.RateLimiter = ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
	// 0: no limit. NewStandard would take it for its default.
	return retry.AddWithMaxAttempts(standard, 0)
}
