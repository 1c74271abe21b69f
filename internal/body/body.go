// Package body reads the start of an answer's body before its reader asks for it, without its compression, and leaves
// the body readable.
package body

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"strings"
	"sync"
	"time"
)

// MostTime is the time that a body is waited for that is only looked at. Our choice: a new connection takes less.
const MostTime = 250 * time.Millisecond

// Peek returns the start of the body of an answer that is no success, unless the body is a page. If the body is
// late, the start is what came in time, and Peek reports late. Here and below, nil is no body.
func Peek(header map[string][]string, body *io.ReadCloser) (start []byte, late bool) {
	if k := kind(header); strings.HasSuffix(k, "html") || k == "application/xhtml+xml" {
		return nil, false
	}
	return Start(body)
}

// Within returns the start of the body of a success that may say more than that it is one: JSON, XML, the parts of a
// batch, and the first event of a stream; nil for any other. A body whose length is told and at most Most is read
// whole, of another what comes first. Bytes are awaited as in Peek.
//
// Amazon S3 sends 200 before a long operation is done (CompleteMultipartUpload, CopyObject), and then white space for
// as long as it takes. If long is true, XML is awaited until its root comes.
func Within(header map[string][]string, body *io.ReadCloser, length int64, long bool) []byte {
	k, most := kind(header), MostTime
	more := func(start []byte) bool { return begin(start) == "" }
	xml := strings.HasSuffix(k, "xml") && k != "application/xhtml+xml"
	switch {
	case k == "text/event-stream":
		more = func(start []byte) bool { return !Event(start) }
	case length > 0 && length <= Most && (xml || strings.Contains(k, "json") || k == "multipart/mixed"):
		more = func(start []byte) bool { return len(start) < int(length) }
	case xml:
		if long {
			most = 0
		}
		more = func(start []byte) bool {
			text := begin(start)
			return len(text) < len(root) && strings.HasPrefix(root, text) || strings.HasPrefix("<?xml", text)
		}
	case !strings.Contains(k, "json") && k != "multipart/mixed":
		return nil
	}
	start, late := read(body, more, length, most)
	if xml && !late && strings.HasPrefix(begin(start), root) {
		start, _ = Start(body)
	}
	return start
}

// root is how an error of Amazon S3 begins.
const root = "<Error"

// Event reports whether the start of a stream has a whole event that is no comment (HTML, section 9.2.6).
func Event(start []byte) bool {
	field := false
	for len(start) > 0 {
		line, rest, whole := bytes.Cut(start, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if whole && len(line) == 0 && field {
			return true
		}
		field = field || len(line) > 0 && line[0] != ':'
		start = rest
	}
	return false
}

// begin is the begin of a document, as long as a root at most, without white space, the byte order mark and the
// declaration of XML.
func begin(start []byte) string {
	text := bytes.TrimLeft(start, " \t\r\n\ufeff")
	if bytes.HasPrefix(text, []byte("<?xml")) {
		_, text, _ = bytes.Cut(text, []byte("?>"))
	}
	return strings.Join(strings.Fields(string(text[:min(len(text), 64)])), "")
}

func kind(header map[string][]string) (k string) {
	if values := header["Content-Type"]; len(values) > 0 {
		k, _, _ = mime.ParseMediaType(values[0])
	}
	return k
}

// Start is Peek for any answer.
func Start(body *io.ReadCloser) (start []byte, late bool) {
	return read(body, func([]byte) bool { return true }, 0, MostTime)
}

// read reads on while more says so of what came, for at most that time; 0: until the request ends. What came later is the
// reader's. length is that of the body, 0 or less if it is not known.
func read(body *io.ReadCloser, more func(start []byte) bool, length int64, most time.Duration) (start []byte, late bool) {
	if body == nil || *body == nil {
		return nil, false
	}
	a := &ahead{inner: *body, done: make(chan struct{})}
	if length <= 0 || length > Most {
		length = 4 << 10 // most refusals are short
	}
	a.came = make([]byte, 0, length)
	*body = a
	go a.fill(more)
	var over <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-a.done:
	case <-over:
		late = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late = late
	return a.came[:len(a.came):len(a.came)], late
}

// ahead is a body whose start is read before its reader asks for it.
type ahead struct {
	inner io.ReadCloser
	// done is closed when the start has been read.
	done chan struct{}
	// taken is the part of the start that the reader has.
	taken int

	// mu guards the start, which only grows, and whether it is late, until done is closed.
	mu   sync.Mutex
	came []byte
	late bool
	err  error
}

// fill reads the start. A panic of the body is an error for its reader.
func (a *ahead) fill(more func([]byte) bool) {
	defer close(a.done)
	defer func() {
		if p := recover(); p != nil {
			a.err = fmt.Errorf("httplimit: a body panicked: %v", p)
		}
	}()
	for late := false; a.err == nil && len(a.came) < Most && !late && more(a.came); { // late: a reader waits for what comes next
		came := a.came
		if len(came) == cap(came) {
			came = append(make([]byte, 0, min(2*cap(came), Most)), came...)
		}
		var n int
		n, a.err = a.inner.Read(came[len(came):cap(came)])
		a.mu.Lock()
		a.came = came[:len(came)+n]
		late = a.late
		a.mu.Unlock()
	}
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
	if a.taken += n; a.taken == len(a.came) {
		a.came, a.taken = nil, 0
		return n, a.err // with the last bytes, as it came: the reader may not ask again
	}
	return n, nil
}

func (a *ahead) Close() error { return a.inner.Close() }
