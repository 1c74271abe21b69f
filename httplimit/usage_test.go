package httplimit_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
)

// The answers are those of the providers' documentation, shortened.
const (
	openAI = `{"id":"chatcmpl-B9MBs8","object":"chat.completion","created":1741569952,"model":"gpt-5.4","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"The key \"usage\":{\"total_tokens\":9} is in my text."},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":0},` +
		`"completion_tokens_details":{"reasoning_tokens":0}},"service_tier":"default"}`
	anthropic = `{"id":"msg_013Zva2CMHLNnXjNJJKqJ2EF","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":` +
		`[{"type":"tool_use","id":"toolu_1","name":"f","input":{"usage":{"input_tokens":7,"total_tokens":9999}}}],` +
		`"stop_reason":"end_turn","stop_sequence":null,"usage": {"input_tokens":1095,"cache_creation_input_tokens":200,` +
		`"cache_read_input_tokens":5000,"output_tokens":503}}` + "\n"
	responses = `{"id":"resp_67cc","object":"response","status":"completed","output":[],"usage":{"input_tokens":36,` +
		`"input_tokens_details":{"cached_tokens":0},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":0},` +
		`"total_tokens":123},"user":null,"metadata":{}}`

	openAIStream = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"}}],"usage":null}` + "\n\n" +
		`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}` +
		"\n\ndata: [DONE]\n\n"
	anthropicBegins = "event: message_start\n" +
		`data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":` +
		`"claude-sonnet-4-5","usage":{"input_tokens":25,"output_tokens":1}}}` + "\n\n"
	anthropicDelta = "event: content_block_delta\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}` + "\n\n"
	anthropicEnds = "event: message_delta\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}` +
		"\n\nevent: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n"
	responsesStream = `data: {"type":"response.created","response":{"id":"resp_1","usage":null}}` + "\n\n" +
		`data: {"type":"response.completed","response":` + responses + "}\n\n"
)

// said is what the operations of the test say that they cost.
const said = 2000

// Transport.ReadUsage. What an attempt cost shows in the time to the next, at 1 token a second.
func TestReadUsage(t *testing.T) {
	long := strings.Repeat(anthropicDelta, 100)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := io.WriteString(w, openAI)
	require.NoError(t, err)
	require.NoError(t, w.Close())

	json, events := http.Header{"Content-Type": {"application/json; charset=utf-8"}}, http.Header{"Content-Type": {"text/event-stream"}}
	zipped := http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}
	of := func(usage string) string { return `{"usage":` + usage + `}` }
	for name, c := range map[string]struct {
		header http.Header
		body   string
		status int
		want   float64
	}{
		"OpenAI":                    {header: json, body: openAI, want: 29},
		"Anthropic":                 {header: json, body: anthropic, want: 1095 + 200 + 503},
		"Responses":                 {header: json, body: responses, want: 123},
		"OpenAI, streamed":          {header: events, body: openAIStream, want: 29},
		"Anthropic, streamed":       {header: events, body: anthropicBegins + long + anthropicEnds, want: 25 + 15},
		"Anthropic, a short stream": {header: events, body: anthropicBegins + anthropicEnds, want: 25 + 15},
		"Responses, streamed":       {header: events, body: responsesStream, want: 123},

		"a stream without its end":    {header: events, body: anthropicBegins + long, want: said},
		"a stream without usage":      {header: events, body: "data: {}\n\ndata: [DONE]\n\n", want: said},
		"cut off":                     {header: json, body: openAI[:len(openAI)-100], want: said},
		"gzip":                        {header: zipped, body: packed.String(), want: said},
		"encoded, by its header":      {header: zipped, body: openAI, want: said},
		"no JSON":                     {header: http.Header{"Content-Type": {"text/html"}}, body: openAI, want: said},
		"no success":                  {header: json, body: openAI, status: 404, want: said},
		"empty":                       {header: json, want: said},
		"metadata with its name":      {header: json, body: strings.Replace(responses, "{}}", `{"usage":"billing","a":"`+strings.Repeat("x", 9<<10)+`"}}`, 1), want: 123},
		"within the last 12 KiB":      {header: json, body: of(`{"total_tokens":7}`) + strings.Repeat(" ", 12<<10-len(`"usage":{"total_tokens":7}}`)), want: 7},
		"before the last 12 KiB":      {header: json, body: of(`{"total_tokens":7}`) + strings.Repeat(" ", 12<<10+1-len(`"usage":{"total_tokens":7}}`)), want: said},
		"input in the first 4096":     {header: events, body: strings.Repeat("\n", 4095-len(anthropicBegins)) + anthropicBegins + long + anthropicEnds, want: 40},
		"input after the first 4096":  {header: events, body: strings.Repeat("\n", 4097) + anthropicBegins + long + anthropicEnds, want: 15},
		"null":                        {header: json, body: of("null"), want: said},
		"zero":                        {header: json, body: of(`{"total_tokens":0}`), want: said},
		"negative":                    {header: json, body: of(`{"total_tokens":-5}`), want: said},
		"negative beside":             {header: json, body: of(`{"prompt_tokens":-5,"total_tokens":7}`), want: said},
		"a number above all numbers":  {header: json, body: of(`{"total_tokens":1e400}`), want: said},
		"a number above 32 bits":      {header: json, body: of(`{"total_tokens":4294967296}`), want: said},
		"not a whole number":          {header: json, body: of(`{"total_tokens":1.5}`), want: said},
		"words":                       {header: json, body: of(`{"total_tokens":"7"}`), want: said},
		"a list":                      {header: json, body: of(`[7]`), want: said},
		"a text that ends in the key": {header: json, body: `{"a":"usage"}`, want: said},
		"at most MaxRetryAfter more":  {header: json, body: of(`{"total_tokens":4000000000}`), want: said + 3600},
	} {
		for how, read := range map[string]func(io.Reader) io.Reader{
			"at once":       func(r io.Reader) io.Reader { return r },
			"in bytes":      iotest.OneByteReader,
			"EOF by itself": iotest.HalfReader,
		} {
			inTime(t, name+", "+how, func(t *testing.T) {
				l := attempttest.Limiter(t, aimd.Config{Law: aimd.Reno(0.5), MaxAmountRate: 1, MaxRetryAfter: time.Hour})
				tr := limited(answers(max(200, c.status), c.header, io.NopCloser(read(strings.NewReader(c.body)))), l)
				tr.ReadUsage = true
				start := time.Now()
				reads(t, tr, func(body io.ReadCloser) {
					got, err := io.ReadAll(body)
					require.NoError(t, err)
					require.Equal(t, c.body, string(got))
				})
				attempttest.Acquire(t, l)
				require.InDelta(t, c.want, time.Since(start).Seconds(), 0.1)
			})
		}
	}
}

