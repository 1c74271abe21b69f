package answer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/body"
)

// Whatever comes, a wait is within its bound, a text within its length, and no body makes a window wider: what is Fault
// is so by its status, or a 400 that names a thing that is not there.
func FuzzAnswer(f *testing.F) {
	f.Add(400, "gzip", []byte("\x1f\x8b"), "Retry-After", "7")
	f.Add(403, "", []byte(`{"error":{"code":"NoSuchKey","retry_after":1e300}}`), "X-Rate-Limit-Reset", "99999999999999999999")
	f.Add(200, "deflate", []byte(`<Error><Code>SlowDown</Code></Error>`), "Date", "yesterday")
	f.Add(503, "br", []byte(`[[[[[[[[[[{"a":`), "Ratelimit", `"a";r=0;t=1`)
	f.Add(500, "", []byte(`{"error":["x",{"type":"validation"}]}`), "X-Should-Retry", "true")
	f.Add(400, "", []byte(`{"message":"`+strings.Repeat("x", 8<<10-1)+"\u0130"+`","detail":"y"}`), "", "") // a letter that is cut
	f.Add(400, "", bytes.Repeat([]byte("\xff"), 64<<10), "", "")
	for _, text := range []string{
		`{"errors":true,"items":[{"index":{"status":429}}]}`, `[{"jsonrpc":"2.0","error":{"code":-32005}}]`, `{"UnprocessedItems":{"a":[{}]}}`,
		`{"data":{"rateLimit":{"remaining":1,"limit":2,"resetAt":"7"}},"extensions":{"cost":{"throttleStatus":{"maximumAvailable":1e300,"restoreRate":1e-9}}}}`,
		`{"status":"0","message":"NOTOK","result":"\ud800\u00e9"}`, `<DeleteResult><Error><Code>SlowDown</Code></Error>`,
	} {
		f.Add(200, "", []byte(text), "Content-Type", "application/json")
	}
	f.Add(200, "", []byte("event: error\ndata: {\"type\":\"error\",\ndata: \"code\":\"429\"}\n\n"), "Content-Type", "text/event-stream")
	f.Add(207, "", []byte("HTTP/1.1 429\nHTTP/1.1 "), "Content-Type", "multipart/mixed")
	f.Fuzz(func(t *testing.T, status int, encoding string, start []byte, name, value string) {
		h := map[string][]string{"Content-Encoding": {encoding}, name: {value}}
		a := answer.Read(status, h, start, noon)
		require.GreaterOrEqual(t, a.Wait, time.Duration(0))
		require.LessOrEqual(t, a.Wait, year)
		require.LessOrEqual(t, len(a.Text), 8<<10)
		require.LessOrEqual(t, len(body.Plain(h, start)), body.Most)
		for _, q := range a.Quotas {
			require.True(t, q.Valid(), "%+v", q)
		}
		if m := a.Meaning(soon); m == answer.Partly {
			require.False(t, a.Failed() || a.Begun)
			require.True(t, status > 0 && status < 400)
		}
		if a.Meaning(soon) == answer.Fault && a.Status != 400 && !a.Begun {
			require.Equal(t, answer.Fault, answer.Read(a.Status, nil, nil, noon).Meaning(soon))
		}
	})
}

// What Speaks passes over is a plain success: no error, no batch that refuses, no quota. Its names are looked for in the usual
// letters alone, without escapes: a service spells its keys in one way.
func FuzzSpeaks(f *testing.F) {
	files, err := filepath.Glob("testdata/*_200_*.http")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		_, document, _ := strings.Cut(string(text), "\n\n")
		f.Add([]byte(document), "application/json")
		f.Add([]byte("event: error\ndata: "+document+"\n\n"), "text/event-stream")
	}
	names := strings.Fields(`rror rrcode notok nprocessed failed responses" note" information" throttlestatus ratelimit`)
	f.Fuzz(func(t *testing.T, document []byte, kind string) {
		lower := strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(string(document)))
		if answer.Speaks(document) || strings.ContainsAny(lower, `\#:`) && strings.Contains(lower, "http") || strings.Contains(lower, `\`) ||
			strings.Contains(lower, "code>") || strings.HasPrefix(kind, "multipart/") || // an item of XML that says no more
			slices.ContainsFunc(names, func(name string) bool { return strings.Contains(lower, name) }) {
			return
		}
		a := answer.Read(200, map[string][]string{"Content-Type": {kind}}, document, noon)
		require.False(t, a.Failed(), "%q", a.Codes)
		require.Equal(t, answer.Success, a.Meaning(soon))
		require.Empty(t, a.Quotas)
	})
}

// hostileBodies are 64 KiB that take long to read.
var hostileBodies = map[string][]byte{
	"numbers":   []byte("[" + strings.Repeat("0,", 32<<10)),
	"lists":     bytes.Repeat([]byte("["), 64<<10),
	"objects":   []byte("[" + strings.Repeat(`{"a":1},`, 8<<10)),
	"codes":     []byte("[" + strings.Repeat(`{"code":"x"},`, 5<<10)),
	"messages":  []byte("[" + strings.Repeat(`{"message":"\u0041"},`, 3<<10)),
	"times":     []byte("[" + strings.Repeat(`{"retry_after":"x"},`, 3<<10)),
	"errors":    []byte("[" + strings.Repeat(`{"error":"x","status":1},`, 2600)),
	"items":     []byte(`{"errors":true,"items":[` + strings.Repeat(`{"index":{"status":429}},`, 2600)),
	"elements":  bytes.Repeat([]byte("<a>"), 22<<10),
	"keys":      []byte("<DeleteResult>" + strings.Repeat("<Error><Code>SlowDown</Code></Error>", 1800)),
	"a text":    bytes.Repeat([]byte("rate limi"), 7<<10),
	"entities":  []byte("<Error><message>" + strings.Repeat("&amp;</message><message>", 2700)),
	"events":    bytes.Repeat([]byte("data: x\n"), 8<<10),
	"an escape": []byte(`{"message":"` + strings.Repeat(`\u00e9`, 10<<10) + `"}`),
}

// 64 KiB of anything are read with less than 50 allocations, whatever the status.
func TestHostileBodiesAllocateLittle(t *testing.T) {
	for name, body := range hostileBodies {
		for _, status := range []int{200, 400} {
			for _, kind := range []string{"application/json", "text/event-stream", "multipart/mixed"} {
				header := map[string][]string{"Content-Type": {kind}}
				n := testing.AllocsPerRun(5, func() { answer.Read(status, header, body, noon).Meaning(soon) })
				assert.Less(t, n, 50.0, "%s, %d, %s", name, status, kind)
			}
		}
	}
}

// Reading and judging 64 KiB takes at most 1 ms.
func BenchmarkHostileBodies(b *testing.B) {
	for name, body := range hostileBodies {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				answer.Read(400, nil, body, noon).Meaning(soon)
			}
		})
	}
}
