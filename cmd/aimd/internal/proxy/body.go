package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/aimd-go/aimd/queue"
)

// keep reads the body, if it is not too long, so that the request can be sent again. A program that sends a
// body slowly has no slot meanwhile.
func (w *wait) keep(to http.ResponseWriter, r *http.Request) (err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	most, k := w.proxy.buffer, &w.kept
	r.Body, w.uploads = &slow{r.Body, *http.NewResponseController(to), w.proxy.idle}, true
	if r.ContentLength > most || r.Header.Get("Upgrade") != "" {
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

// kept is a body in parts, so that it costs what has come of it.
type kept struct {
	parts       [][]byte
	size, taken int64
}

func (k *kept) reader() io.Reader {
	if len(k.parts) == 1 {
		return bytes.NewReader(k.parts[0])
	}
	all := make([]io.Reader, len(k.parts))
	for i, part := range k.parts {
		all[i] = bytes.NewReader(part)
	}
	return io.MultiReader(all...)
}

// read reads another part. What is announced counts for the last part only, and for one of 64 KiB at most.
func (k *kept) read(ctx context.Context, m *memory, r *http.Request, most int64) error {
	n := min(max(k.size, 4<<10), 256<<10, most-k.size+1)
	if rest := r.ContentLength - k.size; rest > 0 && rest <= max(n, 64<<10) {
		n = rest
	} else if rest == 0 {
		n = 1 // there is none but the end
	}
	if err := m.take(ctx, k, n); err != nil {
		return err
	}
	part, at, err := make([]byte, n), 0, error(nil)
	for at < len(part) && err == nil {
		var more int
		more, err = r.Body.Read(part[at:])
		at += more
	}
	if at > 0 {
		k.parts = append(k.parts, part[:at])
		k.size += int64(at)
	}
	return err
}

// memory bounds the bytes of all bodies that are kept. A body that finds no room waits to be read. One body at a time
// may go above the bound: otherwise bodies that have come by half could wait for each other for ever.
type memory struct {
	mu    sync.Mutex
	left  int64
	above *kept
	line  queue.Queue[*claim]
}

// claim is one that waits for room.
type claim struct {
	item queue.Item[*claim]
	of   *kept
	n    int64
	met  chan struct{}
}

func (m *memory) take(ctx context.Context, k *kept, n int64) error {
	m.mu.Lock()
	if m.above == k || m.line.Len() == 0 && m.left >= n {
		m.give(k, n)
		m.mu.Unlock()
		return nil
	}
	c := &claim{of: k, n: n, met: make(chan struct{})}
	c.item.Value = c
	m.line.Push(&c.item)
	m.serve()
	m.mu.Unlock()
	select {
	case <-c.met:
		return nil
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		m.line.Remove(&c.item)
		m.serve()
		return context.Cause(ctx)
	}
}

func (m *memory) give(k *kept, n int64) {
	m.left -= n
	k.taken += n
}

// serve gives room to those that wait, in their order. Call it with mu.
func (m *memory) serve() {
	for i, _ := m.line.Ends(); i != nil; i, _ = m.line.Ends() {
		c := i.Value
		if m.left < c.n {
			if m.above != nil {
				return
			}
			m.above = c.of
		}
		m.give(c.of, c.n)
		m.line.Remove(i)
		close(c.met)
	}
}

// free forgets the body. What is still being sent of it goes on.
func (m *memory) free(k *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left += k.taken
	k.taken, k.parts = 0, nil
	if m.above == k {
		m.above = nil
	}
	m.serve()
}

// slow bounds the time for which a program sends no byte.
type slow struct {
	io.ReadCloser
	control http.ResponseController
	idle    time.Duration
}

func (s *slow) Read(b []byte) (int, error) {
	_ = s.control.SetReadDeadline(time.Now().Add(s.idle))
	n, err := s.ReadCloser.Read(b)
	if err == io.EOF { // after another error net/http would wait for the rest
		_ = s.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// sending bounds the time for which a service takes no byte of a body.
type sending struct {
	io.ReadCloser
	timer *time.Timer
	idle  time.Duration
}

func (s *sending) Read(b []byte) (int, error) {
	s.timer.Stop()
	n, err := s.ReadCloser.Read(b)
	if err == nil {
		s.timer.Reset(s.idle)
	}
	return n, err
}

// send returns the request with a body whose attempt ends if the service takes no byte for so long.
func send(r *http.Request, idle time.Duration) (*http.Request, *time.Timer) {
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(idle, func() { cancel(errSilent) })
	sent := r.WithContext(ctx)
	sent.Body = &sending{r.Body, timer, idle}
	if get := r.GetBody; get != nil {
		sent.GetBody = func() (io.ReadCloser, error) {
			body, err := get()
			return &sending{body, timer, idle}, err
		}
	}
	return sent, timer
}
