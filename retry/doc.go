// Package retry tries again what failed, where that is safe: which errors, how often, after which delay,
// and within which budget.
//
//	"Don't Retry!* * Terms and conditions apply." (Safe Client Behaviour.)
//
// [Do] runs a function under a [Policy]; the default policy is the terms and conditions of Safe Client Behaviour.
// [Value] is Do for a function that returns a value. aimd.Config.Policy gives the same policy to a limiter, and
// httplimit.NewRetrier to an http.Client. [Budget] bounds retries to a share of the requests of all its users.
// [Sense] looks before it sends.
//
// What happens if
//   - the work may not be done twice: it is not tried again, unless it certainly was not sent. If the work may be
//     done twice, say so with [WithIdempotent] or Config.Idempotent. With [WithOnce] a refusal is no reason to send
//     it again.
//   - the budget is exhausted, or a throttle refuses: the operation fails at once with [ErrBudget] or
//     throttle.ErrThrottled, and with its last error.
//   - ctx ends, or its deadline comes before the next attempt would: the operation fails at once with its
//     last error.
//   - there is bulk work to do: with a few attempts and a budget, much of the work fails when the service
//     refuses. Use a limiter's Do or Each.
//   - fn itself retries (an SDK does): attempts multiply, three times three are nine. Retry in one place.
package retry
