package proxy

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/internal/s3test"
)

// made is a proxy with the settings of the command line, changed.
func made(t *testing.T, change func(*settings)) *proxy {
	t.Helper()
	s := defaults
	s.to = "http://service"
	if change != nil {
		change(&s)
	}
	p, err := newProxy(s, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return p
}

// admins is what --admin answers to who asks for that path and host.
func (p *proxy) admins(path, host string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = host
	p.admin().ServeHTTP(w, r)
	return w
}

// bubble is a proxy in virtual time, with the settings of the command line.
type bubble struct {
	*proxy
	programs *s3test.Listener
	server   *http.Server
}

// inBubble runs the test in a bubble. serve has each connection to the service.
func inBubble(t *testing.T, serve func(net.Conn), change func(*settings), test func(t *testing.T, b bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := made(t, change)
		b := bubble{p, s3test.Listen(), p.server(p)}
		service := s3test.Listen()
		p.base.DialContext = service.DialContext
		go func() {
			for {
				c, err := service.Accept()
				if err != nil {
					return
				}
				go serve(c)
			}
		}()
		go b.server.Serve(b.programs)
		defer func() {
			assert.NoError(t, b.server.Close())
			assert.NoError(t, service.Close())
			p.base.CloseIdleConnections()
			synctest.Wait()
		}()
		test(t, b)
	})
}

// answering is a service that answers each request by hand, and closes the connection at an error.
func answering(answer func(net.Conn, *http.Request) error) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		for in := bufio.NewReader(c); ; {
			if r, err := http.ReadRequest(in); err != nil || answer(c, r) != nil {
				return
			}
		}
	}
}

// handled is a service made of a handler.
func handled(h http.HandlerFunc) func(net.Conn) {
	return answering(func(c net.Conn, r *http.Request) error {
		w := httptest.NewRecorder()
		h(w, r)
		_, _ = io.Copy(io.Discard, r.Body)
		resp := w.Result()
		resp.ContentLength = int64(w.Body.Len())
		return resp.Write(c)
	})
}

// slotted is a service with so many slots, whose answers take that long. It refuses what is above them.
func slotted(slots int64, took time.Duration) (serve func(net.Conn), refused *atomic.Int64) {
	busy, refused := new(atomic.Int64), new(atomic.Int64)
	return handled(func(w http.ResponseWriter, _ *http.Request) {
		defer busy.Dec()
		if busy.Inc() > slots {
			refused.Inc()
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		time.Sleep(took)
	}), refused
}

// dial connects a program.
func (b bubble) dial() net.Conn {
	c, err := b.programs.DialContext(context.Background(), "", "")
	if err != nil {
		panic(err) // the proxy serves to the end of its bubble
	}
	return c
}

// asks is the status of the answer to a request of a program, once it is there.
func (b bubble) asks(t *testing.T, r string) <-chan int {
	answered := make(chan int, 1)
	go func() {
		status, _, _ := b.ask(t, r)
		answered <- status
	}()
	return answered
}

// ask is the answer to a request of a program.
func (b bubble) ask(t *testing.T, r string) (status int, header http.Header, text string) {
	t.Helper()
	c := b.dial()
	defer c.Close()
	go io.WriteString(c, r)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, nil, err.Error()
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, err.Error()
	}
	return resp.StatusCode, resp.Header, string(body)
}

// get is a request without a body, of that path.
func get(path string, header ...string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + strings.Join(append(header, ""), "\r\n") + "\r\n"
}

// settled asserts that nothing is held any more.
func (b bubble) settled(t *testing.T, what string) {
	t.Helper()
	synctest.Wait()
	flying, queued := state(b.proxy)
	assert.Zero(t, flying, "%s: in flight", what)
	assert.Zero(t, queued, "%s: queued", what)
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	assert.Equal(t, b.proxy.settings.memory, b.memory.left, "%s: memory", what)
}
