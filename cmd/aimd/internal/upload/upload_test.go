package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/s3test"
)

// large is the size of a file of two parts.
const large = partLeast + 1<<10

func TestOddNamesGoAndComeBack(t *testing.T) {
	w := newWorld(t)
	want := map[string]string{}
	names := []string{"plain", "empty", "with space", "plus+and&and#and%41", "ünïcödé/日本", "-dash", "..odd", "a/b/c/d", "a-b/1", "a!/1", "a/b.c", "~", "quote'", "a=b"}
	if runtime.GOOS != "windows" { // which has no such names
		names = append(names, "and?", "new\nline", "quote\"", "tab\t", "back\\slash", "star*", "colon:x", "trailing.")
	}
	for _, name := range names {
		content := strings.TrimPrefix("content of "+name, "content of empty")
		w.write(name, content)
		want["p/"+name] = content
	}
	require.NoError(t, w.run().err)
	assert.Equal(t, want, w.stored())

	w.forget()
	o := w.run()
	require.NoError(t, o.err)
	assert.EqualValues(t, len(want), o.Skipped)
	assert.Zero(t, w.count("PUT"))
	assert.Zero(t, w.count("HEAD"), "the listing is enough")
}

func TestSecondRunSendsNothingButWhatChanged(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.write(fmt.Sprintf("d/%02d", i), random(100))
	}
	content := random(large)
	w.write("large", content)
	o := w.run(func(c *Config) { c.DryRun = true })
	require.NoError(t, o.err)
	assert.EqualValues(t, 31, o.Planned)
	assert.Zero(t, w.count("PUT")+w.count("POST?uploads"), "a dry run sends only questions")

	o = w.run() // the window begins above the 16 slots of the store
	require.NoError(t, o.err)
	assert.EqualValues(t, 31, o.Stored)
	_, refused := w.Counts()
	assert.EqualValues(t, refused, o.Refused, "refusals cost no file")
	assert.EqualValues(t, 30*100+large, o.Bytes)
	assert.Equal(t, 2, w.count("PUT?partNumber"))
	assert.EqualValues(t, 1+30+2+2, o.Attempts-o.Refused, "a listing, puts, parts, begin and end")

	w.forget()
	o = w.run()
	require.NoError(t, o.err)
	assert.EqualValues(t, 31, o.Skipped)
	assert.Zero(t, w.count("PUT")+w.count("PUT?partNumber")+w.count("POST?uploads"))

	w.forget()
	w.write("d/07", random(100))
	w.write("large", strings.ToUpper(content))
	o = w.run()
	require.NoError(t, o.err)
	assert.EqualValues(t, 2, o.Stored)
	assert.Equal(t, 1, w.count("PUT"))
	assert.Equal(t, strings.ToUpper(content), w.stored()["p/large"])

	o = w.run(func(c *Config) { c.Force = true })
	require.NoError(t, o.err)
	assert.EqualValues(t, 31, o.Stored)
}

// Every part takes a slot of its own, and is tried again on its own. A file whose answer was
// lost counts as stored, and a file that fails leaves no part.
func TestRequestsThatFail(t *testing.T) {
	second := func(r *http.Request) bool { return r.URL.Query().Get("partNumber") == "2" }
	completes := func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }
	denied := func(rw http.ResponseWriter, r *http.Request) { deny(rw, r, 403, "AccessDenied") }
	for name, c := range map[string]struct {
		which    func(*http.Request) bool
		first    int // how many of these requests fail
		attempts int // --max-attempts
		answer   http.HandlerFunc
		lost     bool // the store does as asked, and then fails
		failed   string
		requests map[string]int
	}{
		"a part is refused":              {which: second, first: 4, answer: s3test.Refuse, requests: map[string]int{"PUT?partNumber": 2 + 4}},
		"a part is denied":               {which: second, first: 1, answer: denied, failed: "large"},
		"a put is refused to the end":    {which: isPut, first: 3, attempts: 3, answer: s3test.Refuse, failed: "small", requests: map[string]int{"PUT": 3, "HEAD": 1}},
		"all answers to a put are lost":  {which: isPut, first: 2, attempts: 2, answer: s3test.Refuse, lost: true},
		"a completion's answer is lost":  {which: completes, first: 1, answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, lost: true},
		"a completion is refused inside": {which: completes, first: 2, answer: func(rw http.ResponseWriter, r *http.Request) { s3test.Answer(rw, r, 200, s3test.SlowDown) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			want := map[string]string{"p/small": "content", "p/large": random(large)}
			for key, content := range want {
				w.write(strings.TrimPrefix(key, "p/"), content)
			}
			var failures atomic.Int32
			w.set(func(rw http.ResponseWriter, r *http.Request) bool {
				if !c.which(r) || failures.Inc() > int32(c.first) {
					return false
				}
				if c.lost {
					w.Next.ServeHTTP(httptest.NewRecorder(), r)
				}
				c.answer(rw, r)
				return true
			})
			o := w.run(func(x *Config) { x.MaxAttempts = c.attempts })
			if delete(want, "p/"+c.failed); c.failed == "" {
				require.NoError(t, o.err)
			} else {
				require.EqualError(t, o.err, "1 of 2 files failed")
				assert.Contains(t, o.failures[c.failed], "api error ")
			}
			assert.Equal(t, want, w.stored())
			assert.Zero(t, w.openUploads())
			for kind, n := range c.requests {
				assert.Equal(t, n, w.count(kind), kind)
			}
		})
	}
}

