package upload

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/walk"
)

// Every part takes a slot of its own and is tried again by itself.
func TestPartRefusedSeveralTimes(t *testing.T) {
	w := newWorld(t)
	content := random(20<<10 + 7)
	w.write("large", content)
	var refusals atomic.Int32
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		return r.URL.Query().Get("partNumber") == "3" && refusals.Add(1) <= 4 && refuse(rw, r)
	})
	o := w.run(func(c *Config) { c.MaxWindow = 8 }) // the store has more slots, and refuses nothing by itself
	require.NoError(t, o.err)
	assert.Equal(t, content, w.stored()["p/large"])
	assert.Equal(t, 21+4, w.count("PUT?partNumber"))
	assert.Equal(t, 21+4+2, o.lines["large"].Attempts, "all parts, begin and end")
	assert.EqualValues(t, 4, o.Refused)
	assert.Zero(t, w.openUploads())
}

func TestPartThatFailsAbortsTheUpload(t *testing.T) {
	w := newWorld(t)
	w.write("large", random(20<<10))
	w.write("small", "x")
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		return r.URL.Query().Get("partNumber") == "5" && deny(rw, r, 403, "AccessDenied")
	})
	o := w.run()
	require.EqualError(t, o.err, "1 of 2 files failed")
	assert.Contains(t, o.lines["large"].Error, "part 5 of 20: ")
	assert.Zero(t, w.openUploads())
	assert.Equal(t, map[string]string{"p/small": "x"}, w.stored())
}

// change does something to a file when its first request arrives, before the
// store has read it.
func change(w *world, do func()) {
	var once sync.Once
	w.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if (isPut(r) || isPart(r)) && strings.HasSuffix(r.URL.Path, "/victim") {
			once.Do(do)
		}
		return false
	})
}

func TestFilesThatChangeWhileTheyAreRead(t *testing.T) {
	for _, size := range []int{100, 3 << 19} { // in one piece, in parts
		for name, c := range map[string]struct {
			do   func(path string) error
			want string
		}{
			"shrinks":  {func(p string) error { return os.Truncate(p, 50) }, "the file shrank while it was read"},
			"grows":    {func(p string) error { return appendTo(p, "more") }, "the file grew while it was read"},
			"vanishes": {os.Remove, "the file vanished while it was read"},
			"replaced": {func(p string) error { return replace(p, size) }, "the file changed while it was read: another took its place"},
			"touched":  {func(p string) error { return os.Chtimes(p, time.Time{}, time.Unix(1, 0)) }, "the file changed while it was read"},
		} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, size), func(t *testing.T) {
				w := newWorld(t)
				w.write("other", "x")
				path := w.write("victim", random(size))
				change(w, func() { assert.NoError(t, c.do(path)) })
				o := w.run(func(c *Config) { c.PartSize, c.Threshold = 64<<10, 1<<20 })
				require.EqualError(t, o.err, "1 of 2 files failed")
				said, left, _ := strings.Cut(o.lines["victim"].Error, "; ")
				assert.Equal(t, c.want, said)
				assert.Equal(t, "uploaded", o.status("other"))
				assert.Zero(t, w.openUploads())
				if size > 1<<20 {
					// Of a part whose body broke off the store may say nothing, and that is told.
					assert.Regexp(t, "^(parts of it may be left in the store .* got no answer)?$", left)
					assert.NotContains(t, w.stored(), "p/victim")
				} else {
					assert.Empty(t, left)
				}
			})
		}
	}
}

func appendTo(path, more string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(more)
	_ = f.Close()
	return err
}

func replace(path string, size int) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+"2", make([]byte, size), 0o644); err != nil {
		return err
	}
	if err := os.Chtimes(path+"2", time.Time{}, info.ModTime()); err != nil {
		return err
	}
	return os.Rename(path+"2", path)
}

// A file that is gone before it is opened: the walk saw it, the upload does not.
func TestFileThatVanishesBeforeItIsRead(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x")
	u := &run{Config: w.config()}
	r := u.file(t.Context(), walk.Entry{Path: filepath.Join(w.dir, "none"), Key: "p/none"}, there{})
	assert.Equal(t, Failed, r.Status)
	require.ErrorIs(t, r.Err, os.ErrNotExist)
}

