package httplimit_test

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/window"
)

// answer is an answer for Check.
func answer(status int, header http.Header, body io.ReadCloser) *http.Response {
	resp, _ := answers(status, header, body)(nil)
	return resp
}

func TestCheckLeavesGoodAnswersAlone(t *testing.T) {
	for _, status := range []int{101, 200, 204, 301, 399} {
		body := &tracked{Reader: strings.NewReader("hello")}
		resp := answer(status, nil, body)
		require.NoError(t, httplimit.Check(resp))
		assert.False(t, body.closed.Load())
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(got))
	}
}

func TestCheckTellsTheStatus(t *testing.T) {
	body := &tracked{Reader: strings.NewReader("Please reduce your request rate.\n")}
	resp := answer(503, http.Header{"Retry-After": {"2"}, "X-Id": {"7"}}, body)
	resp.Status = "503 Slow Down"
	err := httplimit.Check(resp)
	assert.EqualError(t, err, "httplimit: 503 Slow Down (Retry-After 2s): Please reduce your request rate.")
	var status *httplimit.StatusError
	require.ErrorAs(t, err, &status)
	assert.Equal(t, 503, status.HTTPStatusCode())
	assert.Equal(t, 2*time.Second, status.RetryAfter())
	assert.Equal(t, "7", status.Header.Get("X-Id"))
	assert.Equal(t, "Please reduce your request rate.\n", string(status.Body))
	assert.True(t, body.closed.Load())
	assert.Equal(t, attempt.Verdict{Outcome: window.Overload, Retry: true, RetryAfter: 2 * time.Second}, attempt.Classify(err))
}

// A date counts from the answer, and not from whenever somebody asks.
func TestARetryAfterIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header := http.Header{"Retry-After": {time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}}
		var status *httplimit.StatusError
		require.ErrorAs(t, httplimit.Check(answer(503, header, http.NoBody)), &status)
		require.Equal(t, "503 Service Unavailable", status.Status)
		text := status.Error()
		require.Equal(t, time.Minute, status.RetryAfter())
		time.Sleep(30 * time.Second)
		require.Equal(t, time.Minute, status.RetryAfter())
		require.Equal(t, text, status.Error())
	})
}

// One that a test makes by hand has a text too.
func TestAStatusErrorOfACodeAlone(t *testing.T) {
	assert.EqualError(t, &httplimit.StatusError{StatusCode: 500}, "httplimit: 500 Internal Server Error")
	assert.EqualError(t, &httplimit.StatusError{StatusCode: 599}, "httplimit: 599")
	err := &httplimit.StatusError{StatusCode: 503, Status: "503 Service Unavailable", Header: http.Header{"Retry-After": {"30"}}}
	assert.Equal(t, attempt.Verdict{Outcome: window.Overload, Retry: true, RetryAfter: 30 * time.Second}, attempt.Classify(err))
	assert.EqualError(t, err, "httplimit: 503 Service Unavailable (Retry-After 30s)")
}

func TestTheErrorsTextIsShortAndPrintable(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"none", "", ""},
		{"lines", "<Error>\n\t<Code>SlowDown</Code>\r\n</Error>", ": <Error> <Code>SlowDown</Code> </Error>"},
		{"control characters", "a\x1b[31mb\x00\u202ec", ": a[31mbc"},
		{"not UTF-8", "a\xff\xfeb", ": ab"},
		{"binary only", "\x00\x01\x02", ""},
		{"long", strings.Repeat("ä", 100_000), ": " + strings.Repeat("ä", 200) + "..."},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := httplimit.Check(answer(429, nil, text(c.body)))
			assert.EqualError(t, err, "httplimit: 429 Too Many Requests"+c.want)
		})
	}
	assert.EqualError(t, httplimit.Check(answer(599, nil, nil)), "httplimit: 599")
	assert.EqualError(t, httplimit.Check(answer(404, nil, broken{io.ErrUnexpectedEOF})), "httplimit: 404 Not Found")
}

// endless is a reader without end that counts what was read.
type endlessReader struct{ read int }

func (e *endlessReader) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func TestCheckReadsABoundedAmount(t *testing.T) {
	body := &endlessReader{}
	var status *httplimit.StatusError
	require.ErrorAs(t, httplimit.Check(answer(500, nil, io.NopCloser(body))), &status)
	assert.Len(t, status.Body, 4<<10)
	assert.LessOrEqual(t, body.read, 64<<10)
}

// The connection of a refused attempt serves the next one.
func TestCheckKeepsTheConnection(t *testing.T) {
	var peers []string
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peers = append(peers, r.RemoteAddr)
		http.Error(w, strings.Repeat("busy ", 1000), http.StatusServiceUnavailable)
	}))
	for range 3 {
		resp, err := s.Client().Get(s.URL)
		require.NoError(t, err)
		require.Error(t, httplimit.Check(resp))
	}
	assert.Equal(t, []string{peers[0], peers[0], peers[0]}, peers)
}

const openAIQuota = `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`

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
		l := one(t, aimd.Config{})
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
			"Client":    clientOn(client.Transport, l.Limiter).Transport,
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

