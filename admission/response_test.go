package admission_test

import (
	"bufio"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// serveH2C is serve with HTTP/2 without TLS.
func serveH2C(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	s.Client().Transport = tr
	return s
}

var serverProtocols = append(protocols[:len(protocols):len(protocols)], protocol{"H2C", serveH2C})

// What a handler writes and flushes arrives while it still runs.
func TestStreaming(t *testing.T) {
	for _, p := range serverProtocols {
		t.Run(p.name, func(t *testing.T) {
			d, next := single(t), make(chan struct{})
			s := p.start(t, handler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "one\n")
				if r.URL.Path == "/controller" {
					assert.NoError(t, http.NewResponseController(w).Flush())
				} else {
					w.(http.Flusher).Flush()
				}
				<-next
				_, _ = io.WriteString(w, "two\n")
			}), d))
			for _, path := range []string{"/flusher", "/controller"} {
				resp, err := s.Client().Get(s.URL + path)
				require.NoError(t, err)
				r := bufio.NewReader(resp.Body)
				line, err := r.ReadString('\n')
				require.NoError(t, err)
				assert.Equal(t, "one\n", line)
				d.stands(1, 0)
				next <- struct{}{}
				rest, err := io.ReadAll(r)
				require.NoError(t, err)
				assert.Equal(t, "two\n", string(rest))
				resp.Body.Close()
				d.ended(window.Success)
			}
		})
	}
}

func TestAHijackerThatPanicsOrFails(t *testing.T) {
	d := single(t)
	s := serve(t, handler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if assert.NoError(t, err) {
			conn.Close()
		}
		_, _, err = w.(http.Hijacker).Hijack()
		assert.ErrorIs(t, err, http.ErrHijacked)
		panic(http.ErrAbortHandler)
	}), d))
	require.Nil(t, <-send(t.Context(), s, tag.Tags{}))
	d.ended(window.Success)
	s.Close()
	assert.Empty(t, d.released, "once")

	s = serve2(t, handler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, ok := w.(http.Hijacker)
		assert.False(t, ok, "HTTP/2 has none")
		_, _, err := http.NewResponseController(w).Hijack()
		assert.ErrorIs(t, err, http.ErrNotSupported)
	}), d))
	require.NotNil(t, <-send(t.Context(), s, tag.Tags{}))
	d.ended(window.Success)
}

// plain is a writer that can do nothing but what it must.
type plain struct{ w http.ResponseWriter }

func (p plain) Header() http.Header         { return p.w.Header() }
func (p plain) Write(b []byte) (int, error) { return p.w.Write(b) }
func (p plain) WriteHeader(status int)      { p.w.WriteHeader(status) }

type (
	flushes  struct{ plain }
	hijacks  struct{ plain }
	wrapping struct{ plain }
	pushes   struct {
		plain
		pushed *string
	}
	reads struct {
		plain
		from *io.Reader
	}
)

var errFlush = errors.New("flush")

func (flushes) FlushError() error                              { return errFlush }
func (hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error)   { return nil, nil, nil }
func (w wrapping) Unwrap() http.ResponseWriter                 { return w.w }
func (p pushes) Push(target string, _ *http.PushOptions) error { *p.pushed = target; return nil }
func (r reads) ReadFrom(src io.Reader) (int64, error)          { *r.from = src; return io.Copy(r.plain, src) }

// What the writer beneath can do, and no more.
func TestWriterCanDoWhatTheOneBeneathCan(t *testing.T) {
	rec := func() plain { return plain{httptest.NewRecorder()} }
	run := func(w http.ResponseWriter, do http.HandlerFunc) {
		d := single(t)
		handler(t, do, d).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		<-d.released
	}
	can := func(w http.ResponseWriter, flush, hijack bool) {
		t.Helper()
		run(w, func(w http.ResponseWriter, _ *http.Request) {
			_, ok := w.(http.Flusher)
			assert.Equal(t, flush, ok, "flush")
			_, ok = w.(http.Hijacker)
			assert.Equal(t, hijack, ok, "hijack")
			for _, do := range []func(http.ResponseWriter) error{
				func(w http.ResponseWriter) error { _, err := io.WriteString(w, "a"); return err },
				func(w http.ResponseWriter) error { _, err := w.Write([]byte("b")); return err },
				func(w http.ResponseWriter) error { _, err := io.Copy(w, strings.NewReader("c")); return err },
			} {
				assert.NoError(t, do(w))
			}
		})
	}
	can(rec(), false, false)
	can(flushes{rec()}, true, false)
	can(hijacks{rec()}, false, true)
	can(wrapping{plain{flushes{rec()}}}, true, false)
	can(wrapping{plain{hijacks{rec()}}}, false, true)
	can(struct {
		flushes
		http.Hijacker
	}{flushes{rec()}, hijacks{}}, true, true)

	run(wrapping{plain{flushes{rec()}}}, func(w http.ResponseWriter, _ *http.Request) {
		assert.ErrorIs(t, http.NewResponseController(w).Flush(), errFlush, "its error is told")
	})
	run(rec(), func(w http.ResponseWriter, _ *http.Request) {
		assert.ErrorIs(t, http.NewResponseController(w).Flush(), http.ErrNotSupported)
		assert.ErrorIs(t, w.(http.Pusher).Push("/style.css", nil), http.ErrNotSupported)
	})
	var pushed string
	run(pushes{rec(), &pushed}, func(w http.ResponseWriter, _ *http.Request) {
		assert.NoError(t, w.(http.Pusher).Push("/style.css", nil))
	})
	assert.Equal(t, "/style.css", pushed)
	var from io.Reader
	src := struct{ io.Reader }{strings.NewReader(strings.Repeat("text", 1000))} // longer than what begins the answer
	run(reads{rec(), &from}, func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.Copy(w, src)
		assert.NoError(t, err)
	})
	assert.Equal(t, src, from, "a file can go by sendfile")
	run(wrapping{plain{reads{rec(), &from}}}, func(w http.ResponseWriter, _ *http.Request) {
		from = nil
		_, err := io.Copy(w, src)
		assert.NoError(t, err)
		assert.Nil(t, from, "not past the writer between")
	})
}

