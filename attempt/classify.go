package attempt

import (
	"context"

	"github.com/aimd-go/aimd/answer"
)

// Classify is the default classifier. It looks through the error's whole tree, in this order ("again"
// means that another attempt may succeed, otherwise the error is final):
//
//   - ErrQuota, ErrWait and ErrNeverAnswered: neutral, with that reason.
//   - A [Factual] error that knows its verdict.
//   - context.Canceled: neutral.
//   - An answer over HTTP: an httplimit.StatusError, an error with the methods ErrorCode() string and
//     HTTPStatusCode() int, as of the AWS SDK, or one that has the shape below. Package answer says
//     what it means.
//   - GRPCStatus(): RESOURCE_EXHAUSTED and UNAVAILABLE are overload, DEADLINE_EXCEEDED timeout; again.
//     NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION and OUT_OF_RANGE are client errors; every other code is
//     neutral and final, and so is
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
//     neutral; again.
//   - Retryable() or Retriable() bool, or a field of these names: neutral; again, or what the text says of load.
//   - The text, if it names a rate limit, throttling or the like: answer.Guessed, so overload; again.
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
//	Code, Type, Reason, ErrorCode, Message      a string; also in the lists Errors and Details
//	RetryAfter                                  a time.Duration, or a number of seconds
//	Event.Data                                  an error that came within a stream
//
// So are, among others, googleapi (Cloud Storage, Drive, BigQuery), genai, go-github, openai-go,
// anthropic-sdk-go, go-openai, stripe-go, twilio-go, slack-go, discordgo, minio-go and elasticsearch.
//
// # Answers
//
// Package answer decides what an answer means: see there for the order.
func Classify(err error) Verdict {
	f := walk(err)
	for _, reason := range [...]error{ErrQuota, ErrWait, ErrNeverAnswered} {
		if f.isAny(reason) {
			return Verdict{Meaning: answer.Final, Reason: reason}
		}
	}
	if v := f.facts().verdict; v.known() {
		return v
	}
	if f.isAny(context.Canceled) {
		return Verdict{Meaning: answer.Final}
	}
	if v := classifyAnswer(f); v.known() {
		return v
	}
	for _, classify := range [...]func(*tree) Verdict{classifyGRPC, classifySQL, classifyStream, classifyMail, classifyLocal, classifyWords} {
		if v := classify(f); v.known() {
			if v.Retry() {
				v.Wait = retryAfter(f)
			}
			return v
		}
	}
	return Verdict{}
}