// reads reads an answer by the transport, of an operation that costs so much as said, and closes its body.
func reads(t *testing.T, tr *httplimit.Transport, read func(io.ReadCloser)) {
	t.Helper()
	req, err := http.NewRequestWithContext(aimd.WithAmount(t.Context(), said), http.MethodPost, "http://model.example/", nil)
	require.NoError(t, err)
	resp, err := tr.RoundTrip(req)
	require.NoError(t, err)
	read(resp.Body)
	require.NoError(t, resp.Body.Close())
}

// A client of OpenAI reads no further than [DONE], a decoder of JSON no further than the last brace. A body that is
// closed before its usage, or whose reading fails, has none.
func TestUsageOfABodyThatIsNotReadToItsEnd(t *testing.T) {
	for _, c := range []struct {
		kind, body string
		bytes      int
		fails      bool
		want       float64
	}{
		{kind: "text/event-stream", body: openAIStream, bytes: len(openAIStream) - 1, want: 29},
		{kind: "text/event-stream", body: openAIStream, bytes: len(openAIStream) - 10, want: said},
		{kind: "application/json", body: openAI, bytes: len(openAI), want: 29},
		{kind: "application/json", body: openAI, bytes: 200, want: said},
		{kind: "application/json", body: openAI, bytes: len(openAI) - 10, fails: true, want: said},
		{kind: "application/json", body: openAI, want: said},
		{kind: "application/json", body: anthropic, bytes: strings.Index(anthropic, `"stop_reason"`), want: said},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := attempttest.Limiter(t, aimd.Config{Law: aimd.Reno(0.5), MaxAmountRate: 1, MaxRetryAfter: time.Hour})
			body := io.MultiReader(strings.NewReader(c.body[:c.bytes]), iotest.ErrReader(errors.New("broke off")))
			tr := limited(answers(200, http.Header{"Content-Type": {c.kind}}, io.NopCloser(body)), l)
			tr.ReadUsage = true
			start := time.Now()
			reads(t, tr, func(body io.ReadCloser) {
				_, err := io.ReadFull(body, make([]byte, c.bytes))
				require.NoError(t, err)
				if c.fails {
					_, err = body.Read(make([]byte, 1))
					require.Error(t, err)
				}
			})
			attempttest.Acquire(t, l)
			require.InDelta(t, c.want, time.Since(start).Seconds(), 0.1, "%+v", c)
		})
	}
}