// net/http removes the files of a form after the request, and a log looks for the pattern, in the request
// that they know.
func TestFormsAreCleanedUpAndPatternsSeen(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
	d := single(t)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /upload/{name}", func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, r.ParseMultipartForm(1))
		assert.NotEmpty(t, files(t, dir))
	})
	inner := handler(t, mux, d)
	pattern := make(chan string, 1)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r)
		pattern <- r.Pattern
	}))
	var body strings.Builder
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "file")
	require.NoError(t, err)
	_, err = io.WriteString(part, strings.Repeat("x", 11<<20)) // more than is kept in memory
	require.NoError(t, err)
	require.NoError(t, form.Close())
	resp, err := s.Client().Post(s.URL+"/upload/it", form.FormDataContentType(), strings.NewReader(body.String()))
	require.NoError(t, err)
	resp.Body.Close()
	d.ended(window.Success)
	assert.Equal(t, "POST /upload/{name}", <-pattern)
	s.Close() // waits for the request's end
	assert.Empty(t, files(t, dir))
}

func files(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	return all
}

// late is what a service sends that takes its time for each piece, by the clock.
type late struct {
	io.Reader
	clock *clock.Mock
	takes time.Duration
}

func (l late) Read(p []byte) (int, error) {
	l.clock.Add(l.takes)
	return l.Reader.Read(p)
}

// An answer that is copied from elsewhere begins with its first byte, whatever way the copy goes: a
// handler can still say 503 before that, and may be slow until then.
func TestACopyBeginsTheAnswerWhenItBegins(t *testing.T) {
	for _, p := range serverProtocols {
		t.Run(p.name, func(t *testing.T) {
			outcomes := make(chan window.Outcome, 1)
			mock := clock.NewMock()
			c, err := admission.New(admission.Fixed(1), admission.Config{Observer: func(e admission.Event) {
				if e.Outcome != 0 {
					outcomes <- e.Outcome
				}
			}})
			require.NoError(t, err)
			c.SetClock(mock)
			content, takes := strings.Repeat("0123456789", 1000), 20*time.Second
			h, err := admission.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/broken" {
					_, err := io.Copy(w, broken{io.ErrUnexpectedEOF})
					assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
					http.Error(w, "the service behind is away", http.StatusServiceUnavailable)
					return
				}
				n, err := io.Copy(w, late{strings.NewReader(content), mock, takes})
				assert.EqualValues(t, len(content), n)
				assert.NoError(t, err)
			}), c, admission.HandlerConfig{Slow: 15 * time.Second})
			require.NoError(t, err)
			s := p.start(t, h)
			get := func(path string) (int, string) {
				resp, err := s.Client().Get(s.URL + path)
				require.NoError(t, err)
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				return resp.StatusCode, string(body)
			}
			status, _ := get("/broken")
			assert.Equal(t, http.StatusServiceUnavailable, status)
			assert.Equal(t, window.Overload, <-outcomes)
			_, body := get("/")
			assert.Equal(t, content, body)
			assert.Equal(t, window.Timeout, <-outcomes)
			takes = 10 * time.Second // and then 10 s for the next piece
			_, body = get("/")
			assert.Equal(t, content, body)
			assert.Equal(t, window.Success, <-outcomes)
		})
	}
}

// protocol is a way to serve.
type protocol struct {
	name  string
	start func(*testing.T, http.Handler) *httptest.Server
}

// protocols are the ways in which the tests with real servers run.
var protocols = []protocol{{"HTTP1", serve}, {"HTTP2", serve2}}

// serve starts a server on the loopback.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// serve2 is serve with HTTP/2.
func serve2(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// broken is a body that cannot be read.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
