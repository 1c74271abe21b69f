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
