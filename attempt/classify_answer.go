package attempt

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aimd-go/aimd/internal/answer"
	"github.com/aimd-go/aimd/internal/fact"
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
	// A service names a code or answers in its own format, also a HEAD. A firewall answers with a page or with nothing.
	{func(a answer.Answer) bool {
		return a.Status == 403 && len(a.Codes) == 0 && !answer.ForPrograms(a.Header)
	}, Verdict{Outcome: window.Neutral, Denied: true}},
	{hasStatus(401, 403, 501, 505), Verdict{Outcome: window.Neutral}},
	{func(a answer.Answer) bool { return a.Status >= 600 }, Verdict{Outcome: window.Neutral}},
	{func(a answer.Answer) bool { return a.Status >= 500 }, again},
	{func(a answer.Answer) bool { return a.Status >= 400 }, Verdict{Outcome: window.ClientError}},

	// The service took the request, and broke off its own answer. The types are OpenAI's and Anthropic's.
	{func(a answer.Answer) bool {
		return a.Within && hasCode("invalid_request_error", "authentication_error", "permission_error", "not_found_error",
			"request_too_large", "billing_error", "content_filter")(a)
	}, Verdict{Outcome: window.ClientError}},
	{func(a answer.Answer) bool { return a.Within }, again},

	// An error without a status that says when to come back, as those of slack-go and discordgo.
	{func(a answer.Answer) bool { return a.Status == 0 && a.After > 0 }, overload},
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

func classifyAnswer(f *fact.Facts) Verdict {
	for a := range answersOf(f) {
		for _, row := range answers {
			if row.fits(a) {
				return row.verdict.with(a)
			}
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
		v.Retry, v.Denied = false, false
	}
	if !v.Retry {
		if v.Outcome.Overloaded() { // a refusal that will not pass says nothing about load
			v.Outcome = window.Neutral
		}
		return Verdict{Outcome: v.Outcome, Denied: v.Denied, Reason: v.Reason}
	}
	v.RetryAfter = a.After
	if v.Stop && v.RetryAfter == 0 {
		v.RetryAfter = a.Reset
	}
	return v
}

// answersOf yields the answers that the error is made of: its own, one made of the methods of its tree, and
// those of the shapes. SDKs use a status of success, or 0, for a request that was not answered.
func answersOf(f *fact.Facts) iter.Seq[answer.Answer] {
	return func(yield func(answer.Answer) bool) {
		if own, ok := fact.First[interface{ Answer() (answer.Answer, bool) }](f); ok {
			if a, ok := own.Answer(); ok {
				yield(a)
				return
			}
		}
		if a, ok := answerOf(f); ok && !yield(a) {
			return
		}
		for s := range (shapes{f}).all {
			if a, ok := s.answer(); ok && !yield(a) {
				return
			}
		}
	}
}

// answerOf is the answer made of the methods of the AWS SDK, which are those of several errors of the tree.
func answerOf(f *fact.Facts) (a answer.Answer, ok bool) {
	if code, coded := fact.First[interface{ ErrorCode() string }](f); coded {
		a.Codes, ok = []string{code.ErrorCode()}, true
	}
	if status, known := fact.First[interface{ HTTPStatusCode() int }](f); known {
		a.Status, ok = status.HTTPStatusCode(), true
	}
	a.After = retryAfter(f)
	return a, ok
}

func retryAfter(f *fact.Facts) time.Duration {
	if after, ok := fact.First[interface{ RetryAfter() time.Duration }](f); ok {
		return max(0, after.RetryAfter())
	}
	return 0
}
