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
)

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
