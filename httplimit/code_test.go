package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/window"
)

const openAIQuota = `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`

// What bodies of 429 and 403 say, as the services send them.
func TestTheCodeOfAnAnswer(t *testing.T) {
	quota := attempt.Verdict{Outcome: window.Neutral, Reason: attempt.ErrQuota}
	overload := attempt.Verdict{Outcome: window.Overload, Retry: true}
	refused := attempt.Verdict{Outcome: window.ClientError}
	for _, c := range []struct {
		status int
		body   string
		code   string
		want   attempt.Verdict
	}{
		{429, openAIQuota, "insufficient_quota", quota},
		{429, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, "rate_limit_exceeded", overload},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, "rate_limit_error", overload},
		{403, `{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"dailyLimitExceeded"}]}}`, "dailyLimitExceeded", quota},
		{403, `{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"quotaExceeded"}]}}`, "quotaExceeded", quota},
		{403, `{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"rateLimitExceeded"}]}}`, "rateLimitExceeded", overload},
		{403, `{"error":{"code":403,"errors":[{"reason":"insufficientPermissions"}]}}`, "", refused},
		{429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"PerDay"}]}]}}`, "quotaExceeded", quota},
		{429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"9s"}]}}`, "", overload},
		{429, `{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"},{"@type":"type.googleapis.com/google.rpc.QuotaFailure"}]}}`, "RATE_LIMIT_EXCEEDED", overload},
		{429, `{"__type":"ServiceQuotaExceededException"}`, "ServiceQuotaExceededException", quota},
		{429, `{"error":"insufficient_quota"}`, "insufficient_quota", quota},
		{429, `insufficient_quota`, "", overload},
		{429, `{"error":`, "", overload},
		{400, openAIQuota, "", refused},
		{429, `[[[[[[[[{"code":"insufficient_quota"}]]]]]]]]`, "", overload},
	} {
		t.Run(fmt.Sprint(c.status, c.body), func(t *testing.T) {
			err := &httplimit.StatusError{StatusCode: c.status, Body: []byte(c.body)}
			require.Equal(t, c.code, err.ErrorCode())
			require.Equal(t, c.want, attempt.Classify(err))
		})
	}
}

// Out of quota ends the operation at once, whatever a policy says, and the window learns nothing of it.
// Who gets the answer gets all of it.
func TestOutOfQuotaIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, openAIQuota)
		}))
		l := one(t)
		client := s.Client()
		err := l.Do(t.Context(), func(ctx context.Context) error {
			resp, err := client.Do(get(ctx, s.URL))
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			return httplimit.Check(resp)
		})
		require.ErrorIs(t, err, attempt.ErrQuota)
		require.ErrorContains(t, err, "gave up after 1 attempt: out of quota")
		l.ended(window.Neutral)

		for name, rt := range map[string]http.RoundTripper{
			"Transport": httplimit.New(client.Transport, l.Limiter),
			"Retrier":   newRetrier(t, httplimit.New(client.Transport, l.Limiter), retry.Config{If: func(error) bool { return true }}),
			"Client":    clientOn(t, client.Transport, l.Limiter).Transport,
		} {
			calls = 0
			resp, err := rt.RoundTrip(get(t.Context(), s.URL))
			require.NoError(t, err, name)
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err, name)
			require.Equal(t, openAIQuota, string(text), name)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 1, calls, name)
			l.ended(window.Neutral)
		}
	})
}

// A StatusError made by hand obeys the Retry-After in its header.
func TestAStatusErrorMadeByHand(t *testing.T) {
	err := &httplimit.StatusError{StatusCode: 503, Status: "503 Service Unavailable", Header: http.Header{"Retry-After": {"30"}}}
	require.Equal(t, attempt.Verdict{Outcome: window.Overload, Retry: true, RetryAfter: 30 * time.Second}, attempt.Classify(err))
	require.EqualError(t, err, "httplimit: 503 Service Unavailable (Retry-After 30s)")
}

// sdkError is an error that carries the answer in a field.
type sdkError struct{ response *http.Response }

func (e *sdkError) Error() string { return "the SDK failed" }

func TestClassifyAs(t *testing.T) {
	classify := httplimit.ClassifyAs(func(e *sdkError) *http.Response { return e.response })
	answer := func(status int, h http.Header, body string) error {
		resp, err := answers(status, h, text(body))(get(t.Context(), anyURL))
		require.NoError(t, err)
		return fmt.Errorf("a call: %w", &sdkError{resp})
	}
	for _, c := range []struct {
		err  error
		want attempt.Verdict
	}{
		{answer(503, http.Header{"Retry-After": {"7"}}, ""), attempt.Verdict{Outcome: window.Overload, Retry: true, RetryAfter: 7 * time.Second}},
		{answer(429, http.Header{"Content-Type": {"application/json"}}, openAIQuota), attempt.Verdict{Outcome: window.Neutral, Reason: attempt.ErrQuota}},
		{answer(404, nil, ""), attempt.Verdict{Outcome: window.ClientError}},
		{answer(200, nil, ""), attempt.Verdict{}},
		{&sdkError{}, attempt.Verdict{}},
		{io.EOF, attempt.Verdict{}},
	} {
		require.Equal(t, c.want, classify(c.err), "%v", c.err)
		require.Equal(t, c.want, classify(c.err), "a second look sees the same")
	}
}

// A long text before the code does not hide it.
func TestOutOfQuotaInALongAnswer(t *testing.T) {
	long := `{"error":{"message":"` + strings.Repeat("You exceeded your current quota. ", 1000) + `","code":"insufficient_quota"}}`
	resp := func() *http.Response {
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(long))}
	}
	require.ErrorIs(t, attempt.Classify(httplimit.Check(resp())).Reason, attempt.ErrQuota)
	classify := httplimit.ClassifyAs(func(e *sdkError) *http.Response { return e.response })
	require.ErrorIs(t, classify(&sdkError{resp()}).Reason, attempt.ErrQuota)
}

// Streams of HTTP/2 that a server breaks off are tried again.
func TestAStreamThatIsReset(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	_, err := s.Client().Get(s.URL)
	require.ErrorContains(t, err, "INTERNAL_ERROR")
	require.Equal(t, attempt.Verdict{Outcome: window.Neutral, Retry: true}, attempt.Classify(err))
}
