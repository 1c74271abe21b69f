package upload

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Only what is written moves the progress: a file that is stored leaves it alone.
func TestTheProgressMakesRoomForWhatIsWritten(t *testing.T) {
	ok := result{Path: "a", Key: "p/a", Status: stored}
	special := result{Path: "b", Key: "p/b", Status: skipped, Error: "pipe"}
	for _, c := range []struct {
		name  string
		with  Config
		x     result
		moves int
	}{
		{"stored", Config{}, ok, 0}, {"skipped for a reason", Config{}, special, 1},
		{"stored, --json to a file", Config{JSON: true}, ok, 0}, {"skipped, --json to a file", Config{JSON: true}, special, 0},
	} {
		var out bytes.Buffer
		c.with.Stdout, c.with.Stderr = &out, &out
		r, moves := newReporter(c.with, nil), 0
		r.around = func(write func()) { moves++; write() }
		r.add(c.x)
		assert.Equal(t, c.moves, moves, c.name)
	}
}

// A user who has stopped a run sees that it stops, also if the reader of standard output, as a
// pager, does not read.
func TestAStoppedRunSaysSo(t *testing.T) {
	w := newWorld(t)
	w.files(3)
	ctx, interrupt := context.WithCancel(t.Context())
	reader, stdout := io.Pipe()
	stderr := &watched{text: stopping, seen: func() { assert.NoError(t, reader.Close()) }}
	w.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPut(r) {
			interrupt()
		}
		return false
	})
	c := w.config()
	c.Stdout, c.Stderr = stdout, stderr
	_, err := Run(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
}

// watched calls seen when the text is written.
type watched struct {
	text string
	seen func()
}

func (w *watched) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.seen()
	}
	return len(p), nil
}

// The line has the total and the time left once all files are counted.
func TestTheLineNamesTheTotal(t *testing.T) {
	w := newWorld(t)
	w.files(4)
	u := &run{Config: w.config(), report: newReporter(w.config(), nil)}
	require.NoError(t, u.connect(t.Context()))
	assert.Regexp(t, `^0 files  0 B  0 B/s  cwnd `, u.line())
	u.count(t.Context())
	assert.Regexp(t, `^0 of 4 files  0 B of 4 B  `, u.line())
	u.wire.sent.Add(1)
	u.unsent.Add(1)
	u.report.add(result{Status: failed})
	u.report.began = time.Now().Add(-time.Minute)
	assert.Regexp(t, `^some 1m\d+s left  1 of 4 files  2 B of 4 B  0 B/s  cwnd .*  1 failed$`, u.line())
	u.unsent.Add(2)
	assert.Regexp(t, `^some 0s left  1 of 4 files  4 B of 4 B  `, u.line())
	u.unsent.Add(100) // the files have grown
	assert.Regexp(t, `^some 0s left  `, u.line())
}

func TestShowBytes(t *testing.T) {
	for n, want := range map[int64]string{1023: "1023 B", 1024: "1.0 KiB", 1023 << 10: "1.0 MiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB"} {
		assert.Equal(t, want, showBytes(n))
	}
}