func TestFilesThatChangeWhileTheyAreRead(t *testing.T) {
	for _, size := range []int{100, large} { // in one request, in parts
		for name, change := range map[string]func(path string) error{
			"shrinks":  func(p string) error { return os.Truncate(p, 50) },
			"grows":    func(p string) error { return os.WriteFile(p, make([]byte, size+4), 0o644) },
			"vanishes": os.Remove,
			"touched":  func(p string) error { return os.Chtimes(p, time.Time{}, time.Unix(1, 0)) },
			"replaced": func(p string) error {
				info, err := os.Stat(p)
				return errors.Join(err, os.WriteFile(p+"2", make([]byte, size), 0o644), os.Chtimes(p+"2", time.Time{}, info.ModTime()), os.Rename(p+"2", p))
			},
		} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, size), func(t *testing.T) {
				if runtime.GOOS == "windows" && (name == "vanishes" || name == "replaced") {
					t.Skip("Windows keeps a file that is read")
				}
				w, before := newWorld(t), random(size)
				w.write("other", "x")
				path := w.write("victim", before)
				var once sync.Once
				w.set(func(_ http.ResponseWriter, r *http.Request) bool {
					if (isPut(r) || isPart(r)) && strings.HasSuffix(r.URL.Path, "/victim") {
						once.Do(func() { assert.NoError(t, change(path)) })
					}
					return false
				})
				o := w.run(func(c *Config) { c.Checksum = md5Only }) // which this store compares
				require.EqualError(t, o.err, "1 of 2 files failed")
				assert.Contains(t, o.failures["victim"], "the file changed while it was read")
				assert.EqualValues(t, 1, o.Stored)
				if has, ok := w.stored()["p/victim"]; ok {
					assert.Equal(t, 100, size, "parts are not completed")
					assert.True(t, before == has)
				}
				assert.Zero(t, w.openUploads())
			})
		}
	}
}

// If a run is stopped, each file is stored, or the next run stores it, and no part is left.
func TestInterruption(t *testing.T) {
	w := newWorld(t)
	w.files(100)
	w.write("050-large", random(large))
	ctx, interrupt := context.WithCancel(t.Context())
	w.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("partNumber") == "2" {
			interrupt()
		}
		return false
	})
	o := w.runWithin(ctx, func(c *Config) { c.MaxWindow = 4 })
	require.ErrorIs(t, o.err, context.Canceled)
	assert.True(t, o.Interrupted)
	assert.Len(t, w.stored(), int(o.Stored))
	assert.NotContains(t, w.stored(), "p/050-large")
	assert.Empty(t, o.failures, "those that were under way are not named")
	assert.Less(t, o.files(), int64(101), "nothing new is begun")
	assert.Zero(t, w.openUploads())
	assert.Contains(t, o.String(), "run it again to continue")

	w.set(nil)
	again := w.run()
	require.NoError(t, again.err)
	assert.GreaterOrEqual(t, again.Skipped, o.Stored)
	assert.Len(t, w.stored(), 101)
}

// A file that the store has read as a whole when the run is stopped counts: its answer is
// waited for.
func TestInterruptionBeforeTheAnswer(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	ctx, interrupt := context.WithCancel(t.Context())
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		if isPut(r) {
			w.Next.ServeHTTP(rw, r)
			interrupt()
		}
		return isPut(r)
	})
	o := w.runWithin(ctx)
	require.ErrorIs(t, o.err, context.Canceled)
	assert.EqualValues(t, 1, o.Stored)
	assert.Equal(t, map[string]string{"p/a": "content"}, w.stored())
}

