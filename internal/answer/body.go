package answer

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// MostBody is the part of a body that is looked at, in bytes.
	MostBody = 64 << 10
	// MostTime is the time that a body is waited for that is only looked at. Our choice: a new connection takes less.
	MostTime = 250 * time.Millisecond
)

// Peek returns the start of the answer's body, if that may say more than the status, and leaves the body
// readable. If the body is late, the start is what came in time, and Peek reports late.
func Peek(resp *http.Response) (start []byte, late bool) {
	if !Ambiguous(resp.StatusCode) || !strings.HasSuffix(kind(resp.Header), "json") {
		return nil, false
	}
	return Start(resp)
}

// ForPrograms reports whether the answer's type is JSON or XML: an error that a program reads, and no page.
func ForPrograms(h http.Header) bool {
	k := kind(h)
	return strings.HasSuffix(k, "json") || strings.HasSuffix(k, "xml") && k != "application/xhtml+xml"
}

func kind(h http.Header) string {
	k, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return k
}

// Start is Peek for any answer.
func Start(resp *http.Response) (start []byte, late bool) {
	if resp.Body == nil || resp.Body == http.NoBody {
		return nil, false
	}
	a := &ahead{inner: resp.Body, done: make(chan struct{})}
	resp.Body = a
	go a.fill()
	timer := time.NewTimer(MostTime)
	defer timer.Stop()
	select {
	case <-a.done:
	case <-timer.C:
		late = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.came[:len(a.came):len(a.came)], late
}

// ahead is a body whose start is read before its reader asks for it.
type ahead struct {
	inner io.ReadCloser
	// done is closed when the start has been read.
	done chan struct{}
	// taken is the part of the start that the reader has.
	taken int

	// mu guards the start, which only grows, and how reading it ended, until done is closed.
	mu   sync.Mutex
	came []byte
	err  error
}

// fill reads the start. A panic of the body is an error for its reader.
func (a *ahead) fill() {
	defer close(a.done)
	defer func() {
		if p := recover(); p != nil {
			a.err = fmt.Errorf("httplimit: a body panicked: %v", p)
		}
	}()
	_, a.err = io.CopyBuffer(a, io.LimitReader(a.inner, MostBody), make([]byte, 4<<10)) // most refusals are short
}

// Write adds to the start.
func (a *ahead) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.came = append(a.came, p...)
	return len(p), nil
}

// Read returns the start and then the rest. It waits for the whole start.
func (a *ahead) Read(p []byte) (int, error) {
	<-a.done
	if a.taken == len(a.came) {
		if a.err != nil {
			return 0, a.err
		}
		return a.inner.Read(p)
	}
	n := copy(p, a.came[a.taken:])
	a.taken += n
	return n, nil
}

func (a *ahead) Close() error { return a.inner.Close() }
