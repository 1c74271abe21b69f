package httplimit_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/verdict"
)

// answer is an answer for Check.
func replied(status int, header http.Header, body io.ReadCloser) *http.Response {
	resp, _ := answers(status, header, body)(nil)
	return resp
}

func TestCheckLeavesGoodAnswersAlone(t *testing.T) {
	for _, status := range []int{101, 200, 204, 301, 399} {
		body := &tracked{Reader: strings.NewReader("hello")}
		resp := replied(status, nil, body)
		require.NoError(t, httplimit.Check(resp))
		assert.False(t, body.closed.Load())
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(got))
	}
}

// A success may be an error document, whatever the method. A connection of another protocol is not looked at.
func TestAnErrorWithinASuccess(t *testing.T) {
	for _, c := range []struct {
		method string
		status int
		fails  bool
	}{{"PUT", 200, true}, {"POST", 200, true}, {"GET", 200, true}, {"DELETE", 202, true}, {"POST", 101, false}} {
		body := strings.NewReader("<Error><Code>SlowDown</Code></Error>")
		err := httplimit.Check(&http.Response{
			StatusCode: c.status, Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(body), Request: &http.Request{Method: c.method},
		})
		require.Equal(t, c.fails, err != nil, "%v", c)
		require.Equal(t, c.fails, body.Len() == 0, "%v", c)
	}
	require.NoError(t, httplimit.Check(&http.Response{StatusCode: 200}), "an answer made by hand")
}

func TestCheckTellsTheStatus(t *testing.T) {
	body := &tracked{Reader: strings.NewReader("Please reduce your request rate.\n")}
	resp := replied(503, http.Header{"Retry-After": {"2"}, "X-Id": {"7"}}, body)
	resp.Status = "503 Slow Down"
	err := httplimit.Check(resp)
	assert.EqualError(t, err, "httplimit: 503 Slow Down (Retry-After 2s): Please reduce your request rate.")
	var status *httplimit.StatusError
	require.ErrorAs(t, err, &status)
	assert.Equal(t, "7", status.Header.Get("X-Id"))
	assert.Equal(t, "Please reduce your request rate.\n", string(status.Body))
	assert.True(t, body.closed.Load())
	assert.Equal(t, verdict.Verdict{Meaning: answer.Refused, Wait: 2 * time.Second}, verdict.Classify(err))

	body = &tracked{Reader: endless{}}
	require.ErrorAs(t, httplimit.Check(replied(500, nil, body)), &status)
	assert.Len(t, status.Body, 4<<10)
	assert.LessOrEqual(t, body.read.Load(), int64(64<<10))
}

// A date counts from when the answer came, and not from whenever somebody asks.
func TestARetryAfterIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header := http.Header{"Retry-After": {time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}}
		var status *httplimit.StatusError
		require.ErrorAs(t, httplimit.Check(replied(503, header, http.NoBody)), &status)
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
	err := &httplimit.StatusError{StatusCode: 503, Status: "503 Service Unavailable", Header: http.Header{"Retry-After": {"30"}}}
	assert.Equal(t, verdict.Verdict{Meaning: answer.Refused, Wait: 30 * time.Second}, verdict.Classify(err))
	assert.EqualError(t, err, "httplimit: 503 Service Unavailable (Retry-After 30s)")
}

func TestTheErrorsTextIsShortAndPrintable(t *testing.T) {
	for body, want := range map[string]string{
		"": "", "\x00\x01\x02": "", "a\xff\xfeb": ": ab", "a\x1b[31mb\x00\u202ec": ": a[31mbc",
		"<Error>\n\t<Code>SlowDown</Code>\r\n</Error>": ": <Error> <Code>SlowDown</Code> </Error>",
		strings.Repeat("ä", 100_000):                   ": " + strings.Repeat("ä", 200) + "...",
	} {
		assert.EqualError(t, httplimit.Check(replied(429, nil, text(body))), "httplimit: 429 Too Many Requests"+want)
	}
	assert.EqualError(t, httplimit.Check(replied(599, nil, nil)), "httplimit: 599")
	assert.EqualError(t, httplimit.Check(replied(404, nil, broken{io.ErrUnexpectedEOF})), "httplimit: 404 Not Found")
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

// sdkError is an error of an SDK that holds the answer in a field.
type sdkError struct{ Response *http.Response }

func (e *sdkError) Error() string { return "the SDK failed" }

// repeated is a text again and again, so many times, each after a time.
type repeated struct {
	text  string
	times int
	after time.Duration
	rest  string
}

func (e *repeated) Read(p []byte) (int, error) {
	if e.rest == "" {
		if e.times == 0 {
			return 0, io.EOF
		}
		if e.after > 0 {
			time.Sleep(e.after)
		}
		e.times, e.rest = e.times-1, e.text
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// A body of a GiB and a stream of as much pass with constant memory.
func TestALongSuccessPassesWithConstantMemory(t *testing.T) {
	for kind, text := range map[string]string{
		"application/json":  strings.Repeat(`{"name":"of a thing","error":null},`, 30_000)[:1<<20],
		"application/xml":   strings.Repeat(`<a>text</a>`, 100_000)[:1<<20],
		"text/event-stream": strings.Repeat("data: {\"a\":\"error\"}\n\n", 60_000)[:1<<20],
	} {
		body := &repeated{text: text, times: 1 << 10}
		client := limited(answers(200, http.Header{"Content-Type": {kind}}, io.NopCloser(body)), narrow(t, aimd.Config{}))
		var before, after runtime.MemStats
		resp, err := client.RoundTrip(get(t.Context(), anyURL))
		require.NoError(t, err)
		piece := make([]byte, 64<<10)
		read := int64(0)
		for {
			n, err := resp.Body.Read(piece)
			if read == 0 {
				runtime.GC()
				runtime.ReadMemStats(&before)
			}
			read += int64(n)
			if err != nil {
				require.Equal(t, io.EOF, err)
				break
			}
			if kind == "text/event-stream" && read > 4<<20 { // each event is read
				break
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.NoError(t, resp.Body.Close())
		if kind != "text/event-stream" {
			assert.EqualValues(t, 1<<30, read)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), kind)
		}
		assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(1<<20), kind)
	}
}

// An hour of events, one a second: each is there when it came, the first too.
func TestAStreamOfAnHourIsNotDelayed(t *testing.T) {
	for first, head := range map[time.Duration]time.Duration{100 * time.Millisecond: 100 * time.Millisecond, time.Second: 250 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			const event = "data: {\"a\":1}\n\n"
			body := io.MultiReader(&repeated{text: event, times: 1, after: first}, &repeated{text: event, times: 3600, after: time.Second})
			l := narrow(t, aimd.Config{})
			began := time.Now()
			resp, err := limited(answers(200, http.Header{"Content-Type": {"text/event-stream"}}, io.NopCloser(body)), l).RoundTrip(get(t.Context(), anyURL))
			require.NoError(t, err)
			require.Equal(t, head, time.Since(began))
			piece := make([]byte, 1<<10)
			for n := range 3601 {
				got, err := resp.Body.Read(piece)
				require.NoError(t, err)
				require.Equal(t, event, string(piece[:got]))
				require.Equal(t, first+time.Duration(n)*time.Second, time.Since(began))
			}
			_, err = resp.Body.Read(piece)
			require.Equal(t, io.EOF, err)
			require.NoError(t, resp.Body.Close())
			require.EqualValues(t, 1, l.Snapshot().Successes)
		})
	}
}
