package httplimit_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/window"
)

// parsed is an answer from its bytes.
func parsed(t *testing.T, bytes string) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(strings.TrimLeft(bytes, "\n"))), nil)
	require.NoError(t, err)
	return resp
}

// The bytes of answers, as documentations or captures have them. GitHub:
// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
const (
	gitHubPrimary = `
HTTP/1.1 403 Forbidden
Date: Wed, 09 Aug 2023 14:28:23 GMT
Content-Type: application/json; charset=utf-8
x-ratelimit-limit: 60
x-ratelimit-remaining: 0
x-ratelimit-used: 60
x-ratelimit-reset: 1691591363
x-ratelimit-resource: core

{"message":"API rate limit exceeded for 203.0.113.7. (But here's the good news: Authenticated requests get a higher rate limit. Check out the documentation for more details.)","documentation_url":"https://docs.github.com/rest/overview/resources-in-the-rest-api#rate-limiting"}`
	gitHubSecondary = `
HTTP/1.1 403 Forbidden
Content-Type: application/json; charset=utf-8
x-ratelimit-limit: 5000
x-ratelimit-remaining: 4871
x-ratelimit-reset: 1691591363

{"documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits","message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`
	openAIDaily = `
HTTP/1.1 429 Too Many Requests
Content-Type: application/json
retry-after: 28800
x-should-retry: true

{"error":{"message":"Rate limit reached for gpt-5 in organization org-1 on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 8h0m0s.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`
	stripeLocked = `
HTTP/1.1 429 Too Many Requests
Content-Type: application/json

{"error":{"code":"lock_timeout","doc_url":"https://stripe.com/docs/error-codes/lock-timeout","message":"This object cannot be accessed right now because another API request or Stripe process is currently accessing it.","type":"invalid_request_error"}}`
)

// tooMany is a 429 whose body is that document.
func tooMany(document string) string {
	return "HTTP/1.1 429 Too Many Requests\nContent-Type: application/json\n\n" + document
}

// forbidden is a 403 whose body is that document.
func forbidden(document string) string {
	return strings.Replace(tooMany(document), "429 Too Many Requests", "403 Forbidden", 1)
}

// with is the answer with another line in its header.
func with(answer, line string) string { return strings.Replace(answer, "\n\n", "\n"+line+"\n\n", 1) }

