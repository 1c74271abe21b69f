package attempt

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aimd-go/aimd/internal/answer"
	"github.com/aimd-go/aimd/window"
)

// answers is what an answer of a service means: the first row that fits decides.
var answers = []struct {
	fits    func(answer.Answer) bool
	verdict Verdict
}{
	// "Don't retry on out of quota!" (the talk "Safe Client Behavior"), whatever the status. AWS's, S3
	// servers', Google's and OpenAI's codes; OpenAI's words and Google's quota names for a day.
	{hasCode("QuotaExceeded", "QuotaExceededException", "ServiceQuotaExceededException", "XMinioAdminBucketQuotaExceeded",
		"quotaExceeded", "dailyLimitExceeded", "insufficient_quota",
		"billing_hard_limit_reached", "billing_not_active", "credit_balance_exhausted"), outOfQuota},
	{func(a answer.Answer) bool { return a.Daily }, outOfQuota},

	// GitHub's primary limit: nothing is served until the reset. Its secondary limits: "wait for at least
	// one minute", longer each time. Requests sent meanwhile may get the program banned.
	// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
	{func(a answer.Answer) bool { return refuses(a) && a.After == 0 && a.Reset > 0 }, stopped},
	{func(a answer.Answer) bool {
		return refuses(a) && hasAny(a.Text, "secondary rate limit", "secondary-rate-limit", "abuse detection", "abuse-rate-limit")
	}, stopped},

	// Stripe: another request has the object locked. If there are too many requests, the header says why.
	{func(a answer.Answer) bool {
		return slices.Contains(a.Codes, "lock_timeout") && a.Header.Get("Stripe-Rate-Limited-Reason") == ""
	}, again},

	// Throttle codes of AWS (aws-sdk-go-v2, aws/retry), S3, MinIO, Azure, Google, OpenAI and Anthropic.
	{hasCode("SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "ServerBusy",
		"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled",
		"RequestThrottledException", "TooManyRequests", "TooManyRequestsException",
		"ProvisionedThroughputExceededException", "RequestLimitExceeded",
		"BandwidthLimitExceeded", "LimitExceededException", "PriorRequestNotComplete",
		"TransactionInProgressException", "EC2ThrottledException",
		"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED",
		"rate_limit_exceeded", "rate_limit_error", "overloaded_error"), overload},
	{hasCode("RequestTimeout", "RequestTimeoutException", "OperationTimedOut", "XMinioServerTimedOut"), timeout},
	{hasCode("InternalError", "InternalServerError"), again},
	// Google's quotas, which have no code. A quota that comes back soon has a RetryInfo too.
	{func(a answer.Answer) bool { return a.Violation && !a.Soon }, outOfQuota},

	// 529: overloaded, with Anthropic and others.
	{hasStatus(429, 503, 529), overload},
	{func(a answer.Answer) bool { return a.Status == 403 && a.After > 0 }, overload},
	{hasStatus(408, 504), timeout},
	// A request that is not permitted is refused before the load counts.
	{hasStatus(401, 403, 501, 505), Verdict{Outcome: window.Neutral}},
	{func(a answer.Answer) bool { return a.Status >= 600 }, Verdict{Outcome: window.Neutral}},
	{func(a answer.Answer) bool { return a.Status >= 500 }, again},
	{func(a answer.Answer) bool { return a.Status >= 400 }, Verdict{Outcome: window.ClientError}},
}

var (
	overload   = Verdict{Outcome: window.Overload, Retry: true}
	stopped    = Verdict{Outcome: window.Overload, Retry: true, Stop: true}
	timeout    = Verdict{Outcome: window.Timeout, Retry: true}
	again      = Verdict{Outcome: window.Neutral, Retry: true}
	outOfQuota = Verdict{Outcome: window.Neutral, Reason: ErrQuota}
)

// refuses reports a status with which GitHub refuses for load.
func refuses(a answer.Answer) bool { return a.Status == 403 || a.Status == 429 }

func hasStatus(of ...int) func(answer.Answer) bool {
	return func(a answer.Answer) bool { return slices.Contains(of, a.Status) }
}

func hasCode(of ...string) func(answer.Answer) bool {
	return func(a answer.Answer) bool {
		return slices.ContainsFunc(a.Codes, func(code string) bool { return slices.Contains(of, code) })
	}
}

func hasAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

func classifyAnswer(err error) Verdict {
	a, ok := answerOf(err)
	if !ok {
		return Verdict{}
	}
	for _, row := range answers {
		if row.fits(a) {
			return row.verdict.with(a)
		}
	}
	return Verdict{}
}

// with is a row's verdict with what the answer says of another attempt.
func (v Verdict) with(a answer.Answer) Verdict {
	// OpenAI's and Anthropic's SDKs obey this header before all else.
	switch a.Header.Get("X-Should-Retry") {
	case "true":
		v.Retry = v.Reason == nil
	case "false":
		v.Retry = false
	}
	if !v.Retry {
		return Verdict{Outcome: v.Outcome, Reason: v.Reason}
	}
	v.RetryAfter = a.After
	if v.Stop && v.RetryAfter == 0 {
		v.RetryAfter = a.Reset
	}
	return v
}

// answerOf is the answer that the error is made of: its own, the one in a field, or one made of its
// methods. SDKs use a status of success, or 0, for a request that was not answered.
func answerOf(err error) (a answer.Answer, ok bool) {
	var own interface{ Answer() answer.Answer }
	if errors.As(err, &own) {
		return own.Answer(), true
	}
	var code interface{ ErrorCode() string }
	if errors.As(err, &code) {
		a.Codes, ok = []string{code.ErrorCode()}, true
	}
	var status interface{ HTTPStatusCode() int }
	if errors.As(err, &status) {
		a.Status, ok = status.HTTPStatusCode(), true
	}
	if !ok {
		return heldAnswer(err)
	}
	a.After = retryAfter(err)
	return a, ok
}

func retryAfter(err error) time.Duration {
	var after interface{ RetryAfter() time.Duration }
	if errors.As(err, &after) {
		return max(0, after.RetryAfter())
	}
	return 0
}

// heldAnswer finds the answer that an SDK's error holds in an exported field, whatever its name.
func heldAnswer(err error) (a answer.Answer, ok bool) {
	walk(err, func(err error) bool {
		v := reflect.Indirect(reflect.ValueOf(err))
		if v.Kind() != reflect.Struct {
			return false
		}
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if resp, _ := v.Field(i).Interface().(*http.Response); resp != nil && resp.StatusCode >= 400 {
				a, ok = answer.Read(resp.StatusCode, resp.Header, answer.Peek(resp), time.Now()), true
				notMade(&a, v)
				return true
			}
		}
		return false
	})
	return a, ok
}

// notMade reads the errors of requests that go-github refuses by itself, after a refusal of the service: the
// answer has no header and no body. The other fields say until when.
func notMade(a *answer.Answer, v reflect.Value) {
	if d, _ := field(v, "RetryAfter").(*time.Duration); d != nil && a.After == 0 {
		a.After = max(0, *d)
	}
	if message, ok := field(v, "Message").(string); ok && a.Text == "" {
		a.Text = strings.ToLower(message)
	}
	if at, ok := field(v, "Rate", "Reset", "Time").(time.Time); ok && a.Reset == 0 {
		a.Reset = max(0, time.Until(at))
	}
}

func field(v reflect.Value, path ...string) any {
	for _, name := range path {
		if v.Kind() != reflect.Struct {
			return nil
		}
		if v = v.FieldByName(name); !v.IsValid() || !v.CanInterface() {
			return nil
		}
	}
	return v.Interface()
}
