package answer_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
)

// As overrides whatever the answer says; Success makes it one, and Unknown takes the override back.
func TestAs(t *testing.T) {
	for _, status := range []int{200, 403, 503} {
		a := answer.Read(status, map[string][]string{"X-Should-Retry": {"false"}, "Retry-After": {"7"}}, nil, time.Time{})
		for m := answer.Success; m <= answer.Hurt; m++ {
			b := a.As(m)
			assert.Equal(t, m, b.Meaning(time.Hour), "%d as %v", status, m)
			assert.Equal(t, m != answer.Success && m != answer.Partly && m != answer.Mostly, b.Failed(), "%d as %v", status, m)
			assert.Equal(t, 7*time.Second, b.Wait)
			assert.Equal(t, a, b.As(answer.Unknown))
		}
	}
}

// What the document and the header say, of an answer that began as a success too.
func TestWhatIsReadOfAnAnswer(t *testing.T) {
	for _, c := range []struct {
		status       int
		header, body string
		failed       bool
		codes        string
		wantStatus   int
	}{
		{200, "", ``, false, "", 200},
		{200, "", `{"code":"SlowDown","message":"slow down"}`, false, "slowdown", 200},
		{200, "", `{"error":[],"code":"SlowDown"}`, false, "slowdown", 200},
		{200, "", `{"error":null,"code":"SlowDown"}`, false, "slowdown", 200},
		{200, "", `{"error":[{"code":"SlowDown"}]}`, true, "slowdown", 200},
		{200, "", `{"error":{"code":503}}`, true, "503", 503},
		{200, "", `{"error":{"code":399}}`, false, "399", 200},
		{200, "", `{"error":{"code":600}}`, false, "600", 200},
		{200, "", `<Error><Code>503</Code>` + "\n" + `SlowDown</Error>`, true, "503", 503},
		{200, "", `<Error><Code>SlowDown</b></Error>`, true, "slowdown", 200},
		{200, "", `<List><Code>SlowDown</Code></List>`, false, "", 200},
		{429, "X-Envoy-Ratelimited", ``, true, "ratelimited", 429},
		{503, "", `<Error><Code><![CDATA[SlowDown]]></Code></Error>`, true, "slowdown", 503},
		{429, "", `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"}]}}`, true, "googlerpcquotafailure", 429},
	} {
		a := answer.Read(c.status, map[string][]string{c.header: {"true"}}, []byte(c.body), noon)
		assert.Equal(t, c.failed, a.Failed(), c.body)
		assert.Equal(t, c.codes, strings.Join(a.Codes, " "), c.body)
		assert.Equal(t, c.wantStatus, a.Status, c.body)
		if !a.Begun {
			assert.Equal(t, !c.failed, a.Meaning(soon) == answer.Success, c.body)
		}
	}
	assert.Equal(t, answer.Unknown, answer.Answer{}.Meaning(soon))
	for body, want := range map[string]string{
		`<Error><Message>a &lt; b</Message></Error>`: "a < b", `{"message":"a &lt; b"}`: "a &lt; b",
		`{"message":"caf\u00e9 \ud83d\ude00"}`: "café 😀", `{"message":"\u00"}`: "�",
	} {
		assert.Equal(t, want, answer.Read(400, nil, []byte(body), noon).Text)
	}
	stream := answer.Read(200, map[string][]string{"Content-Type": {"text/event-stream"}}, []byte("event: error\ndata: SlowDown\n\n"), noon)
	assert.Equal(t, []string{"slowdown"}, stream.Codes)
}

// year is the longest wait that is believed.
const year = 365 * 24 * time.Hour

