package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

// answer is an answer for Check.
func answer(status int, header http.Header, body io.ReadCloser) *http.Response {
	resp, _ := answers(status, header, body)(nil)
	return resp
}

func TestCheckLeavesGoodAnswersAlone(t *testing.T) {
	for _, status := range []int{101, 200, 204, 301, 399} {
		body := &counting{Reader: strings.NewReader("hello")}
		resp := answer(status, nil, body)
		require.NoError(t, httplimit.Check(resp))
		assert.Zero(t, body.closes.Load())
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(got))
	}
}

func TestCheckTellsTheStatus(t *testing.T) {
	body := &counting{Reader: strings.NewReader("Please reduce your request rate.\n")}
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
	assert.EqualValues(t, 1, body.closes.Load())
	assert.Equal(t, attempt.Verdict{Outcome: window.Overload, Retry: true, RetryAfter: 2 * time.Second}, attempt.Classify(err))
}

// A date counts from the answer, and not from whenever somebody asks.
func TestARetryAfterIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header := http.Header{"Retry-After": {time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}}
		var status *httplimit.StatusError
		require.ErrorAs(t, httplimit.Check(answer(503, header, http.NoBody)), &status)
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

func TestDoTriesAgainWhatCheckSays(t *testing.T) {
	l := one(t, aimd.WithPause(0, -1))
	refusals := 3
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refusals > 0 {
			refusals--
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, "done")
	}))
	var got []byte
	fetch := func(ctx context.Context) error {
		resp, err := s.Client().Do(get(ctx, s.URL))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if err := httplimit.Check(resp); err != nil {
			return err
		}
		got, err = io.ReadAll(resp.Body)
		return err
	}
	require.NoError(t, l.Do(t.Context(), fetch))
	assert.Equal(t, "done", string(got))
	for range 3 {
		l.ended(window.Overload)
	}
	l.ended(window.Success)
}

func TestDoGivesUpOnAFinalStatus(t *testing.T) {
	l := one(t)
	err := l.Do(t.Context(), func(context.Context) error { return httplimit.Check(answer(404, nil, text("no such thing"))) })
	assert.EqualError(t, err, "failed after 1 attempt: httplimit: 404 Not Found: no such thing")
	var e *attempt.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, 1, e.Attempts)
	var status *httplimit.StatusError
	require.True(t, errors.As(err, &status))
	l.ended(window.ClientError)
}
