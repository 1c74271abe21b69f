package upload

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
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
		{"stored", Config{}, ok, 0}, {"stored, -v", Config{Verbose: true}, ok, 1}, {"skipped for a reason", Config{}, special, 1},
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

// A user who has stopped a run sees soon that it waits, also if the reader of standard
// output, as a pager, does not read.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wait, want := range map[time.Duration]string{
			patienceTime / 2: "",
			patienceTime * 2: "stopped; waiting for the store, or for the reader of standard output; Ctrl-C again ends it at once\n",
		} {
			var stderr strings.Builder
			reader, writer := io.Pipe()
			c := Config{JSON: true, Stdout: writer, Stderr: &stderr}
			u := &run{Config: c, report: newReporter(c, func(error) {})}
			ended := make(chan struct{})
			go u.report.add(result{Path: "a", Status: stored})
			go u.patience(ended)
			time.Sleep(wait)
			require.NoError(t, reader.Close())
			close(ended)
			synctest.Wait()
			assert.Equal(t, want, stderr.String())
		}
	})
}

func TestPace(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	half := Summary{Stored: 10, Seconds: 1}
	for _, c := range []struct {
		s    Summary
		sent int64
		all  total
		want string
	}{
		{half, mib, total{}, "10 files  1.0 MiB  1.0 MiB/s"}, // not before all is counted
		{half, mib, total{20, 2 * mib}, "[##########----------]  50%  1s left  10/20 files  1.0 MiB of 2.0 MiB  1.0 MiB/s"},
		{Summary{Skipped: 10, Seconds: 1, left: mib}, 0, total{20, 2 * mib}, "[##########----------]  50%  10/20 files  1.0 MiB of 2.0 MiB  0 B/s"},
		{Summary{Stored: 20, Seconds: 1}, 5 * mib, total{20, 2 * mib}, "[####################] 100%  20/20 files  5.0 MiB of 2.0 MiB  5.0 MiB/s"},
		{Summary{}, 0, total{}, "0 files  0 B  0 B/s"},
		// The time that skipped files took shows nothing about the others.
		{Summary{Skipped: 900, Seconds: 10, left: 9*gib - 10*mib}, 10 * mib, total{1000, 10 * gib},
			"[##################--]  90%  17m4s left  900/1000 files  9.0 GiB of 10.0 GiB  1.0 MiB/s"},
	} {
		assert.Equal(t, c.want, c.s.pace(c.sent, c.all))
	}
	for n, want := range map[int64]string{1023: "1023 B", 1024: "1.0 KiB", 1023 << 10: "1.0 MiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB"} {
		assert.Equal(t, want, showBytes(n))
	}
}
