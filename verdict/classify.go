package verdict

import (
	"context"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/reason"
)

// Classify is the default classifier. It looks through the error's whole tree. The first of these decides:
//
//   - ErrQuota, ErrWait and ErrNeverAnswered: Final, for that reason.
//   - A [Factual] error that knows its verdict: errors of this module, of its integrations, and your own.
//   - context.Canceled: Final.
//   - An answer over HTTP within an error of others, see below. Package answer has its meaning.
//   - GRPCStatus(): RESOURCE_EXHAUSTED and UNAVAILABLE are Refused, DEADLINE_EXCEEDED is Slow. NOT_FOUND,
//     ALREADY_EXISTS, FAILED_PRECONDITION and OUT_OF_RANGE are Fault. Every other code is Final, and so is
//     RESOURCE_EXHAUSTED for a message that is too large.
//   - SQLState() string, or a field SQLState, of PostgreSQL (pgx, pq) and MySQL (go-sql-driver). Too many
//     connections and a server that starts are Refused. A statement's timeout is Slow. A server that stops, a
//     transaction that lost to another transaction, and driver.ErrBadConn are Passing.
//   - A stream of HTTP/2 that was reset: REFUSED_STREAM and ENHANCE_YOUR_CALM are Refused, INTERNAL_ERROR and CANCEL
//     Passing. A GOAWAY with ENHANCE_YOUR_CALM is Refused.
//   - A *textproto.Error of 421, 425, 426 or 45x, as of net/smtp: Passing. A 4xx whose text names a rate limit,
//     throttling or the like is Refused.
//   - Timeout() bool, as with net.Error and context.DeadlineExceeded: Slow.
//   - Temporary() bool, a connection that was refused, reset or cut off, a host or network out of reach: Passing.
//   - Retryable() or Retriable() bool, or a field of these names: Passing, or Refused if the text says so.
//   - SQLErrorNumber() int32, of SQL Server, and the Code of ClickHouse: as the states above.
//   - The text, if it begins or is named as errors of Redis, MongoDB and Oracle that pass.
//   - The text, if it names a rate limit, throttling or the like, a status that refuses, or a code: Guessed.
//   - Every other error: Unknown.
//
// # Errors of others
//
// The errors of SDKs do not know this package. Most of these errors are read by the names of their exported fields
// and methods. Each may be missing:
//
//	StatusCode, HTTPStatusCode, Status, Code    an int of 400 to 599, or a method that returns it
//	any name                                    an *http.Response
//	Header, LastResponse.Header                 an http.Header
//	Body, ResponseBody                          a string or []byte; or the method RawJSON() string
//	Code, Type, Reason, ErrorCode, Message      a string; also in the lists Errors and Details
//	RetryAfter                                  a time.Duration, or a number of seconds
//	Event.Data                                  an error that came within a stream
//	ErrorCode() string                          of the AWS SDK
//	RetryAfter() time.Duration                  the wait
//
// Among them are googleapi (Cloud Storage, Drive, BigQuery), genai, go-github, openai-go, anthropic-sdk-go,
// go-openai, stripe-go, twilio-go, slack-go, discordgo, minio-go and elasticsearch.
func Classify(err error) Verdict {
	f := walk(err)
	for _, known := range [...]error{reason.ErrQuota, reason.ErrWait, reason.ErrNeverAnswered} {
		if f.isAny(known) {
			return Verdict{Meaning: answer.Final, Reason: known}
		}
	}
	if v := f.facts().verdict; v.Known() {
		if v.Retry() && v.Wait == 0 {
			v.Wait = retryAfter(f) // of an error within
		}
		return v
	}
	if f.isAny(context.Canceled) {
		return Verdict{Meaning: answer.Final}
	}
	if v := classifyAnswer(f); v.Known() {
		return v
	}
	for _, classify := range [...]func(*tree) Verdict{classifyGRPC, classifySQL, classifyNumber, classifyStream, classifyMail, classifyLocal, classifyDatabase, classifyWords} {
		if v := classify(f); v.Known() {
			if v.Retry() {
				v.Wait = retryAfter(f)
			}
			return v
		}
	}
	return Verdict{}
}
