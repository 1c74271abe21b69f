// Package retry tries again what failed, where that is safe: which errors, how
// often, after which delay, and within which budget.
//
//	"Don't Retry!* (* Terms and conditions apply.)" (Safe Client Behaviour.)
//
// [Do] runs a function under a [Policy]; the default policy is the terms and
// conditions of Safe Client Behaviour. [Value] is Do for a function that returns a value.
// aimd.WithPolicy gives the same policy to a limiter, and httplimit.NewRetrier to an
// http.Client.
//
// [Budget] holds the retries of all that use it to a share of their requests.
// [Sense] looks before it sends.
//
// What happens if
//   - the work may not be done twice: it is not tried again, unless it certainly was
//     not sent. Say [WithIdempotent], or Config.Idempotent, if it may.
//   - the service asks to stay away (Retry-After): the operation does, for at least
//     as long, up to a bound.
//   - the budget is exhausted, or a throttle refuses: the operation fails at once with
//     [ErrBudget] or throttle.ErrThrottled, and with its last error.
//   - ctx ends: the operation fails at once with its error, and its last error.
//   - ctx's deadline comes before the next attempt would: it fails at once too,
//     since to wait would help nobody.
//   - there is bulk work to do: a few attempts and a budget give much of it up when
//     the service refuses. A limiter's Do, or Each, is for that.
//   - fn itself retries (an SDK does): attempts multiply, three times three are
//     nine. Retry in one place.
package retry
