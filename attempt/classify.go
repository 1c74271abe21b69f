package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/aimd-go/aimd/internal/fact"
	"github.com/aimd-go/aimd/window"
)

// Classify is the default classifier. It looks through the error's whole tree, in this order ("again"
// means that another attempt may succeed, otherwise the error is final):
//
//   - ErrQuota and ErrNoContact: neutral, with that reason.
//   - Verdict() Verdict: the error's own verdict.
//   - context.Canceled: neutral.
//   - ErrorCode() string, an API error code (AWS SDK, smithy): throttling codes are overload, time-out
//     codes timeout, InternalError neutral; again. Codes of a used quota are neutral, for the reason
//     ErrQuota. Other codes leave the decision to the status.
//   - HTTPStatusCode() int, from 400: 429, 503, 529, and a 403 with a Retry-After, are overload, 408 and
//     504 timeout, every other 5xx but 501 and 505 neutral; again. Every other 4xx is a client error, the
//     answer of a healthy service. The rest is neutral.
//   - GRPCStatus(): RESOURCE_EXHAUSTED and UNAVAILABLE are overload, DEADLINE_EXCEEDED timeout; again.
//     INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, UNAUTHENTICATED,
//     FAILED_PRECONDITION and OUT_OF_RANGE are client errors; every other code is neutral.
//   - SQLState() string, of a PostgreSQL server (pgx, pq): too many connections and a server that starts
//     are overload, a statement's timeout is a timeout, a server that stops and a transaction that lost
//     to another one are neutral; again. So is driver.ErrBadConn.
//   - A stream of HTTP/2 that was reset: REFUSED_STREAM and ENHANCE_YOUR_CALM are overload,
//     INTERNAL_ERROR and CANCEL neutral; again.
//   - Timeout() bool, as with net.Error and context.DeadlineExceeded: timeout; again.
//   - Temporary() bool, a connection that was refused, reset or cut off, a host or network out of reach:
//     neutral; again. Such a service is away, and its load is unknown; ConnectionsAsOverload decides
//     otherwise.
//   - Every other error: the zero Verdict.
//
// RetryAfter() time.Duration of the error is the service's Retry-After.
func Classify(err error) Verdict {
	for _, reason := range []error{ErrQuota, ErrNoContact} {
		if errors.Is(err, reason) {
			return Verdict{Outcome: window.Neutral, Reason: reason}
		}
	}
	var own interface{ Verdict() Verdict }
	if errors.As(err, &own) {
		if v := own.Verdict(); v.Outcome.Valid() {
			return v
		}
	}
	if errors.Is(err, context.Canceled) {
		return Verdict{Outcome: window.Neutral}
	}
	var after interface{ RetryAfter() time.Duration }
	var retryAfter time.Duration
	if errors.As(err, &after) {
		retryAfter = max(0, after.RetryAfter())
	}
	for _, answer := range []func(error, time.Duration) Verdict{classifyCode, classifyStatus, classifyGRPC, classifySQL, classifyStream} {
		if v := answer(err, retryAfter); v.Outcome.Valid() {
			if v.Retry {
				v.RetryAfter = retryAfter
			}
			return v
		}
	}
	return classifyLocal(err, retryAfter)
}

// classifyLocal is Classify for errors that are no answers.
func classifyLocal(err error, retryAfter time.Duration) Verdict {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return Verdict{Outcome: window.Timeout, Retry: true, RetryAfter: retryAfter}
	}
	var temporary interface{ Temporary() bool }
	if fact.CutOff(err) || fact.NoRoute(err) || errors.As(err, &temporary) && temporary.Temporary() {
		return Verdict{Outcome: window.Neutral, Retry: true, RetryAfter: retryAfter}
	}
	return Verdict{}
}

// ConnectionsAsOverload is a classifier that knows one thing: a connection that was refused, reset or cut
// off is overload. Some proxies refuse in this way, before they have read the body. For FirstOf, before
// Classify.
func ConnectionsAsOverload(err error) Verdict {
	if fact.CutOff(err) {
		return Verdict{Outcome: window.Overload, Retry: true}
	}
	return Verdict{}
}
