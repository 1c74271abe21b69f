package aimdaws_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/internal/fakes3"
	"github.com/aimd-go/aimd/limiter"
)

// deletion is an operation with a body in its answer.
var deletion = &s3.DeleteObjectsInput{
	Bucket: aws.String(bucket),
	Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("k")}}},
}

func TestAnswers(t *testing.T) {
	status := func(status int, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			fakes3.Answer(w, r, status, body)
		}
	}
	const html = "<html><body>503 Service Temporarily Unavailable</body></html>"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   outcomes
		// code is that of the final error, empty if the second attempt succeeds.
		code string
	}{
		"SlowDown":                   {answer: fakes3.Refuse, want: outcomes{successes: 1, overloads: 1}},
		"503 of a proxy":             {answer: status(503, html), want: outcomes{successes: 1, overloads: 1}},
		"429 of a proxy":             {answer: status(429, html), want: outcomes{successes: 1, overloads: 1}},
		"429 with a code":            {answer: status(429, strings.ReplaceAll(slowDown, "SlowDown", "TooManyRequests")), want: outcomes{successes: 1, overloads: 1}},
		"429 with Retry-After in ms": {answer: status(429, html, "X-Amz-Retry-After", "20"), want: outcomes{successes: 1, overloads: 1}},
		"403 with Retry-After":       {answer: status(403, html, "X-Amz-Retry-After", "20"), want: outcomes{successes: 1, overloads: 1}},
		"SlowDown inside a 200":      {answer: status(200, slowDown), want: outcomes{successes: 1, overloads: 1}},
		"RequestTimeout":             {answer: status(400, strings.ReplaceAll(slowDown, "SlowDown", "RequestTimeout")), want: outcomes{successes: 1, timeouts: 1}},
		"404 is a final answer":      {answer: status(404, strings.ReplaceAll(slowDown, "SlowDown", "NoSuchUpload")), want: outcomes{clientErrors: 1}, code: "NoSuchUpload"},
		"403 is a final answer":      {answer: status(403, strings.ReplaceAll(slowDown, "SlowDown", "AccessDenied")), want: outcomes{clientErrors: 1}, code: "AccessDenied"},
		"400 that is no XML":         {answer: status(400, html), want: outcomes{clientErrors: 1}, code: "BadRequest"},
	} {
		for _, retries2026 := range []string{"", "true"} {
			t.Run(name+", AWS_NEW_RETRIES_2026="+retries2026, func(t *testing.T) {
				t.Setenv("AWS_NEW_RETRIES_2026", retries2026)
				s := newStore(t, once(c.answer))
				l := newLimiter(t)
				client := s.client(l)
				_, err := client.DeleteObjects(t.Context(), deletion)
				if c.code != "" {
					requireCode(t, err, c.code)
				} else {
					require.NoError(t, err)
				}
				requests, _ := s.Counts()
				require.EqualValues(t, requests, l.Snapshot().Attempts())
				requireOutcomes(t, l, c.want)
			})
		}
	}
}

func TestMissingBucketIsFinal(t *testing.T) {
	s := newStore(t)
	l := newLimiter(t)
	_, err := s.client(l).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("missing"), Key: aws.String("k"), Body: strings.NewReader("x")})
	requireCode(t, err, "NoSuchBucket")
	requests, _ := s.Counts()
	require.Equal(t, 1, requests)
	requireOutcomes(t, l, outcomes{clientErrors: 1})
}

func TestRetryAfterDelaysTheOperation(t *testing.T) {
	synctest.Test(t, testRetryAfterDelaysTheOperation)
}

func testRetryAfterDelaysTheOperation(t *testing.T) {
	now := clock.NewMock()
	var times []time.Time
	s := newStore(t, scripted(func(w http.ResponseWriter, r *http.Request) bool {
		times = append(times, now.Now())
		if len(times) > 1 {
			return false
		}
		w.Header().Set("Retry-After", "60")
		fakes3.Answer(w, r, http.StatusTooManyRequests, "")
		return true
	}))
	l := newLimiter(t, aimd.WithClock(now))
	done := make(chan error)
	go func() { done <- put(t.Context(), s.client(l), "k", "x") }()
	settled(t, l, func(s limiter.Snapshot) bool { return s.Overloads == 1 })
	require.Zero(t, l.Snapshot().InFlight, "it holds no slot while it waits")
	for {
		select {
		case err := <-done:
			require.NoError(t, err)
			// What the SDK itself slept on the real clock is taken off; half is plenty.
			require.GreaterOrEqual(t, times[1].Sub(times[0]), 30*time.Second)
			requireOutcomes(t, l, outcomes{successes: 1, overloads: 1})
			return
		default:
			now.Add(time.Second)
		}
	}
}

// A failure that says nothing about load is backed off for once, by the limiter.
func TestNeutralFailureBacksOffOnce(t *testing.T) { synctest.Test(t, testNeutralFailureBacksOffOnce) }

func testNeutralFailureBacksOffOnce(t *testing.T) {
	s := newStore(t, once(func(w http.ResponseWriter, r *http.Request) { fakes3.Answer(w, r, http.StatusInternalServerError, "") }))
	l := newLimiter(t)
	start := time.Now()
	require.NoError(t, put(t.Context(), s.client(l), "k", "x"))
	require.LessOrEqual(t, time.Since(start), 2*core.DefaultPauseMin)
	require.Positive(t, time.Since(start))
	requireOutcomes(t, l, outcomes{successes: 1, neutrals: 1})
}

func TestConnectionsAsOverload(t *testing.T) { synctest.Test(t, testConnectionsAsOverload) }

func testConnectionsAsOverload(t *testing.T) {
	cut := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for want, classify := range map[outcomes]attempt.Classifier{
		{successes: 1, neutrals: 1}:  attempt.Classify,
		{successes: 1, overloads: 1}: attempt.FirstOf(attempt.ConnectionsAsOverload, attempt.Classify),
	} {
		s := newStore(t, once(cut))
		l := newLimiter(t, aimd.WithClassifier(classify))
		require.NoError(t, put(t.Context(), s.client(l), "k", "x"))
		requireOutcomes(t, l, want)
	}
}
