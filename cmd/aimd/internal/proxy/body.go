package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/atomic"
)

// keep reads the body, if it is not too long, so that the request can be sent again. A program that sends a
// body slowly has no slot meanwhile. In shadow no request is sent again.
func (w *wait) keep(to http.ResponseWriter, r *http.Request) (err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	most, k := w.proxy.buffer, &w.kept
	r.Body, w.uploads = &slow{ReadCloser: r.Body, control: *http.NewResponseController(to), idle: w.proxy.idle, told: r.ContentLength > 0}, true
	if r.ContentLength > most || r.Header.Get("Upgrade") != "" || w.proxy.shadow {
		return nil
	}
	for err == nil && k.size <= most {
		err = k.read(w, w.proxy.memory, r, most)
	}
	switch {
	case err == nil: // it is longer
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(k.reader(), r.Body), r.Body}
		return nil
	case err != io.EOF:
		return fmt.Errorf("the body of the request: %w", err)
	}
	w.proxy.memory.trim(k)
	r.ContentLength, r.TransferEncoding = k.size, nil
	for _, name := range []string{"Content-Length", "Trailer", "Transfer-Encoding"} {
		r.Trailer.Del(name)
	}
	if len(r.Trailer) > 0 {
		r.ContentLength = -1 // chunks have trailers
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(k.reader()), nil }
	r.Body, err = r.GetBody()
	return err
}

// kept is a body in parts, so that it costs only the bytes that have come.
type kept struct {
	parts       [][]byte
	size, taken int64
	// whole: there is room for all that will come, or it goes above.
	whole bool
	// unread counts the readers that are not at their end. A part is used again only if there are none.
	unread atomic.Int32
}

// reading reads a kept body once.
type reading struct {
	of   *kept
	rest [][]byte
}

func (k *kept) reader() io.Reader {
	if len(k.parts) > 0 {
		k.unread.Inc()
	}
	return &reading{k, slices.Clone(k.parts)}
}

func (r *reading) Read(b []byte) (n int, _ error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n = copy(b, r.rest[0])
	if r.rest[0] = r.rest[0][n:]; len(r.rest[0]) == 0 {
		if r.rest = r.rest[1:]; len(r.rest) == 0 {
			r.of.unread.Dec()
		}
	}
	return n, nil
}

// read reads on, as far as there is room. An announced length counts for the last such step only, and for one of 64 KiB at most.
func (k *kept) read(w *wait, m *memory, r *http.Request, most int64) error {
	n, all := min(max(k.size, 4<<10), 256<<10, most-k.size+1), int64(0)
	if rest := r.ContentLength - k.size; rest >= 0 {
		if all = max(rest, 1); all <= max(n, 64<<10) { // without a rest there is none but the end
			n = all
		}
	}
	began := time.Now()
	if err := m.take(w, k, n, all, w.proxy.hold); err != nil {
		return err
	}
	r.Body.(*slow).waited(time.Since(began))
	err, end := error(nil), k.size+n
	for err == nil && k.size < end {
		part, at := buffers.part(end-k.size), 0
		for at < len(part) && err == nil {
			var more int
			more, err = r.Body.Read(part[at:])
			at += more
		}
		if at > 0 {
			k.parts = append(k.parts, part[:at])
			k.size += int64(at)
		}
	}
	return err
}

// leastPart is the part that a body of a told length brings each --idle. A body that drips would hold its slot, or
// memory, for as long as its program likes. Our choice: 200 bytes a second by the default of --idle.
const leastPart = 64 << 10

// slow bounds the time for which a program sends no byte, and of a body whose length is told that for leastPart.
type slow struct {
	io.ReadCloser
	control http.ResponseController
	idle    time.Duration
	// told: the length is told. until is the deadline, and come what has come since it was set.
	told  bool
	until time.Time
	come  int
}

// waited notes that nobody has read for so long.
func (s *slow) waited(d time.Duration) {
	if !s.until.IsZero() {
		s.until = s.until.Add(d)
	}
}

func (s *slow) Read(b []byte) (int, error) {
	if !s.told || s.until.IsZero() || s.come >= leastPart {
		s.until, s.come = time.Now().Add(s.idle), 0
	}
	_ = s.control.SetReadDeadline(s.until)
	n, err := s.ReadCloser.Read(b)
	s.come += n
	if err == io.EOF { // after another error net/http would wait for the rest
		_ = s.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// sending bounds the time for which a service takes no byte of a body, and that from the body's end to the answer's head:
// net/http reads a body ahead of what HTTP/2 has room for.
type sending struct {
	io.ReadCloser
	*sent
}

// sent is the progress of a request.
type sent struct {
	mu    sync.Mutex
	timer *time.Timer
	idle  time.Duration
	// over: the body has ended; heard: the answer has begun.
	over, heard bool
}

func (s *sending) Read(b []byte) (int, error) {
	s.timer.Stop()
	n, err := s.ReadCloser.Read(b)
	s.next(func() { s.over = err != nil })
	return n, err
}

func (s *sent) next(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if change(); s.over && s.heard {
		s.timer.Stop()
	} else {
		s.timer.Reset(s.idle)
	}
}

// send returns the request with a body whose attempt ends if the service takes no byte for so long.
func send(r *http.Request, idle time.Duration) (*http.Request, *sent) {
	ctx, cancel := context.WithCancelCause(r.Context())
	s := &sent{timer: time.AfterFunc(idle, func() { cancel(errSilent) }), idle: idle}
	r = r.WithContext(ctx)
	if r.Body == nil {
		s.over = true
		return r, s
	}
	r.Body = &sending{r.Body, s}
	if get := r.GetBody; get != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			body, err := get()
			return &sending{body, s}, err
		}
	}
	return r, s
}
