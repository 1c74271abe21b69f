package upload

import (
	"bytes"
	"context"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/bucket"
)

// Only what is written moves the progress: a file that is uploaded leaves it alone.
func TestTheProgressMakesRoomForWhatIsWritten(t *testing.T) {
	ok := Result{Path: "a", Key: "p/a", Status: Uploaded}
	bad := Result{Path: "b", Key: "p/b", Status: Failed, Err: assert.AnError}
	for _, c := range []struct {
		name  string
		with  Config
		x     Result
		moves int
	}{
		{"uploaded", Config{}, ok, 0}, {"uploaded, -v", Config{Verbose: true}, ok, 1}, {"failed", Config{}, bad, 1},
		{"uploaded, --json to a file", Config{JSON: true}, ok, 0}, {"failed, --json to a file", Config{JSON: true}, bad, 0},
	} {
		var out bytes.Buffer
		c.with.Stdout, c.with.Stderr = &out, &out
		r, err := newReporter(c.with, nil)
		require.NoError(t, err)
		moves := 0
		r.keepClear(func(write func()) { moves++; write() })
		r.tell(c.x)
		assert.Equal(t, c.moves, moves, c.name)
	}
}

// A reader that goes away, as head does, stops the run in order.
func TestReaderThatGoesAway(t *testing.T) {
	w := newWorld(t)
	w.files(300)
	w.write("000-large", random(64<<10))
	lines := head(1)
	c := w.config()
	c.Stdout, c.MaxWindow = &lines, 4
	s, err := Run(t.Context(), c)
	require.ErrorIs(t, err, syscall.EPIPE)
	require.ErrorContains(t, err, "stopped: standard output: ")
	assert.Greater(t, s.NotBegun, int64(150))
	assert.Zero(t, w.openUploads())
}

// head takes so many lines.
type head int

func (h *head) Write(p []byte) (int, error) {
	if *h--; *h < 0 {
		return 0, syscall.EPIPE
	}
	return len(p), nil
}

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wait, want := range map[time.Duration]string{
			patienceTime / 2: "",
			patienceTime * 2: "stopped; waiting for the store to answer for 1 files; Ctrl-C again ends it at once\n",
		} {
			var stderr strings.Builder
			r, err := newReporter(Config{Stderr: &stderr}, nil)
			require.NoError(t, err)
			u := &run{report: r, bucket: new(bucket.Bucket), files: newGate(func() float64 { return 1 })}
			require.NoError(t, u.files.Enter(t.Context()))
			stopped, stop := context.WithCancel(t.Context())
			ended := u.patience(stopped)
			time.Sleep(time.Hour)
			stop()
			time.Sleep(wait)
			ended()
			assert.Equal(t, want, stderr.String())
		}
	})
}

// A reader that does not read, as a pager, holds up all but the word that it is waited for.
func TestPatienceWithAReaderThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stderr strings.Builder
		reader, writer := io.Pipe()
		r, err := newReporter(Config{JSON: true, Stdout: writer, Stderr: &stderr}, func(error) {})
		require.NoError(t, err)
		stopped, stop := context.WithCancel(t.Context())
		ended := (&run{Config: r.c, report: r}).patience(stopped)
		told := make(chan struct{})
		go func() {
			defer close(told)
			r.tell(Result{Path: "a", Status: Uploaded})
		}()
		synctest.Wait()
		stop()
		time.Sleep(2 * patienceTime)
		require.NoError(t, reader.Close())
		<-told
		ended()
		assert.Equal(t, "stopped; waiting for the reader of standard output; Ctrl-C again ends it at once\n", stderr.String())
	})
}
