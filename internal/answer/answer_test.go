package answer_test

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/internal/answer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whatever a service sends, a delay is from 0 to a year.
func FuzzRead(f *testing.F) {
	f.Add("1.5", "", "0", "1691591363", "Wed, 09 Aug 2023 14:28:23 GMT", `{"error":{"details":[{"retryDelay":"34s"}]}}`)
	f.Add("Wed, 04 Mar 2026 12:00:30 GMT", "Inf", "0", "1e400", "", `{"retryDelay":"-1s"}`)
	f.Add("18446744073709551616", "9223372036854775808", "0", "9223372036854775807", "yesterday", `[[[[[[[[{"code":"x"}]]]]]]]]`)
	f.Fuzz(func(t *testing.T, after, other, left, reset, date, body string) {
		h := http.Header{
			"Retry-After": {after}, "X-Amz-Retry-After": {other}, "X-Ratelimit-Retryafter": {other},
			"X-Ratelimit-Remaining": {left}, "X-Ratelimit-Reset": {reset}, "Date": {date},
		}
		a := answer.Read(429, h, []byte(body), time.Unix(1691591303, 0))
		for _, d := range []time.Duration{a.After, a.Reset} {
			require.GreaterOrEqual(t, d, time.Duration(0))
			require.LessOrEqual(t, d, answer.Longest)
		}
	})
}

// A Unix time is told from a delay by its size, and a number that is neither does not count.
func TestResets(t *testing.T) {
	now := time.Date(2023, time.August, 9, 14, 28, 23, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"30": 30 * time.Second, "64.57": 64570 * time.Millisecond, "1691591363": time.Minute, "1691591363000": time.Minute,
		"1691591303": 0, "Inf": 0, "NaN": 0, "-1": 0, "1e400": 0, "99999999999999999999": 0, "soon": 0, "": 0,
	} {
		h := http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {value}}
		require.Equal(t, want, answer.Read(403, h, nil, now).Reset, value)
		h.Set("X-Ratelimit-Remaining", "1")
		require.Zero(t, answer.Read(403, h, nil, now).Reset, value)
	}
}

// noon is now in the tests of RetryAfter.
var noon = time.Date(2026, time.March, 4, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	const year, none = answer.Longest, time.Duration(-1)
	for value, want := range map[string]time.Duration{
		// "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT", "Retry-After: 120" (RFC 9110, section 10.2.3)
		"120": 2 * time.Minute, "0": 0, " 5 ": 5 * time.Second, "1.5": 1500 * time.Millisecond,
		"Wed, 04 Mar 2026 12:00:30 GMT": 30 * time.Second, "Wednesday, 04-Mar-26 12:00:30 GMT": 30 * time.Second,
		"Wed Mar  4 12:00:30 2026": 30 * time.Second, "Fri, 31 Dec 1999 23:59:59 GMT": 0,
		"31536000": year, "31536001": none, "Thu, 04 Mar 2027 12:00:00 GMT": year, "Thu, 04 Mar 2027 12:00:01 GMT": none,
		"Fri, 31 Dec 9999 23:59:59 GMT": none, strconv.FormatInt(noon.Unix(), 10): none,
		"9223372037": none, // in nanoseconds, one more than an int64 has
		"-1":         none, "1.5.0": none, ".": none, "1e3": none, "5s": none, "soon": none, "NaN": none, "": none,
		"Wed, 04 Mar 2026 12:00:30 PST": none,
	} {
		got, ok := answer.RetryAfter(http.Header{"Retry-After": {value}}, noon)
		assert.Equal(t, want != none, ok, value)
		assert.Equal(t, max(0, want), got, value)
	}
	for _, name := range []string{"X-Amz-Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		for value, want := range map[string]time.Duration{
			"1500": 1500 * time.Millisecond, "-1": 2 * time.Second, strconv.FormatInt(math.MaxInt64, 10): 2 * time.Second,
		} {
			got, _ := answer.RetryAfter(http.Header{"Retry-After": {"2"}, name: {value}}, noon)
			assert.Equal(t, want, got, "%s: %s", name, value)
		}
	}
	// The service's clock is an hour ahead of ours.
	for date, want := range map[string]time.Duration{"Wed, 04 Mar 2026 13:00:00 GMT": 10 * time.Second, "yesterday": time.Hour + 10*time.Second} {
		got, _ := answer.RetryAfter(http.Header{"Date": {date}, "Retry-After": {"Wed, 04 Mar 2026 13:00:10 GMT"}}, noon)
		assert.Equal(t, want, got, date)
	}
}

// slow is a body whose rest comes after a time, or panics.
type slow struct {
	start *strings.Reader
	after time.Duration
}

func (s slow) Read(p []byte) (int, error) {
	switch {
	case s.start.Len() > 0:
		return s.start.Read(p)
	case s.after == 0:
		panic("a body")
	}
	time.Sleep(s.after)
	return 0, io.ErrUnexpectedEOF
}

func (slow) Close() error { return nil }

// The start of a body is what comes within a quarter of a second, and the reader gets all of it.
func TestPeek(t *testing.T) {
	const json, text = "application/problem+json; charset=utf-8", "text/plain"
	for name, c := range map[string]struct {
		status int
		kind   string
		body   io.ReadCloser
		start  string
		late   bool
		took   time.Duration
		err    string
	}{
		"at once":                         {429, json, slow{strings.NewReader("busy"), 1}, "busy", false, 1, "unexpected EOF"},
		"late":                            {403, json, slow{strings.NewReader("busy"), time.Hour}, "busy", true, 250 * time.Millisecond, "unexpected EOF"},
		"panics":                          {402, json, slow{strings.NewReader("busy"), 0}, "busy", false, 0, "a body panicked: a body"},
		"a status that says enough":       {503, json, slow{strings.NewReader("busy"), time.Hour}, "", false, 0, "unexpected EOF"},
		"no JSON":                         {429, text, slow{strings.NewReader("busy"), time.Hour}, "", false, 0, "unexpected EOF"},
		"no body":                         {429, json, nil, "", false, 0, ""},
		"more than is looked at, at once": {429, json, io.NopCloser(strings.NewReader(strings.Repeat("busy", 1<<20))), strings.Repeat("busy", 16<<10), false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp := &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, Body: c.body}
				began := time.Now()
				start, late := answer.Peek(resp)
				require.Equal(t, c.start, string(start))
				require.Equal(t, c.late, late)
				require.Equal(t, c.took, time.Since(began))
				if c.body == nil {
					return
				}
				all, err := io.ReadAll(resp.Body)
				require.True(t, strings.HasPrefix(string(all), "busybusy") || string(all) == "busy")
				if c.err == "" {
					require.NoError(t, err)
					require.Len(t, all, 4<<20)
				} else {
					require.ErrorContains(t, err, c.err)
				}
				require.NoError(t, resp.Body.Close())
			})
		})
	}
}
