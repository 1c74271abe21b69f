package upload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMoment(t *testing.T) {
	m := moment{at: time.Second, done: amount{10, 1 << 20}, sent: amount{10, 1 << 20}, cwnd: 20}
	assert.Equal(t, "10 files  1.0 MiB  1.0 MiB/s  cwnd 20.0  0 refused", m.String(), "nothing looks done before all is counted")

	m.all, m.refused, m.failed = &amount{20, 2 << 20}, 3, 1
	assert.Equal(t, "[##########----------]  50%  1s left  10/20 files  1.0 MiB of 2.0 MiB  1.0 MiB/s  cwnd 20.0  3 refused  1 failed", m.String())
	m.sent = amount{}
	assert.NotContains(t, m.String(), "left", "all was skipped so far")

	m.trouble = errors.New("connection refused")
	assert.Contains(t, m.String(), "waiting: connection refused  10/20 files")
	m.trouble, m.done = nil, amount{20, 2 << 20}
	assert.Contains(t, m.String(), "[####################] 100%  20/20 files")
	assert.Contains(t, moment{all: &amount{}}.String(), "0/0 files")
}

// A file that was skipped says nothing of how long the others take.
func TestTimeLeftAfterSkippedFiles(t *testing.T) {
	m := moment{at: 10 * time.Second, done: amount{900, 9 << 30}, sent: amount{0, 10 << 20}, all: &amount{900, 10 << 30}}
	assert.Contains(t, m.String(), "17m4s left")
}

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
		r.tell(c.x)
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
			stopped, stop := context.WithCancel(t.Context())
			ended := u.patience(stopped)
			go u.report.tell(result{Path: "a", Status: stored})
			time.Sleep(time.Hour)
			stop()
			time.Sleep(wait)
			require.NoError(t, reader.Close())
			ended()
			assert.Equal(t, want, stderr.String())
		}
	})
}
