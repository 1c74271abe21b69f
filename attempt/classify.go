package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/aimd-go/aimd/internal/fact"
	"github.com/aimd-go/aimd/window"
)

// Classify is the default classifier. It looks through the error's whole tree,
// in this order:
//
//   - ErrQuota and ErrNoContact: neutral and final, the reason with it.
//   - Verdict() Verdict: an error that knows by itself. Those of the integrations
//     do where nothing was sent, or the service forbade a retry.
//   - context.Canceled: neutral, final.
//   - ErrorCode() string, an API error code (AWS SDK, smithy): throttling codes
//     are overload, time-out codes timeout, InternalError neutral; all of
//     these may be tried again. Codes that say out of quota are neutral and final,
//     for the reason ErrQuota. A code it does not know leaves the word to the status.
//   - HTTPStatusCode() int, from 400: 429, 503 and 529, and a 403 with a Retry-After,
//     are overload, 408 and 504 timeout, 500, 502 and every other 5xx but 501 and
//     505 neutral; all of these may be tried again. Every other 4xx is a client error,
//     a final answer of a service that is well. The rest is neutral and final.
//   - GRPCStatus(): RESOURCE_EXHAUSTED and UNAVAILABLE are overload,
//     DEADLINE_EXCEEDED timeout, all to be tried again. INVALID_ARGUMENT,
//     NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, UNAUTHENTICATED,
//     FAILED_PRECONDITION and OUT_OF_RANGE are final answers of a service that
//     is well, client errors; every other code is neutral and final.
//   - SQLState() string, of a PostgreSQL server (pgx, pq): too many connections and
//     a server that starts are overload, a statement's timeout is a timeout; a
//     server that stops and a transaction that lost to another one are neutral; all of
//     these may be tried again. driver.ErrBadConn is neutral and tried again. Other
//     states leave the word to what follows.
//   - A stream of HTTP/2 that was reset: REFUSED_STREAM and ENHANCE_YOUR_CALM are
//     overload, INTERNAL_ERROR and CANCEL neutral; all to be tried again.
//   - Timeout() bool, as of net.Error and context.DeadlineExceeded: timeout, to
//     be tried again.
//   - Temporary() bool, a connection that was refused, reset or cut off, a host
//     or network out of reach: neutral, to be tried again. Such errors tell that
//     the service is away, not how much it can take; ConnectionsAsOverload reads
//     them otherwise.
//   - Everything else it does not know: the zero Verdict.
//
// RetryAfter() time.Duration, where the error has it, is the service's Retry-After.
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

// ConnectionsAsOverload is a classifier that knows one thing: a connection
// that was refused, reset or cut off is overload. Some proxies refuse in this
// way, before they have read the body. For FirstOf, before Classify.
func ConnectionsAsOverload(err error) Verdict {
	if fact.CutOff(err) {
		return Verdict{Outcome: window.Overload, Retry: true}
	}
	return Verdict{}
}
