package proxy

import (
	"net"
	"net/http"
	"sync"
)

// bounded is a listener with so many connections at a time. If all are taken, those that are idle are closed, and each
// other one after its answer: what waits outside has its turn.
type bounded struct {
	net.Listener
	places chan struct{}
	// server has the connections; short is called when all places are taken.
	server *http.Server
	short  func()
}

func (b *bounded) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case b.places <- struct{}{}:
	default: // this program waits, and those behind it
		b.short()
		b.server.SetKeepAlivesEnabled(false)
		b.places <- struct{}{}
		b.server.SetKeepAlivesEnabled(true)
	}
	return &placed{Conn: c, leave: sync.OnceFunc(func() { <-b.places })}, nil
}

// placed is a connection of a bounded listener.
type placed struct {
	net.Conn
	leave func()
}

func (p *placed) Close() error {
	defer p.leave()
	return p.Conn.Close()
}

// CloseWrite is for net/http, so that a program reads an answer to a request that was cut off.
func (p *placed) CloseWrite() error { return p.Conn.(*net.TCPConn).CloseWrite() }