// What the answers of services mean, through every door alike: Check within Do, an SDK's error within Do,
// and a Transport.
func TestAnswersOfServices(t *testing.T) {
	overload := attempt.Verdict{Outcome: window.Overload, Retry: true}
	stop := attempt.Verdict{Outcome: window.Overload, Retry: true, Stop: true}
	again := attempt.Verdict{Outcome: window.Neutral, Retry: true}
	final := attempt.Verdict{Outcome: window.Neutral}
	denied := attempt.Verdict{Outcome: window.Neutral, Denied: true}
	quota := attempt.Verdict{Outcome: window.Neutral, Reason: attempt.ErrQuota}
	after := func(v attempt.Verdict, d time.Duration) attempt.Verdict {
		v.RetryAfter = d
		return v
	}
	const retryInfo = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%s"}`
	quotaOf := func(id, delay string) string {
		return tooMany(fmt.Sprintf(`{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":%q}]},`+retryInfo+`]}}`, id, delay))
	}
	for name, c := range map[string]struct {
		answer string
		want   attempt.Verdict
	}{
		"GitHub's primary limit":              {gitHubPrimary, after(stop, time.Minute)},
		"the same with 429":                   {strings.Replace(gitHubPrimary, "403 Forbidden", "429 Too Many Requests", 1), after(stop, time.Minute)},
		"with a Retry-After":                  {with(gitHubPrimary, "Retry-After: 60"), after(overload, time.Minute)},
		"with requests left it says nothing":  {strings.Replace(gitHubPrimary, "remaining: 0", "remaining: 7", 1), final},
		"GitHub's secondary limit":            {gitHubSecondary, stop},
		"the same with a Retry-After":         {with(gitHubSecondary, "Retry-After: 30"), after(stop, 30*time.Second)},
		"GitHub's older words":                {strings.Replace(gitHubSecondary, "exceeded a secondary rate limit", "triggered an abuse detection mechanism", 1), stop},
		"no permission":                       {with(forbidden(`{"message":"Resource not accessible by integration"}`), "Server: github.com"), final},
		"S3, without the right to list":       {"HTTP/1.1 403 Forbidden\nContent-Type: application/xml\n\n<Error><Code>AccessDenied</Code></Error>", final},
		"a page, as of a firewall":            {"HTTP/1.1 403 Forbidden\nServer: awselb/2.0\nContent-Type: text/html\n\n<html><h1>403 Forbidden</h1></html>", denied},
		"a page in XHTML":                     {"HTTP/1.1 403 Forbidden\nContent-Type: application/xhtml+xml\n\n<html/>", denied},
		"without a word":                      {"HTTP/1.1 403 Forbidden\n\n", denied},
		"no credentials":                      {"HTTP/1.1 401 Unauthorized\nContent-Type: application/json\n\n" + `{"message":"Bad credentials"}`, final},
		"OpenAI's quota of a day":             {openAIDaily, quota},
		"tokens of a day":                     {strings.Replace(openAIDaily, "requests per day (RPD)", "tokens per day (TPD)", 1), quota},
		"requests of a minute":                {strings.Replace(openAIDaily, "requests per day (RPD)", "requests per min (RPM)", 1), after(overload, 8*time.Hour)},
		"DAILY_LIMIT_EXCEEDED":                {with(tooMany(`{"error":"DAILY_LIMIT_EXCEEDED"}`), "Retry-After: 43200"), quota},
		"no credit":                           {tooMany(`{"error":{"message":"Your credit balance is exhausted","type":"insufficient_quota","code":"credit_balance_exhausted"}}`), quota},
		"no billing":                          {tooMany(`{"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","param":null,"code":"billing_not_active"}}`), quota},
		"Google's quota of a day":             {tooMany(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","metadata":{"quota_limit":"Gemini25ProRequestsPerDay"}}]}}`), quota},
		"of a day, with a delay of seconds":   {quotaOf("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "34s"), quota},
		"of a minute":                         {quotaOf("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "34s"), after(overload, 34*time.Second)},
		"a delay with a fraction":             {quotaOf("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "600.5s"), after(overload, 600500*time.Millisecond)},
		"Stripe's lock":                       {stripeLocked, again},
		"a lock while there are too many":     {with(stripeLocked, "Stripe-Rate-Limited-Reason: endpoint-concurrency"), overload},
		"x-should-retry: false":               {with(tooMany(`{"error":{"code":"rate_limit_exceeded"}}`), "x-should-retry: false"), final},
		"x-should-retry: false after a 408":   {"HTTP/1.1 408 Request Timeout\nx-should-retry: false\n\n", final},
		"x-should-retry: false after a 500":   {"HTTP/1.1 500 Internal Server Error\nx-should-retry: false\n\n", final},
		"x-should-retry: true after a 409":    {"HTTP/1.1 409 Conflict\nx-should-retry: true\nRetry-After: 2\n\n", after(attempt.Verdict{Outcome: window.ClientError, Retry: true}, 2*time.Second)},
		"OpenAI's quota":                      {tooMany(openAIQuota), quota},
		"OpenAI's rate":                       {tooMany(`{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`), overload},
		"Google's dailyLimitExceeded":         {forbidden(`{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"dailyLimitExceeded"}]}}`), quota},
		"Google's quotaExceeded":              {forbidden(`{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"quotaExceeded"}]}}`), quota},
		"Google's rateLimitExceeded":          {forbidden(`{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"rateLimitExceeded"}]}}`), overload},
		"Google's insufficientPermissions":    {forbidden(`{"error":{"code":403,"errors":[{"reason":"insufficientPermissions"}]}}`), final},
		"Google's QuotaFailure":               {tooMany(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"PerYear"}]}]}}`), quota},
		"a QuotaFailure of a rate":            {tooMany(`{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"},{"@type":"type.googleapis.com/google.rpc.QuotaFailure"}]}}`), overload},
		"AWS's quota":                         {tooMany(`{"__type":"ServiceQuotaExceededException"}`), quota},
		"a code as the error":                 {tooMany(`{"error":"insufficient_quota"}`), quota},
		"no JSON":                             {tooMany(`insufficient_quota`), overload},
		"broken JSON":                         {tooMany(`{"error":`), overload},
		"a code that is too deep":             {tooMany(`[[[[[[[[{"code":"insufficient_quota"}]]]]]]]]`), overload},
		"a code with a 400":                   {strings.Replace(tooMany(openAIQuota), "429 Too Many Requests", "400 Bad Request", 1), attempt.Verdict{Outcome: window.ClientError}},
		"a code after a long text":            {tooMany(`{"error":{"message":"` + strings.Repeat("You exceeded your current quota. ", 1000) + `","code":"insufficient_quota"}}`), quota},
		"Anthropic's, as captured":            {with(tooMany(`{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}`), "x-should-retry: true\nanthropic-ratelimit-input-tokens-remaining: 0\nretry-after: 16"), after(overload, 16*time.Second)},
		"Retry-After: 1.5":                    {with(tooMany(`{}`), "Retry-After: 1.5"), after(overload, 1500*time.Millisecond)},
		"retry-after-ms: 1500.5":              {with(tooMany(`{}`), "retry-after-ms: 1500.5\nRetry-After: 2"), after(overload, 1500500*time.Microsecond)},
		"X-RateLimit-RetryAfter, a Unix time": {with(tooMany(`{}`), "Date: Wed, 09 Aug 2023 14:28:23 GMT\nX-RateLimit-RetryAfter: 1691591363"), after(overload, time.Minute)},
		"X-RateLimit-RetryAfter, in seconds":  {with(tooMany(`{}`), "X-RateLimit-RetryAfter: 7"), after(overload, 7*time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, attempt.Classify(httplimit.Check(parsed(t, c.answer))), "Check")
			require.Equal(t, c.want, attempt.Classify(fmt.Errorf("a call: %w", &sdkError{parsed(t, c.answer)})), "an SDK's error")
			var seen attempt.Verdict
			l := narrow(t, aimd.Config{Classifier: func(err error) attempt.Verdict {
				seen = attempt.Classify(err)
				return seen
			}})
			sent := parsed(t, c.answer)
			resp, err := httplimit.New(base(func(*http.Request) (*http.Response, error) { return sent, nil }), l).RoundTrip(get(t.Context(), anyURL))
			require.NoError(t, err)
			_, document, _ := strings.Cut(c.answer, "\n\n")
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, document, string(body), "the caller gets all of it")
			require.Equal(t, c.want, seen, "a Transport")
		})
	}
}

// Nothing is sent to GitHub before the reset, whatever MaxRetryAfter, and after a secondary limit for a
// minute, then for two: by a Client, by Do with Check, and by a policy, alone or in a limiter.
func TestNothingIsSentBeforeTheServiceServesAgain(t *testing.T) {
	policy, err := retry.New(retry.Config{Idempotent: true, MaxAttempts: -1, MaxRetryAfter: time.Second})
	require.NoError(t, err)
	short := aimd.Config{Rules: aimd.Rules{MaxRetryAfter: time.Second}}
	for name, c := range map[string]struct {
		answer string
		waits  []time.Duration
	}{
		"primary":   {strings.Replace(gitHubPrimary, "14:28:23", "13:29:23", 1), []time.Duration{time.Hour, time.Hour}},
		"secondary": {gitHubSecondary, []time.Duration{time.Minute, 2 * time.Minute}},
	} {
		var sent []time.Time
		send := base(func(r *http.Request) (*http.Response, error) {
			if sent = append(sent, time.Now()); len(sent) > len(c.waits) {
				return answers(200, nil, http.NoBody)(r)
			}
			return parsed(t, c.answer), nil
		})
		checked := func(context.Context) error {
			resp, _ := send(nil)
			return httplimit.Check(resp)
		}
		for door, call := range map[string]func(context.Context) error{
			"Client": func(ctx context.Context) error {
				_, err := clientOn(send, narrow(t, short)).Do(get(ctx, anyURL))
				return err
			},
			"Do":                    func(ctx context.Context) error { return narrow(t, short).Do(ctx, checked) },
			"a policy alone":        func(ctx context.Context) error { return retry.Do(ctx, policy, checked) },
			"a policy in a limiter": func(ctx context.Context) error { return narrow(t, aimd.Config{Policy: policy}).Do(ctx, checked) },
		} {
			t.Run(name+" "+door, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
					defer cancel()
					sent = nil
					require.NoError(t, call(ctx))
					require.Len(t, sent, 3)
					for i, wait := range c.waits {
						require.InDelta(t, wait+time.Second, sent[i+1].Sub(sent[i]), float64(time.Second))
					}
				})
			})
		}
	}
}
