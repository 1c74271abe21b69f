package answer_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

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
	f.Fuzz(func(t *testing.T, status int, encoding string, start []byte, name, value string) {
		h := map[string][]string{"Content-Encoding": {encoding}, name: {value}}
		a := answer.Read(status, h, start, noon)
		require.GreaterOrEqual(t, a.Wait, time.Duration(0))
		require.LessOrEqual(t, a.Wait, year)
		require.LessOrEqual(t, len(a.Text), 8<<10)
		require.LessOrEqual(t, len(body.Plain(h, start)), body.Most)
		if a.Meaning(soon) == answer.Fault && a.Status != 400 && !a.Begun {
			require.Equal(t, answer.Fault, answer.Read(a.Status, nil, nil, noon).Meaning(soon))
		}
	})
}

// hostileBodies are 64 KiB that take long to read.
var hostileBodies = map[string][]byte{
	"numbers":  []byte("[" + strings.Repeat("0,", 32<<10)),
	"lists":    bytes.Repeat([]byte("["), 64<<10),
	"objects":  []byte("[" + strings.Repeat(`{"a":1},`, 8<<10)),
	"codes":    []byte("[" + strings.Repeat(`{"code":"x"},`, 5<<10)),
	"elements": bytes.Repeat([]byte("<a>"), 22<<10),
	"a text":   bytes.Repeat([]byte("rate limi"), 7<<10),
	"entities": []byte("<a>" + strings.Repeat("&amp;", 13<<10)),
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