// Whatever a service sends, a delay is from 0 to a year.
func FuzzRead(f *testing.F) {
	f.Add("1.5", "", "0", "1691591363", "Wed, 09 Aug 2023 14:28:23 GMT", `{"error":{"details":[{"retryDelay":"34s"}]}}`)
	f.Add("Wed, 25 Nov 2026 12:00:30 GMT", "Inf", "0", "1e400", "", `{"retryDelay":"-1s"}`)
	f.Add("18446744073709551616", "9223372036854775808", "0", "9223372036854775807", "yesterday", `[[[[[[[[{"code":"x"}]]]]]]]]`)
	f.Fuzz(func(t *testing.T, after, other, left, reset, date, body string) {
		h := http.Header{
			"Retry-After": {after}, "X-Amz-Retry-After": {other}, "X-Ratelimit-Retryafter": {other},
			"X-Ratelimit-Remaining": {left}, "X-Ratelimit-Reset": {reset}, "Date": {date},
		}
		a := answer.Read(429, h, []byte(body), time.Unix(1691591303, 0))
		require.GreaterOrEqual(t, a.Wait, time.Duration(0))
		require.LessOrEqual(t, a.Wait, year)
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
		require.Equal(t, want, answer.Read(403, h, nil, now).Wait, value)
		h.Set("X-Ratelimit-Remaining", "1")
		require.Zero(t, answer.Read(403, h, nil, now).Wait, value)
	}
}

// The smallest epochs are of 2001 in seconds and 1973 in milliseconds: what is over is a reset of 0, a delay of
// more than a day is no report. A time counts from the whole second if the answer has no Date, as the reset does.
func TestAResetMayBeATime(t *testing.T) {
	now := func() time.Time { return time.Unix(1_700_000_001, 700_000_000) }
	for reset, want := range map[string]time.Duration{
		"999999999": -1, "1000000000": 0, "99999999999": -1, "100000000000": 0, "86400": 24 * time.Hour, "86401": -1, "1700000031": 30 * time.Second,
	} {
		got := answer.Quotas(map[string][]string{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset": {reset}}, now)
		if want < 0 {
			assert.Empty(t, got, reset)
		} else if assert.Len(t, got, 1, reset) {
			assert.Equal(t, want, got[0].Reset, reset)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	const none = time.Duration(-1)
	for value, want := range map[string]time.Duration{
		// "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT", "Retry-After: 120" (RFC 9110, section 10.2.3)
		"120": 2 * time.Minute, "0": 0, " 5 ": 5 * time.Second, "1.5": 1500 * time.Millisecond,
		"Wed, 25 Nov 2026 12:00:30 GMT": 30 * time.Second, "Wednesday, 25-Nov-26 12:00:30 GMT": 30 * time.Second,
		"Wed Nov 25 12:00:30 2026": 30 * time.Second, "Fri, 31 Dec 1999 23:59:59 GMT": 0,
		"31536000": year, "31536001": none, "Thu, 25 Nov 2027 12:00:00 GMT": year, "Thu, 25 Nov 2027 12:00:01 GMT": none,
		"Fri, 31 Dec 9999 23:59:59 GMT": none, strconv.FormatInt(noon.Unix()+30, 10): 30 * time.Second,
		"9223372037": none, // in nanoseconds, one more than an int64 has
		"-1":         none, "1.5.0": none, ".": none, "1e3": none, "5s": 5 * time.Second, "soon": none, "NaN": none, "": none,
		"Wed, 25 Nov 2026 12:00:30 PST": none,
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
	for date, want := range map[string]time.Duration{"Wed, 25 Nov 2026 13:00:00 GMT": 10 * time.Second, "yesterday": time.Hour + 10*time.Second} {
		got, _ := answer.RetryAfter(http.Header{"Date": {date}, "Retry-After": {"Wed, 25 Nov 2026 13:00:10 GMT"}}, noon)
		assert.Equal(t, want, got, date)
	}
}

// noon is the time at which the answers of testdata came, and soon the longest Retry-After of a limiter by default.
var noon = time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)

const soon = 5 * time.Minute

// said is a meaning and a wait as the first line of a file has them: "refused 30s". A success has no meaning.
func said(a answer.Answer) string {
	if m := a.Meaning(soon); !a.Failed() && m != answer.Partly {
		return "success"
	}
	text := a.Meaning(soon).String()
	if a.Wait > 0 {
		text += " " + a.Wait.String()
	}
	return text
}

// Each file of testdata is a raw answer of a service. Its first line is what the answer means, with the wait that it tells;
// the lines with a # are its source. A body is packed as its header says.
func TestAnswersOfStrangers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.http")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 150)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".http"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			want, raw, _ := strings.Cut(string(text), "\n")
			sourced := false
			for strings.HasPrefix(raw, "#") {
				_, raw, sourced = strings.Cut(raw, "\n")
			}
			require.True(t, sourced, "a line with its source")
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw+"\n\n")), nil)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			body = packed(t, resp.Header.Get("Content-Encoding"), bytes.TrimRight(body, "\n"))
			a := answer.Read(resp.StatusCode, resp.Header, body, noon)
			if meaning, wait, _ := strings.Cut(want, " "); wait != "" {
				d, err := time.ParseDuration(wait)
				require.NoError(t, err)
				want = meaning + " " + d.String()
			}
			assert.Equal(t, want, said(a), "codes %q, text %q", a.Codes, a.Text)
		})
	}
}

func packed(t *testing.T, encoding string, body []byte) []byte {
	t.Helper()
	var to bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&to)
	case "deflate":
		w = zlib.NewWriter(&to)
	default:
		return body
	}
	_, err := w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return to.Bytes()
}
