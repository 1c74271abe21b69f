package body_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/internal/body"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	const json, page = "application/problem+json; charset=utf-8", "text/html"
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
		"text":                            {503, "text/plain", slow{strings.NewReader("busy"), 1}, "busy", false, 1, "unexpected EOF"},
		"a page":                          {429, page, slow{strings.NewReader("busy"), time.Hour}, "", false, 0, "unexpected EOF"},
		"no body":                         {429, json, nil, "", false, 0, ""},
		"more than is looked at, at once": {429, json, io.NopCloser(strings.NewReader(strings.Repeat("busy", 1<<20))), strings.Repeat("busy", 16<<10), false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp := &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, Body: c.body}
				began := time.Now()
				start, late := body.Peek(resp.Header, &resp.Body)
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

// A success may have an error as its document: S3's CompleteMultipartUpload, after any white space.
func TestWithin(t *testing.T) {
	const xml, json = "application/xml", "application/json"
	for name, c := range map[string]struct {
		kind string
		body io.Reader
		want string
		took time.Duration
	}{
		"an error":           {xml, strings.NewReader("<Error><Code>SlowDown</Code></Error>"), "<Error><Code>SlowDown</Code></Error>", 0},
		"after a minute":     {xml, &dripping{left: 60, then: "<?xml version=\"1.0\"?>\n<Error/>"}, strings.Repeat(" ", 60) + "<?xml version=\"1.0\"?>\n<Error/>", time.Minute},
		"after 1000 spaces":  {xml, strings.NewReader(strings.Repeat(" ", 1000) + "<Error/>"), strings.Repeat(" ", 1000) + "<Error/>", 0},
		"with a mark":        {xml, strings.NewReader("\ufeff<?xml version='1.0'?><Error/>"), "\ufeff<?xml version='1.0'?><Error/>", 0},
		"a list of errors":   {xml, &dripping{then: "<Errors>", after: 1000}, "<Errors>", 250 * time.Millisecond},
		"a result":           {xml, &dripping{then: "<Result>", after: 1000}, "<Result>", 0},
		"JSON":               {json, strings.NewReader(`{ "error": {"code": 429}}`), `{ "error": {"code": 429}}`, 0},
		"JSON without":       {json, &dripping{then: `{"choices":`, after: 1000}, `{"choices":`, 0},
		"JSON that is late":  {json, &dripping{left: 60, then: `{"error":1}`}, "", 250 * time.Millisecond},
		"a stream of events": {"text/event-stream", &dripping{left: 1000}, "", 250 * time.Millisecond},
		"an event":           {"text/event-stream", &dripping{then: ": a comment\n\nevent: a\ndata: b\r\n\r\n", after: 1000}, ": a comment\n\nevent: a\ndata: b\r\n\r\n", 0},
		"half an event":      {"text/event-stream", &dripping{then: "data: b\n", after: 1000}, "data: b\n", 250 * time.Millisecond},
		"any text":           {"text/plain", &dripping{left: 1000}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(c.body)}
				began := time.Now()
				require.Equal(t, c.want, string(body.Within(resp.Header, &resp.Body, 0, true)))
				require.Equal(t, c.took, time.Since(began))
				_, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
			})
		})
	}
}

// A body that is late is its reader's, piece by piece: a stream that drips is not held back.
func TestALateBodyIsNotHeldBack(t *testing.T) {
	for name, look := range map[string]func(*http.Response){
		"a refusal": func(resp *http.Response) { body.Peek(resp.Header, &resp.Body) },
		"a success": func(resp *http.Response) { body.Within(resp.Header, &resp.Body, 0, true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
					Body: io.NopCloser(&dripping{left: 100, then: "{}"})}
				look(resp)
				began := time.Now()
				_, err := io.ReadAtLeast(resp.Body, make([]byte, 3), 3)
				require.NoError(t, err)
				require.Less(t, time.Since(began), 3*time.Second)
				rest, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.Len(t, rest, 99)
			})
		})
	}
}

// dripping is a space a second, then a text, and then an end that takes so many seconds.
type dripping struct {
	left  int
	then  string
	after int
}

func (d *dripping) Read(p []byte) (int, error) {
	switch {
	case d.left > 0:
		time.Sleep(time.Second)
		d.left--
		return copy(p, " "), nil
	case d.then != "":
		n := copy(p, d.then)
		d.then = d.then[n:]
		return n, nil
	}
	time.Sleep(time.Duration(d.after) * time.Second)
	return 0, io.EOF
}

// A body whose length is told is read whole up to 64 KiB, and of a longer one what comes first.
func TestHowMuchOfASuccessIsReadAhead(t *testing.T) {
	for name, c := range map[string]struct {
		size   int
		length int64
		want   int
	}{
		"told":      {20 << 10, 20 << 10, 20 << 10},
		"at most":   {64 << 10, 64 << 10, 64 << 10},
		"longer":    {64<<10 + 1, 64<<10 + 1, 4 << 10},
		"not told":  {20 << 10, -1, 4 << 10},
		"told less": {100, 50, 50},
	} {
		in := strings.Repeat("x", c.size)
		var reader io.ReadCloser = io.NopCloser(strings.NewReader(in))
		start := body.Within(map[string][]string{"Content-Type": {"application/json"}}, &reader, c.length, false)
		require.Len(t, start, c.want, name)
		all, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.Equal(t, in, string(all), name)
	}
}

// Each event that may be an error is told, however it comes, and every byte passes.
func TestWatch(t *testing.T) {
	const stream = "data: a\n\nevent: error\r\ndata: b\r\n\r\n: error\ndata: {\"type\":\"response.failed\"}\n\ndata: error without an end"
	long := "data: error " + strings.Repeat("x", 4<<10) + "\n\n"
	for piece := 1; piece < 20; piece++ {
		var told []string
		watched := body.Watch(io.NopCloser(&pieces{text: long + stream, size: piece}), func(event []byte) { told = append(told, string(event)) })
		all, err := io.ReadAll(watched)
		require.NoError(t, err)
		require.Equal(t, long+stream, string(all))
		require.Equal(t, []string{"event: error\r\ndata: b\r\n\n", ": error\ndata: {\"type\":\"response.failed\"}\n\n"}, told)
	}
}

// pieces is a text that comes in pieces.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(to []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(to, p.text[:min(len(p.text), p.size)])
	p.text = p.text[n:]
	return n, nil
}

// The end comes with the last bytes, as net/http has it: who has as many bytes as were told may not ask again.
func TestTheEndComesWithTheLastBytes(t *testing.T) {
	var reader io.ReadCloser = io.NopCloser(iotest.DataErrReader(strings.NewReader("{}")))
	body.Within(map[string][]string{"Content-Type": {"application/json"}}, &reader, 2, false)
	n, err := reader.Read(make([]byte, 10))
	require.Equal(t, 2, n)
	require.Equal(t, io.EOF, err)
}