// A limit on what is in flight is a limit on memory, whatever the number of files.
func TestFilesUnderWayAreBoundedByTheWindow(t *testing.T) {
	w := newWorld(t)
	w.files(200)
	var most atomic.Int64
	var l *aimd.Limiter
	w.set(func(http.ResponseWriter, *http.Request) bool {
		s := l.Snapshot()
		most.Store(max(most.Load(), int64(s.InFlight+s.Queued)))
		return false
	})
	o := w.run(func(c *Config) { c.MaxWindow, c.Watch = 8, func(x *aimd.Limiter) { l = x } })
	assert.EqualValues(t, 200, o.Stored)
	assert.LessOrEqual(t, most.Load(), int64(2*8+2+1), "and the listing")
	assert.Zero(t, l.Snapshot().InFlight)
}

// Bad credentials, or credentials that may read but not write, show once, not for every file.
func TestHopelessErrorsStopAll(t *testing.T) {
	for code, want := range map[string]string{"ExpiredToken": "stopped: the credentials are refused; check AWS_", "AccessDenied": "stopped: operation error S3: PutObject"} {
		w := newWorld(t)
		w.files(200)
		w.set(func(rw http.ResponseWriter, r *http.Request) bool { return isPut(r) && deny(rw, r, 400, code) })
		o := w.run(func(c *Config) { c.MaxWindow = 16 }) // not all files at once
		require.ErrorContains(t, o.err, want)
		require.ErrorContains(t, o.err, "api error "+code)
		assert.Less(t, w.count("PUT"), 100)
	}
}

// A store that went away, or that fails each request, is waited for, and the progress says why.
func TestStoreThatIsOfNoUseForAWhile(t *testing.T) {
	for want, trouble := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"waiting: EOF  ":           func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
		"waiting: InternalError  ": func(rw http.ResponseWriter, r *http.Request) bool { return deny(rw, r, 500, "InternalError") },
		"waiting: BadGateway  ":    func(rw http.ResponseWriter, _ *http.Request) bool { rw.WriteHeader(502); return true },
	} {
		w := newWorld(t)
		w.files(20)
		c := w.config()
		u := w.connected(c)
		assert.NotContains(t, u.line(), "waiting")
		var said atomic.String
		w.set(func(rw http.ResponseWriter, r *http.Request) bool {
			if line := u.line(); isPut(r) && strings.Contains(line, "waiting: ") {
				said.Store(line)
				w.set(nil)
			}
			return isPut(r) && trouble(rw, r)
		})
		u.all(t.Context())
		assert.Contains(t, said.Load(), want)
		assert.EqualValues(t, 20, u.report.now().Stored)
		assert.NotContains(t, u.line(), "waiting")
	}
}

// A reader that goes away, as head does, stops the run in order.
func TestReaderThatGoesAway(t *testing.T) {
	w := newWorld(t)
	w.files(300)
	reader, stdout := io.Pipe()
	require.NoError(t, reader.Close())
	c := w.config()
	c.Stdout, c.MaxWindow, c.DryRun = stdout, 4, true
	s, err := Run(t.Context(), c)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.ErrorContains(t, err, "stopped: standard output: ")
	assert.Less(t, s.files(), int64(150))
}

// Of thirty uploads to one store one was refused for 15 s before its first answer, and failed.
func TestARefusedFirstRequestIsNotSilence(t *testing.T) {
	silent := func(answer error) bool {
		u := &run{silence: time.AfterFunc(time.Hour, func() {})}
		u.classify(answer)
		return u.silence.Stop()
	}
	assert.False(t, silent(answered(503)))
	assert.True(t, silent(errors.New("connection refused")))
	assert.True(t, silent(answered(500)))
}

// A request of a whole file that hangs has a backup, and a part has none.
func TestBackup(t *testing.T) {
	w := newWorld(t)
	w.files(60)
	w.write("large", random(large))
	hung := make(chan struct{}, 100)
	var once sync.Once
	w.intercept = func(rw http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Query().Has("partNumber"):
			time.Sleep(100 * time.Millisecond) // many times as long as a file of a byte
		case r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/050"):
			hangs := false
			once.Do(func() { hangs = true })
			if hangs {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
				hung <- struct{}{}
				return true
			}
		}
		return false
	}
	o := w.run(func(c *Config) { c.Backup, c.PartSize = true, partLeast })
	require.NoError(t, o.err)
	require.EqualValues(t, 61, o.Stored)
	require.Equal(t, 2, w.count("PUT?partNumber"))
	require.Equal(t, "x", w.stored()["p/050"])
	select {
	case <-hung: // the end of the slower request was not waited for
	case <-time.After(patience / 2):
		t.Fatal("the slower request goes on")
	}
}
