package attempt

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"syscall"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Classify is the default classifier. It looks through the error's whole tree,
// in this order:
//
//   - Verdict() Verdict: an error that knows by itself. Those of the integrations
//     do where nothing was sent, or the service forbade a retry.
//   - context.Canceled: neutral, final.
//   - ErrorCode() string, an API error code (AWS SDK, smithy): throttling codes
//     are overload, time-out codes timeout, InternalError neutral; all of
//     these may be tried again. Codes that say out of quota are neutral and final.
//     A code it does not know leaves the word to the status.
//   - HTTPStatusCode() int, from 400: see classifyStatus.
//   - GRPCStatus(): RESOURCE_EXHAUSTED and UNAVAILABLE are overload,
//     DEADLINE_EXCEEDED timeout, all to be tried again. INVALID_ARGUMENT,
//     NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, UNAUTHENTICATED,
//     FAILED_PRECONDITION and OUT_OF_RANGE are final answers of a service that
//     is well, client errors; every other code is neutral and final.
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
		return classifyStatus(status.HTTPStatusCode(), retryAfter)
	}
	if v := classifyGRPC(err); v.Outcome.Valid() {
		v.RetryAfter = retryAfter
		return v
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return Verdict{Outcome: window.Timeout, Retry: true, RetryAfter: retryAfter}
	}
	var temporary interface{ Temporary() bool }
	if cutOff(err) || unreachable(err) || errors.As(err, &temporary) && temporary.Temporary() {
		return Verdict{Outcome: window.Neutral, Retry: true, RetryAfter: retryAfter}
	}
	return Verdict{}
}

// classifyStatus is Classify for an HTTP status and the answer's Retry-After
// (0: none):
//
//   - below 400: success.
//   - 429, 503 and 529, and a 403 with a Retry-After: overload. 408 and 504:
//     timeout. 500, 502 and every other 5xx but 501 and 505: neutral. All of
//     these may be tried again.
//   - every other 4xx: a client error, a final answer of a service that is well.
//   - the rest, 501 and 505 among them: neutral and final.
func classifyStatus(status int, retryAfter time.Duration) Verdict {
	v := Verdict{Outcome: window.Neutral, Retry: true, RetryAfter: retryAfter}
	switch {
	case status < 400:
		return Verdict{Outcome: window.Success}
	// 529: overloaded, as some APIs say it. 403: GitHub's secondary limits,
	// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
	case status == 429, status == 503, status == 529, status == 403 && retryAfter > 0:
		v.Outcome = window.Overload
	case status == 408, status == 504:
		v.Outcome = window.Timeout
	case status < 500:
		return Verdict{Outcome: window.ClientError}
	case status == 501, status == 505, status >= 600:
		// What the service cannot do now it cannot do later.
		return Verdict{Outcome: window.Neutral}
	}
	return v
}

// ConnectionsAsOverload is a classifier that knows one thing: a connection
// that was refused, reset or cut off is overload. Some proxies refuse in this
// way, before they have read the body. For FirstOf, before Classify.
func ConnectionsAsOverload(err error) Verdict {
	if cutOff(err) {
		return Verdict{Outcome: window.Overload, Retry: true}
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
	for o, names := range map[window.Outcome][]string{
		window.Overload: {
			"SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "ServerBusy",
			"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled",
			"RequestThrottledException", "TooManyRequests", "TooManyRequestsException",
			"ProvisionedThroughputExceededException", "RequestLimitExceeded",
			"BandwidthLimitExceeded", "LimitExceededException", "PriorRequestNotComplete",
			"TransactionInProgressException", "EC2ThrottledException",
		},
		window.Timeout: {"RequestTimeout", "RequestTimeoutException", "OperationTimedOut", "XMinioServerTimedOut"},
		window.Neutral: {"InternalError", "InternalServerError"},
	} {
		for _, name := range names {
			m[name] = Verdict{Outcome: o, Retry: true}
		}
	}
	// "Don't retry on out of quota!" (the talk "Safe Client Behavior"): it
	// will be so for hours, whatever the status. AWS's, S3 servers', Google's and OpenAI's codes.
	for _, name := range []string{
		"QuotaExceeded", "QuotaExceededException", "ServiceQuotaExceededException", "XMinioAdminBucketQuotaExceeded",
		"quotaExceeded", "dailyLimitExceeded", "insufficient_quota",
	} {
		m[name] = Verdict{Outcome: window.Neutral}
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
		return Verdict{Outcome: window.Overload, Retry: true}
	case 4: // DEADLINE_EXCEEDED
		return Verdict{Outcome: window.Timeout, Retry: true}
	case 3, 5, 6, 7, 9, 11, 16:
		// INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED,
		// FAILED_PRECONDITION, OUT_OF_RANGE, UNAUTHENTICATED
		return Verdict{Outcome: window.ClientError}
	}
	return Verdict{Outcome: window.Neutral}
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
