package limiter

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"syscall"
	"time"
)

// Verdict is what an attempt's error means.
type Verdict struct {
	// Outcome is what the law is told. The zero value: the classifier does not know.
	Outcome Outcome
	// Retry: another attempt may succeed.
	Retry bool
	// RetryAfter is the delay that the service asked for; 0: none.
	RetryAfter time.Duration
}

// Classifier tells what an attempt's error means; err is never nil. It runs
// without the lock, on the goroutine of the attempt. One that does not know
// the error returns the zero Verdict.
type Classifier func(err error) Verdict

// FirstOf asks the classifiers in turn and takes the first answer. An error
// that none of them knows is neutral and final. To add to the default:
//
//	FirstOf(mine, Classify)
func FirstOf(cs ...Classifier) Classifier {
	return func(err error) Verdict {
		for _, c := range cs {
			if v := c(err); v.Outcome.Valid() {
				return v
			}
		}
		return Verdict{Outcome: Neutral}
	}
}

// Classify is the default classifier. It looks through the error's whole tree,
// in this order:
//
//   - Verdict() Verdict: an error that knows by itself. Those of the doors do
//     where nothing was sent, or the service forbade a retry.
//   - context.Canceled: neutral, final.
//   - ErrorCode() string, an API error code (AWS SDK, smithy): throttling codes
//     are overload, time-out codes timeout, InternalError neutral; all of
//     these may be tried again. Codes that say out of quota are final. A code it
//     does not know leaves the word to the status.
//   - HTTPStatusCode() int: 429, 503 and 529, and a 403 with a Retry-After, are
//     overload, 408 and 504 timeout, 500 and 502 neutral; all of these may be
//     tried again. Every other status from 400 is neutral and final.
//   - GRPCStatus(): RESOURCE_EXHAUSTED and UNAVAILABLE are overload,
//     DEADLINE_EXCEEDED timeout, all to be tried again; every other code
//     neutral and final.
//   - Timeout() bool, as of net.Error and context.DeadlineExceeded: timeout, to
//     be tried again.
//   - Temporary() bool, a connection that was refused, reset or cut off, a host
//     or network out of reach: neutral, to be tried again. Such errors tell that
//     the service is away, not how much it can take; ConnectionsAsOverload reads
//     them otherwise.
//   - Everything else: neutral and final.
//
// RetryAfter() time.Duration, where the error has it, is the service's Retry-After.
func Classify(err error) Verdict {
	var own interface{ Verdict() Verdict }
	if errors.As(err, &own) {
		if v := own.Verdict(); v.Outcome.Valid() {
			return v
		}
	}
	if errors.Is(err, context.Canceled) {
		return Verdict{Outcome: Neutral}
	}
	var after interface{ RetryAfter() time.Duration }
	var retryAfter time.Duration
	if errors.As(err, &after) {
		retryAfter = max(0, after.RetryAfter())
	}
	var code interface{ ErrorCode() string }
	if errors.As(err, &code) {
		if v, ok := codes[code.ErrorCode()]; ok {
			v.RetryAfter = retryAfter
			return v
		}
	}
	var status interface{ HTTPStatusCode() int }
	// An error with a status of success, or none, is about something else: an SDK
	// puts it around a request that was not answered.
	if errors.As(err, &status) && status.HTTPStatusCode() >= 400 {
		return ClassifyStatus(status.HTTPStatusCode(), retryAfter)
	}
	if v := classifyGRPC(err); v.Outcome.Valid() {
		v.RetryAfter = retryAfter
		return v
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return Verdict{Outcome: Timeout, Retry: true, RetryAfter: retryAfter}
	}
	var temporary interface{ Temporary() bool }
	if cutOff(err) || unreachable(err) || errors.As(err, &temporary) && temporary.Temporary() {
		return Verdict{Outcome: Neutral, Retry: true, RetryAfter: retryAfter}
	}
	return Verdict{Outcome: Neutral}
}

