package e2e

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// faulty is a proxy in front of a gateway that mistreats requests. It keeps the host, which the
// signature covers, and adds no header.
type faulty struct {
	address string
	forward http.Handler
	// fault does the request in the gateway's place if it returns true.
	fault func(f *faulty, w http.ResponseWriter, r *http.Request) bool

	mu sync.Mutex
	// inFlight counts requests to the end of their answer's body, most is the most at a time.
	inFlight, most int
	// requests counts all, faults those that had a fault.
	requests, faults int
}

func startFaulty(t *testing.T, g *gateway, fault func(f *faulty, w http.ResponseWriter, r *http.Request) bool) *faulty {
	t.Helper()
	tr := transport(0)
	tr.DisableCompression = true
	f := &faulty{fault: fault, forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: g.address})
			r.Out.Host = r.In.Host
		},
		Transport: tr,
		ErrorLog:  log.New(io.Discard, "", 0),
	}}
	s := httptest.NewUnstartedServer(f)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	f.address = strings.TrimPrefix(s.URL, "http://")
	t.Cleanup(func() {
		s.Close()
		tr.CloseIdleConnections()
	})
	return f
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests++
	f.inFlight++
	f.most = max(f.most, f.inFlight)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.inFlight--
	}()
	if !f.fault(f, w, r) {
		f.forward.ServeHTTP(w, r)
	}
}

// every reports true for the requests from, from+n, from+2n... and counts them.
func (f *faulty) every(n, from int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.requests%n != from%n {
		return false
	}
	f.faults++
	return true
}

// counts returns how many requests came, how many had a fault, and the most at a time.
func (f *faulty) counts() (requests, faults, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests, f.faults, f.most
}

// reset cuts the connection off without an answer.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	// With 0 the kernel sends RST at once, also with data to send or to read.
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
