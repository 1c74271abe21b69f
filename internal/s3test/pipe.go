package s3test

import (
	"context"
	"net"
	"sync"
)

// Listener is a net.Listener whose connections are pipes, for tests on virtual time: a goroutine that waits for a socket
// stops the clock of testing/synctest, and a goroutine that waits for a pipe does not. It is safe for any number of
// goroutines. Make one with Listen.
type Listener struct {
	arriving chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

// Listen returns a listener without connections.
func Listen() *Listener {
	return &Listener{arriving: make(chan net.Conn), closed: make(chan struct{})}
}

// DialContext connects to the listener, whatever the address says.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.arriving <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.arriving:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and DialContext; connections stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is the address of a pipe.
func (l *Listener) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "pipe" }
func (addr) String() string  { return "pipe.example:80" }
