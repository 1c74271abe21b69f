package attempt

import (
	"database/sql/driver"
	"errors"
	"time"

	"github.com/aimd-go/aimd/window"
)

// classifyCode is Classify for an API error code.
func classifyCode(err error, _ time.Duration) Verdict {
	var code interface{ ErrorCode() string }
	if errors.As(err, &code) {
		return codes[code.ErrorCode()]
	}
	return Verdict{}
}

// classifyStatus is Classify for an HTTP status. SDKs use a status of success, or 0, for a request that
// was not answered.
func classifyStatus(err error, retryAfter time.Duration) Verdict {
	var answer interface{ HTTPStatusCode() int }
	if !errors.As(err, &answer) || answer.HTTPStatusCode() < 400 {
		return Verdict{}
	}
	v := Verdict{Outcome: window.Neutral, Retry: true}
	switch status := answer.HTTPStatusCode(); {
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

// classifySQL is Classify for the errors of databases.
func classifySQL(err error, _ time.Duration) Verdict {
	if errors.Is(err, driver.ErrBadConn) {
		return Verdict{Outcome: window.Neutral, Retry: true}
	}
	var state interface{ SQLState() string }
	if !errors.As(err, &state) {
		return Verdict{}
	}
	return states[state.SQLState()]
}

// states are the SQLSTATEs that may pass: https://www.postgresql.org/docs/current/errcodes-appendix.html
var states = map[string]Verdict{
	"53300": {Outcome: window.Overload, Retry: true}, // too_many_connections
	"57P03": {Outcome: window.Overload, Retry: true}, // cannot_connect_now
	"57014": {Outcome: window.Timeout, Retry: true},  // query_canceled, by statement_timeout
	"57P01": {Outcome: window.Neutral, Retry: true},  // admin_shutdown
	"57P02": {Outcome: window.Neutral, Retry: true},  // crash_shutdown
	"40001": {Outcome: window.Neutral, Retry: true},  // serialization_failure
	"40P01": {Outcome: window.Neutral, Retry: true},  // deadlock_detected
}

// streamError is net/http's error of a stream of HTTP/2 that the server reset. errors.As puts it into any
// struct with the same fields.
type streamError struct {
	StreamID uint32
	Code     uint32 // https://www.rfc-editor.org/rfc/rfc9113#name-error-codes
	Cause    error
}

func (streamError) Error() string { return "stream error" }

// classifyStream is Classify for streams of HTTP/2.
func classifyStream(err error, _ time.Duration) Verdict {
	var stream streamError
	if !errors.As(err, &stream) {
		return Verdict{}
	}
	switch stream.Code {
	case 0x7, 0xb: // REFUSED_STREAM, ENHANCE_YOUR_CALM
		return Verdict{Outcome: window.Overload, Retry: true}
	case 0x2, 0x8: // INTERNAL_ERROR, CANCEL
		return Verdict{Outcome: window.Neutral, Retry: true}
	}
	return Verdict{}
}

// codes are the API error codes of field and SDK documents: AWS's throttle codes (aws-sdk-go-v2
// aws/retry), S3's, MinIO's, Azure's, Google's, OpenAI's and Anthropic's.
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
			"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED",
			"rate_limit_exceeded", "rate_limit_error", "overloaded_error",
		},
		window.Timeout: {"RequestTimeout", "RequestTimeoutException", "OperationTimedOut", "XMinioServerTimedOut"},
		window.Neutral: {"InternalError", "InternalServerError"},
	} {
		for _, name := range names {
			m[name] = Verdict{Outcome: o, Retry: true}
		}
	}
	// "Don't retry on out of quota!" (the talk "Safe Client Behavior"), whatever the status. AWS's, S3
	// servers', Google's and OpenAI's codes.
	for _, name := range []string{
		"QuotaExceeded", "QuotaExceededException", "ServiceQuotaExceededException", "XMinioAdminBucketQuotaExceeded",
		"quotaExceeded", "dailyLimitExceeded", "insufficient_quota", "billing_hard_limit_reached",
	} {
		m[name] = Verdict{Outcome: window.Neutral, Reason: ErrQuota}
	}
	return m
}()
