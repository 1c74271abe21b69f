package proxy

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

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
