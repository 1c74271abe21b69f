package attempt

import (
	"context"

	"github.com/aimd-go/aimd/internal/fact"
	"github.com/aimd-go/aimd/window"
)

// Classify is the default classifier. It looks through the error's whole tree, in this order ("again"
// means that another attempt may succeed, otherwise the error is final):
//
//   - ErrQuota and ErrNoContact: neutral, with that reason.
//   - Verdict() Verdict: the error's own verdict.
//   - context.Canceled: neutral.
//   - An answer over HTTP: an httplimit.StatusError, an error with the methods ErrorCode() string and
//     HTTPStatusCode() int, as of the AWS SDK, or one that has the shape below. The table of [Answers] says
//     what an answer means.
//   - GRPCStatus(): RESOURCE_EXHAUSTED and UNAVAILABLE are overload, DEADLINE_EXCEEDED timeout; again.
//     INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, UNAUTHENTICATED,
//     FAILED_PRECONDITION and OUT_OF_RANGE are client errors; every other code is neutral, and so is
//     RESOURCE_EXHAUSTED for a message that is too large.
//   - SQLState() string, or a field SQLState, of PostgreSQL (pgx, pq) and MySQL (go-sql-driver): too many
//     connections and a server that starts are overload, a statement's timeout is a timeout, a server that
//     stops and a transaction that lost to another one are neutral; again. So is driver.ErrBadConn.
//   - A stream of HTTP/2 that was reset: REFUSED_STREAM and ENHANCE_YOUR_CALM are overload,
//     INTERNAL_ERROR and CANCEL neutral; again. A GOAWAY with ENHANCE_YOUR_CALM is overload; again.
//   - A *textproto.Error of 421, 425, 426 or 45x, as of net/smtp: neutral; again. If its text names a rate
//     limit, throttling or the like, it is overload, as is every 4xx with such a text.
//   - Timeout() bool, as with net.Error and context.DeadlineExceeded: timeout; again.
//   - Temporary() bool, a connection that was refused, reset or cut off, a host or network out of reach:
//     neutral; again. ConnectionsAsOverload decides otherwise.
//   - Retryable() or Retriable() bool, or a field of these names: overload if the text names a rate limit,
//     throttling or the like, otherwise neutral; again.
//   - Every other error: the zero Verdict.
//
// RetryAfter() time.Duration of the error is the service's Retry-After.
//
// # Errors of SDKs
//
// The errors of most SDKs are read by the names of their exported fields, of which each may be missing:
//
//	StatusCode, HTTPStatusCode, Status, Code    an int of 400 to 599, or a method that returns it
//	any name                                    an *http.Response
//	Header, LastResponse.Header                 an http.Header
//	Body, ResponseBody                          a string or []byte; or the method RawJSON() string
//	Code, Type, Reason, ErrorCode               a string, the service's code; also in the lists Errors and Details
//	RetryAfter                                  a time.Duration, or a number of seconds
//	Event.Data                                  an error that came within a stream
//
// So are, among others, googleapi (Cloud Storage, Drive, BigQuery), genai, go-github, openai-go,
// anthropic-sdk-go, go-openai, stripe-go, twilio-go, slack-go, discordgo, minio-go and elasticsearch.
//
// # Answers
//
// The first row that fits decides. The body counts if the status is 402, 403 or 429 and the body JSON, or if the
// answer began as a success and its body is an error, as in a stream.
//
//	a code for a quota that is used up, or a quota of a day    neutral, for the reason ErrQuota
//	403 or 429, X-RateLimit-Remaining 0, X-RateLimit-Reset     overload, again after the reset (Verdict.Stop)
//	403 or 429, a secondary limit of GitHub                    overload, again (Verdict.Stop)
//	the code lock_timeout of Stripe                            neutral, again
//	a code for throttling                                      overload, again
//	a code for a time-out                                      timeout, again
//	the code InternalError                                     neutral, again
//	429, 503, 529, and 403 with a Retry-After                  overload, again
//	408, 504                                                   timeout, again
//	403 without a code, and neither JSON nor XML               neutral, Verdict.Denied: perhaps of a firewall
//	401, 403                                                   neutral: it says nothing about load
//	501, 505, from 600                                         neutral
//	every other 5xx                                            neutral, again
//	every other 4xx                                            client error, from a healthy service
//	an error within a success: the request is at fault         client error
//	every other error within a success                         neutral, again
//	no status, but a RetryAfter                                overload, again
//
// X-Should-Retry, "true" or "false", decides whether there is another attempt; "false" makes an overload or a
// timeout neutral. The Retry-After is that of httplimit.RetryAfter, or Google's retryDelay in the body.
func Classify(err error) Verdict {
	f := fact.Of(err)
	for _, reason := range [...]error{ErrQuota, ErrNoContact} {
		if f.IsAny(reason) {
			return Verdict{Outcome: window.Neutral, Reason: reason}
		}
	}
	if own, ok := fact.First[interface{ Verdict() Verdict }](f); ok {
		if v := own.Verdict(); v.Outcome.Valid() {
			return v
		}
	}
	if f.IsAny(context.Canceled) {
		return Verdict{Outcome: window.Neutral}
	}
	if v := classifyAnswer(f); v.Outcome.Valid() {
		return v
	}
	for _, classify := range [...]func(*fact.Facts) Verdict{classifyGRPC, classifySQL, classifyStream, classifyMail, classifyLocal} {
		if v := classify(f); v.Outcome.Valid() {
			if v.Retry {
				v.RetryAfter = retryAfter(f)
			}
			return v
		}
	}
	return Verdict{}
}

// ConnectionsAsOverload is a classifier for proxies that refuse by closing connections: a connection that was
// refused, reset or cut off is overload. For FirstOf, before Classify.
func ConnectionsAsOverload(err error) Verdict {
	if fact.Of(err).CutOff() {
		return overload
	}
	return Verdict{}
}

// TLSMisfit reports whether the error, which may be nil, is of a TLS that does not fit: a certificate that is not
// accepted, or a server without TLS. Another attempt fails in the same way, though SDKs make one.
func TLSMisfit(err error) bool { return fact.Of(err).OfTLS() }