// sdkError is an error of an SDK that holds the answer in a field.
type sdkError struct{ Response *http.Response }

func (e *sdkError) Error() string { return "the SDK failed" }

// TestAnswersOfServices has the answers of 400 and more.
func TestAnErrorThatHoldsItsAnswer(t *testing.T) {
	held := &sdkError{answer(429, http.Header{"Content-Type": {"application/json"}}, text(openAIQuota))}
	for range 2 { // a second look sees the same
		require.ErrorIs(t, attempt.Classify(held).Reason, attempt.ErrQuota)
	}
	for _, err := range []error{&sdkError{answer(200, nil, text(""))}, &sdkError{}, (*sdkError)(nil)} {
		require.Zero(t, attempt.Classify(err))
	}
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

const year = 365 * 24 * time.Hour

// noon is now in the tests of RetryAfter.
var noon = time.Date(2026, time.March, 4, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		// "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT", "Retry-After: 120" (RFC 9110, section 10.2.3)
		{"120", 2 * time.Minute, true},
		{"Wed, 04 Mar 2026 12:00:30 GMT", 30 * time.Second, true},
		{"Wednesday, 04-Mar-26 12:00:30 GMT", 30 * time.Second, true},
		{"Wed Mar  4 12:00:30 2026", 30 * time.Second, true},
		{"0", 0, true},
		{" 5 ", 5 * time.Second, true},
		{"Fri, 31 Dec 1999 23:59:59 GMT", 0, true},
		{"31536000", year, true},
		{"31536001", 0, false},
		{"Thu, 04 Mar 2027 12:00:00 GMT", year, true},
		{"Thu, 04 Mar 2027 12:00:01 GMT", 0, false},
		{"Fri, 31 Dec 9999 23:59:59 GMT", 0, false},
		{strconv.FormatInt(noon.Unix(), 10), 0, false},
		{"9223372037", 0, false}, // in nanoseconds, one more than an int64 has
		{"-1", 0, false},
		{"1.5", 1500 * time.Millisecond, true},
		{"1.5.0", 0, false},
		{".", 0, false},
		{"1e3", 0, false},
		{"5s", 0, false},
		{"soon", 0, false},
		{"NaN", 0, false},
		{"", 0, false},
		{"Wed, 04 Mar 2026 12:00:30 PST", 0, false},
	} {
		t.Run(c.value, func(t *testing.T) {
			got, ok := httplimit.RetryAfter(http.Header{"Retry-After": {c.value}}, noon)
			assert.Equal(t, c.ok, ok)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestRetryAfterInMilliseconds(t *testing.T) {
	for _, name := range []string{"X-Amz-Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		h := http.Header{}
		h.Set("Retry-After", "2")
		h.Set(name, "1500")
		d, ok := httplimit.RetryAfter(h, noon)
		assert.True(t, ok, name)
		assert.Equal(t, 1500*time.Millisecond, d, name)
		h.Set(name, "-1")
		d, ok = httplimit.RetryAfter(h, noon)
		assert.True(t, ok, "the other one still counts")
		assert.Equal(t, 2*time.Second, d)
		h.Set(name, strconv.FormatInt(math.MaxInt64, 10))
		d, _ = httplimit.RetryAfter(h, noon)
		assert.Equal(t, 2*time.Second, d)
	}
}

func TestRetryAfterCountsFromTheServicesClock(t *testing.T) {
	h := http.Header{
		"Date":        {"Wed, 04 Mar 2026 13:00:00 GMT"}, // an hour ahead of ours
		"Retry-After": {"Wed, 04 Mar 2026 13:00:10 GMT"},
	}
	d, ok := httplimit.RetryAfter(h, noon)
	assert.True(t, ok)
	assert.Equal(t, 10*time.Second, d)
	h.Set("Date", "yesterday")
	d, ok = httplimit.RetryAfter(h, noon)
	assert.True(t, ok)
	assert.Equal(t, time.Hour+10*time.Second, d)
	_, ok = httplimit.RetryAfter(nil, noon)
	assert.False(t, ok)
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "", "", int64(0))
	f.Add("Wed, 04 Mar 2026 12:00:30 GMT", "", "Wed, 04 Mar 2026 12:00:00 GMT", int64(1<<40))
	f.Add("-1", "1500", "soon", int64(-1<<40))
	f.Add("18446744073709551616", "9223372036854775808", "", int64(0))
	f.Fuzz(func(t *testing.T, after, millis, date string, now int64) {
		h := http.Header{"Retry-After": {after}, "X-Amz-Retry-After": {millis}, "Date": {date}}
		at := time.Unix(now, 0)
		d, ok := httplimit.RetryAfter(h, at)
		assert.True(t, ok || d == 0, "no Retry-After is no delay")
		assert.True(t, 0 <= d && d <= year, "%v", d)
		// A number is as many seconds, or nothing at all.
		if n, err := strconv.ParseUint(after, 10, 64); err == nil {
			d, ok := httplimit.RetryAfter(http.Header{"Retry-After": {after}}, at)
			if want := float64(n) * 1e9; ok {
				assert.Equal(t, want, float64(d))
			} else {
				assert.Greater(t, want, float64(year))
			}
		}
	})
}
