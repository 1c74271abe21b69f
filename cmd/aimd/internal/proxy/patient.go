package proxy

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"
)

// patient bounds the time for which a program takes no byte, and closes a connection that it has switched with the
// request.
type patient struct {
	http.ResponseWriter
	control http.ResponseController
	wait    *wait
}

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// expect bounds the next write. Before it net/http reads what is left of a body that nobody has read, for the time left;
// 0: it does not.
func (p *patient) expect(left time.Duration) {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.wait.proxy.idle)) // a writer need not have deadlines
	if p.wait.uploads && left > 0 {
		_ = p.control.SetReadDeadline(time.Now().Add(left))
	}
}

func (p *patient) WriteHeader(status int) {
	if status < http.StatusOK { // the answer is still to come, and has all of --idle
		if p.expect(0); p.wait.early {
			p.ResponseWriter.WriteHeader(status)
		}
		return
	}
	for _, name := range []string{"Content-Type", "Date"} { // net/http adds a header that the service did not send
		if _, sent := p.Header()[name]; !sent {
			p.Header()[name] = nil
		}
	}
	if p.wait.proxy.stopping.Load() {
		p.Header().Set("Connection", "close") // the next request finds another proxy
	}
	p.expect(p.wait.proxy.idle / 2)
	p.ResponseWriter.WriteHeader(status)
	// Nothing that has come waits here. The FlushInterval of httputil does it with a time.AfterFunc(-1), which with
	// the race detector crashes Go 1.26 in a bubble of testing/synctest.
	_ = p.control.Flush()
	p.expect(p.wait.proxy.idle)
}

func (p *patient) Write(b []byte) (int, error) {
	p.expect(p.wait.proxy.idle)
	n, err := p.ResponseWriter.Write(b)
	if err == nil {
		err = p.control.Flush()
	}
	return n, err
}

// Hijack implements http.Hijacker.
func (p *patient) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := p.control.Hijack()
	if err == nil {
		p.wait.proxy.switched.Inc()
		context.AfterFunc(p.wait, func() { _ = conn.Close(); p.wait.proxy.switched.Dec() })
	}
	return conn, rw, err
}