func TestInterruption(t *testing.T) {
	w := newWorld(t)
	for i := range 100 {
		w.write(fmt.Sprintf("%03d", i), random(50))
	}
	w.write("050-large", random(64<<10))
	ctx, interrupt := context.WithCancel(t.Context())
	var puts atomic.Int32
	w.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPart(r) && puts.Add(1) == 5 {
			interrupt()
		}
		return false
	})
	began := time.Now()
	o := w.runWithin(ctx, func(c *Config) { c.MaxWindow = 4 })
	assert.Less(t, time.Since(began), 5*time.Second)
	require.ErrorIs(t, o.err, context.Canceled)
	assert.True(t, o.Interrupted)
	stored := w.stored()
	for name, x := range o.lines {
		if x.Status == "uploaded" {
			assert.Contains(t, stored, "p/"+name)
		} else {
			assert.Equal(t, "not done: the upload was stopped", x.Error)
		}
	}
	assert.Equal(t, "failed", o.status("050-large"))
	assert.Less(t, len(o.lines), 101, "nothing new is begun")
	assert.Zero(t, w.openUploads())

	w.set(nil)
	again := w.run()
	require.NoError(t, again.err)
	assert.GreaterOrEqual(t, again.Skipped, o.Uploaded)
	assert.Len(t, w.stored(), 101)
}

// A limit on what is in flight is a limit on memory, whatever the number of files.
func TestInFlightIsBoundedByTheWindow(t *testing.T) {
	w := newWorld(t)
	for i := range 200 {
		w.write(fmt.Sprintf("d%d/%04d", i%10, i), "x")
	}
	c := w.config()
	c.MaxWindow, c.JSON, c.Quiet = 8, false, true
	u := &run{Config: c}
	require.NoError(t, u.connect(t.Context()))
	r, err := newReporter(c, nil)
	require.NoError(t, err)
	u.report = r
	u.all(t.Context(), t.Context(), u.walker().Files(t.Context(), c.Roots))
	assert.EqualValues(t, 200, r.now().Uploaded)
	assert.LessOrEqual(t, u.files.peak, 2*8+2)
	assert.Zero(t, u.files.in)
	assert.Zero(t, u.limiter.Snapshot().InFlight)
}

// Refusals are the service's word, and cost no file.
func TestUploadToAStoreThatRefuses(t *testing.T) {
	w := newWorld(t)
	for i := range 200 {
		w.write(fmt.Sprintf("%03d", i), random(64))
	}
	o := w.run() // the window begins above the 16 slots of the store
	require.NoError(t, o.err)
	assert.EqualValues(t, 200, o.Uploaded)
	assert.Len(t, w.stored(), 200)
	_, refused := w.Counts()
	assert.EqualValues(t, refused, o.Refused)
}

// Credentials that are no good, or may read but not write, are told once, not for every
// file.
func TestHopelessErrorsStopAll(t *testing.T) {
	for _, code := range []string{"ExpiredToken", "AccessDenied"} {
		w := newWorld(t)
		w.files(200)
		w.set(func(rw http.ResponseWriter, r *http.Request) bool { return isPut(r) && deny(rw, r, 403, code) })
		o := w.run()
		require.ErrorContains(t, o.err, "stopped: ")
		require.ErrorContains(t, o.err, code)
		assert.Less(t, w.count("PUT"), 100)
	}
}

// A store that went away is waited for, and the user is told.
func TestStoreThatGoesAwayAndComesBack(t *testing.T) {
	w := newWorld(t)
	w.files(20)
	c := w.config()
	u := &run{Config: c}
	require.NoError(t, u.connect(t.Context()))
	require.NoError(t, u.bucket.Wire.Trouble(0))
	var err error
	u.report, err = newReporter(c, nil)
	require.NoError(t, err)
	var away atomic.Bool
	away.Store(true)
	w.set(func(http.ResponseWriter, *http.Request) bool {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	done := make(chan struct{})
	go func() {
		u.all(t.Context(), t.Context(), u.walker().Files(t.Context(), c.Roots))
		close(done)
	}()
	require.Eventually(t, func() bool { return u.bucket.Wire.Trouble(0) != nil }, 10*time.Second, time.Millisecond)
	away.Store(false)
	<-done
	assert.EqualValues(t, 20, u.report.now().Uploaded)
	assert.NoError(t, u.bucket.Wire.Trouble(0))
}
