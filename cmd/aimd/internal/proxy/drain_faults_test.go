package proxy

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// A rolling update: whoever spreads requests learns at once that this proxy goes, and has --drain-delay to act on it.
// Meanwhile each request is answered, also that over a connection that was idle. What waits after --drain is told.
func TestWhatIsReplacedLosesNothing(t *testing.T) {
	inBubble(t, handled(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(20 * time.Second)
		}
		if r.URL.Path == "/slower" {
			time.Sleep(2 * time.Minute)
		}
	}), func(s *settings) { s.maxWindow, s.hold, s.idle = 2, 10*time.Minute, 10*time.Minute }, func(t *testing.T, b bubble) {
		health := func() int {
			w := httptest.NewRecorder()
			b.admin().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
			return w.Code
		}
		c, err := b.programs.dial()
		require.NoError(t, err)
		defer c.Close()
		in := bufio.NewReader(c)
		again := func() *http.Response {
			go io.WriteString(c, "POST /kept HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
			resp, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			return resp
		}
		resp := again()
		assert.Equal(t, 200, resp.StatusCode)
		assert.False(t, resp.Close)
		assert.Equal(t, 200, health())
		statuses := make(chan int, 2)
		for _, path := range []string{"/slow", "/slower"} {
			go func() {
				status, _, _ := b.ask(t, get(path))
				statuses <- status
			}()
		}
		synctest.Wait()
		began, stopped := time.Now(), make(chan error, 1)
		go func() { stopped <- b.drained(t.Context(), b.server) }()
		synctest.Wait()
		assert.Equal(t, 503, health(), "at once")

		// Two are in flight, so those that come now wait.
		waiting := make(chan int, 1)
		go func() {
			status, _, _ := b.ask(t, get("/waits", "X-Api-Key: other"))
			waiting <- status
		}()
		assert.Equal(t, 200, <-waiting, "another key")
		time.Sleep(4 * time.Second)
		go func() { statuses <- again().StatusCode }()
		assert.Equal(t, 200, <-statuses, "that of 20 s")
		assert.Equal(t, 20*time.Second, time.Since(began).Round(time.Second))
		assert.Equal(t, 200, <-statuses, "that of the idle connection")
		_, err = in.ReadByte()
		assert.ErrorIs(t, err, io.EOF, "its answer was the last")
		_, err = b.programs.dial()
		assert.Error(t, err, "the port is closed after --drain-delay")

		assert.ErrorContains(t, <-stopped, "--drain 30s: is over")
		assert.Equal(t, 502, <-statuses, "in flight after --drain")
		assert.Equal(t, 35*time.Second, time.Since(began).Round(time.Second))
		time.Sleep(2 * time.Minute) // the service goes on
		b.settled(t, "all")
	})
}

// What waits when --drain is over was never sent: it gets a 429, so that its program sends it elsewhere.
func TestWhatWaitsAfterTheDrainIsTold(t *testing.T) {
	inBubble(t, handled(func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Minute) }), func(s *settings) {
		s.maxWindow, s.hold, s.idle = 1, 10*time.Minute, 10*time.Minute
	}, func(t *testing.T, b bubble) {
		go b.ask(t, get("/flies"))
		synctest.Wait()
		told := make(chan http.Header, 1)
		go func() {
			status, header, _ := b.ask(t, get("/waits"))
			assert.Equal(t, 429, status)
			told <- header
		}()
		synctest.Wait()
		assert.Error(t, b.drained(t.Context(), b.server))
		header := <-told
		assert.NotEmpty(t, header.Get("Retry-After"))
		assert.Contains(t, header.Get("Aimd-Reason"), "--drain")
		time.Sleep(2 * time.Minute)
		b.settled(t, "all")
	})
}

// overflowing is a service of HTTP/2 by hand. On its first connection it answers each request with a WINDOW_UPDATE that
// overflows the window of the stream, and on the others with an empty 200.
func overflowing(l net.Listener) {
	for first := true; ; first = false {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close() // the other end has lost it
		go func(bad bool) {
			write := func(kind, flags byte, id uint32, payload ...byte) {
				_, _ = c.Write(append(binary.BigEndian.AppendUint32([]byte{0, 0, byte(len(payload)), kind, flags}, id), payload...))
			}
			_, _ = io.ReadFull(c, make([]byte, 24))
			write(4, 0, 0)
			for head := make([]byte, 9); ; {
				if _, err := io.ReadFull(c, head); err != nil {
					return
				}
				if _, err := io.CopyN(io.Discard, c, int64(head[0])<<16|int64(head[1])<<8|int64(head[2])); err != nil {
					return
				}
				switch id := binary.BigEndian.Uint32(head[5:]); {
				case head[3] == 4 && head[4]&1 == 0:
					write(4, 1, 0)
				case head[3] == 1 && bad:
					write(8, 0, id, 0x7f, 0xff, 0xff, 0xff)
				case head[3] == 1:
					write(1, 5, id, 0x88)
				}
			}
		}(first)
	}
}

// One frame of the service locked net/http's client of HTTP/2 out of its own lock: no request of any key came back, and each
// held its slot. Real time: a goroutine that waits for a lock holds a bubble up.
func TestOneFrameOfTheServiceDoesNotStopTheProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go overflowing(l)
	url, p, logs := behind(t, http.NotFoundHandler(), func(s *settings) {
		s.to, s.hold, s.idle = "http://"+l.Addr().String(), time.Minute, 100*time.Millisecond
	})
	p.maybe2 = true
	p.base.Protocols = new(http.Protocols)
	p.base.Protocols.SetUnencryptedHTTP2(true)
	for _, key := range []string{"a", "a", "b", "c"} {
		resp, _ := answer(t, http.MethodGet, url, "", "X-Api-Key", key)
		assert.Equal(t, 200, resp.StatusCode)
	}
	until(func() bool { flying, _ := state(p); return flying == 0 })
	assert.Equal(t, 1, strings.Count(logs.String(), "does not come back"), logs.String())
	assert.NotSame(t, p.base, p.fresh.Load())
	var ended aimd.Snapshot
	for _, l := range p.limited.All() {
		s := l.Snapshot()
		ended.Successes, ended.Neutrals, ended.Timeouts = ended.Successes+s.Successes, ended.Neutrals+s.Neutrals, ended.Timeouts+s.Timeouts
	}
	assert.Equal(t, aimd.Snapshot{Successes: 4, Neutrals: 1}, ended, "an end that is unclear is neutral, and no timeout")
}
