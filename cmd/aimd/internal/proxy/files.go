package proxy

import (
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/atomic"
	"golang.org/x/time/rate"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// bounded is a listener with so many connections at a time. If all are taken, those that are idle or have been silent
// for 5 s are closed, and each other one after its answer. So connections that wait outside have their turn. If no
// connection has left for --hold, those that wait are told.
type bounded struct {
	net.Listener
	places chan struct{}
	// server has the connections; short is called when all places are taken, rarely.
	server *http.Server
	short  func()
	rarely rate.Sometimes
	hold   time.Duration
	// told are the connections above the bound, which get a 429. since is the time when places became short, left the
	// time when one of their connections last went.
	told  chan struct{}
	since time.Time
	left  atomic.Time
}

// mostTold is the number of connections above the bound that are told at a time. Our choice: half of the files for all
// else.
const mostTold = 8

func newBounded(l net.Listener, most int, p *proxy, server *http.Server) *bounded {
	return &bounded{Listener: l, places: make(chan struct{}, most), told: make(chan struct{}, mostTold), server: server, hold: p.hold, rarely: rate.Sometimes{Interval: time.Minute}, short: func() {
		p.log.Warn("files are short: all connections for programs are taken, others wait", "connections", most, "RLIMIT_NOFILE", cli.Files())
	}}
}

func (b *bounded) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case b.places <- struct{}{}:
		return b.placed(c), nil
	default: // this program waits, and those behind it
	}
	b.rarely.Do(b.short)
	if b.since.IsZero() {
		b.since = time.Now()
	}
	defer b.server.SetKeepAlivesEnabled(true)
	for {
		b.server.SetKeepAlivesEnabled(false) // closes those that are idle, or have been silent for 5 s
		var tell chan struct{}
		if time.Since(later(b.since, b.left.Load())) >= b.hold {
			tell = b.told
		}
		select {
		case b.places <- struct{}{}:
			return b.placed(c), nil
		case tell <- struct{}{}:
			return &placed{Conn: c, over: true, leave: sync.OnceFunc(func() { <-b.told })}, nil
		case <-time.After(time.Second):
		}
	}
}

// placed gives the connection a place that was taken for it.
func (b *bounded) placed(c net.Conn) *placed {
	b.since = time.Time{}
	return &placed{Conn: c, leave: sync.OnceFunc(func() { b.left.Store(time.Now()); <-b.places })}
}

// placed is a connection of a bounded listener; over: it is above the bound.
type placed struct {
	net.Conn
	over  bool
	leave func()
}

func (p *placed) Close() error {
	defer p.leave()
	return p.Conn.Close()
}

// CloseWrite is for net/http, so that a program reads an answer to a request that was cut off.
func (p *placed) CloseWrite() error {
	if c, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