// ClassifyStatus is Classify for an HTTP status and the answer's Retry-After
// (0: none). A status below 400 is a success.
func ClassifyStatus(status int, retryAfter time.Duration) Verdict {
	v := Verdict{Outcome: Neutral, Retry: true, RetryAfter: retryAfter}
	switch status {
	case 429, 503, 529: // 529: overloaded, as some APIs say it
		v.Outcome = Overload
	case 403:
		// GitHub's secondary limits: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
		if retryAfter <= 0 {
			return Verdict{Outcome: Neutral}
		}
		v.Outcome = Overload
	case 408, 504:
		v.Outcome = Timeout
	case 500, 502:
		// "Do retry on server errors" (seed 3).
	default:
		if status < 400 {
			return Verdict{Outcome: Success}
		}
		return Verdict{Outcome: Neutral}
	}
	return v
}

// ConnectionsAsOverload is a classifier that knows one thing: a connection
// that was refused, reset or cut off is overload. Some proxies refuse in this
// way, before they have read the body. For FirstOf, before Classify.
func ConnectionsAsOverload(err error) Verdict {
	if cutOff(err) {
		return Verdict{Outcome: Overload, Retry: true}
	}
	return Verdict{}
}

// cutOff reports whether the connection, not the service, was what failed.
func cutOff(err error) bool {
	for _, e := range []error{
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		io.ErrUnexpectedEOF, net.ErrClosed,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	// net/http: a connection closed before the answer is a bare EOF in a url.Error.
	return errors.Is(err, io.EOF)
}

// unreachable reports whether there was no way to the service.
func unreachable(err error) bool {
	return errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// codes are the API error codes of field and SDK documents: AWS's throttle
// codes (aws-sdk-go-v2 aws/retry), S3's, MinIO's and Azure's.
var codes = func() map[string]Verdict {
	m := map[string]Verdict{}
	for o, names := range map[Outcome][]string{
		Overload: {
			"SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "ServerBusy",
			"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled",
			"RequestThrottledException", "TooManyRequests", "TooManyRequestsException",
			"ProvisionedThroughputExceededException", "RequestLimitExceeded",
			"BandwidthLimitExceeded", "LimitExceededException", "PriorRequestNotComplete",
			"TransactionInProgressException", "EC2ThrottledException",
		},
		Timeout: {"RequestTimeout", "RequestTimeoutException", "OperationTimedOut", "XMinioServerTimedOut"},
		Neutral: {"InternalError", "InternalServerError"},
	} {
		for _, name := range names {
			m[name] = Verdict{Outcome: o, Retry: true}
		}
	}
	// "Don't retry on out of quota!" (seed 3): it will be so for hours, whatever
	// the status. AWS's, S3 servers', Google's and OpenAI's codes.
	for _, name := range []string{
		"QuotaExceeded", "QuotaExceededException", "ServiceQuotaExceededException", "XMinioAdminBucketQuotaExceeded",
		"quotaExceeded", "dailyLimitExceeded", "insufficient_quota",
	} {
		m[name] = Verdict{Outcome: Neutral}
	}
	return m
}()

// classifyGRPC finds a gRPC status by its methods' names, since its type lives
// in a module that this one does not want.
func classifyGRPC(err error) Verdict {
	code, ok := grpcCode(err)
	if !ok {
		return Verdict{}
	}
	switch code {
	case 8, 14: // RESOURCE_EXHAUSTED, UNAVAILABLE
		return Verdict{Outcome: Overload, Retry: true}
	case 4: // DEADLINE_EXCEEDED
		return Verdict{Outcome: Timeout, Retry: true}
	}
	return Verdict{Outcome: Neutral}
}

func grpcCode(err error) (uint64, bool) {
	if err == nil {
		return 0, false
	}
	if m := reflect.ValueOf(err).MethodByName("GRPCStatus"); m.IsValid() && m.Type().NumIn() == 0 && m.Type().NumOut() == 1 {
		code := m.Call(nil)[0].MethodByName("Code")
		if code.IsValid() && code.Type().NumIn() == 0 && code.Type().NumOut() == 1 && code.Type().Out(0).Kind() == reflect.Uint32 {
			return code.Call(nil)[0].Uint(), true
		}
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		return grpcCode(u.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			if code, ok := grpcCode(e); ok {
				return code, true
			}
		}
	}
	return 0, false
}
