package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// uplinkRole makes the test binary upload to itself through the loopback device of
	// its network namespace, with the law of that index in laws; see TestUplink.
	uplinkRole = "uplink"
	uplinkLaw  = "E2E_UPLINK_LAW"
	uplinkPort = 8080
)

// throttle are the commands that make the loopback device such a link, in the direction
// of the port.
var throttle = fmt.Sprintf(`ip link set lo up mtu 1500 &&
tc qdisc add dev lo root handle 1: htb &&
tc class add dev lo parent 1: classid 1:1 htb rate %.0fbit burst 64k cburst 64k quantum 60000 &&
tc qdisc add dev lo parent 1:1 handle 2: pfifo limit 10000 &&
tc filter add dev lo parent 1: protocol ip u32 match ip dport %d 0xffff flowid 1:1`, uplinkBits, uplinkPort)

// uploaded is the result of the uploads.
type uploaded struct {
	Took, Median           time.Duration
	Attempts, Most, Stored int
}

// uplink is the main function of that process.
func uplink() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var u uploaded
	n, err := strconv.Atoi(os.Getenv(uplinkLaw))
	if err == nil {
		var s *sink
		if s, err = startSink("127.0.0.1:"+strconv.Itoa(uplinkPort), 0); err == nil {
			defer s.stop()
			u, err = s.fill(ctx, laws[n])
		}
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(u)
	}
	if err != nil {
		log.Print(err)
		return 1
	}
	return 0
}

// sink is a store that counts its objects and drops them.
type sink struct {
	server  *http.Server
	address string

	mu     sync.Mutex
	stored map[string]bool
}

// startSink starts a sink that reads that many bytes a second; 0: no bound.
func startSink(address string, rate float64) (*sink, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &sink{address: l.Addr().String(), stored: map[string]bool{}}
	if rate > 0 {
		l = throttled{l, &link{rate: rate}}
	}
	s.server = &http.Server{Handler: s}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func (s *sink) stop() { _ = s.server.Close() }

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil || n != objectSize {
		http.Error(w, fmt.Sprintf("%d bytes, %v", n, err), http.StatusBadRequest)
		return
	}
	time.Sleep(thinking)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[r.URL.Path] = true
	_, _ = io.WriteString(w, r.URL.Path)
}

// fill uploads under the law.
func (s *sink) fill(ctx context.Context, w law) (u uploaded, err error) {
	l, err := w.new()
	if err != nil {
		return u, err
	}
	defer l.Close()
	d, err := (&job{address: s.address, requests: uplinkObjects, body: body(0, objectSize)}).do(ctx, l)
	s.mu.Lock() // it may still read an object that was given up
	defer s.mu.Unlock()
	u = uploaded{Took: d.took, Attempts: len(d.sends), Most: d.most, Stored: len(s.stored)}
	if err == nil {
		u.Median = percentile(d.times(), 0.5)
	}
	return u, err
}

// throttled is a listener whose connections share a link.
type throttled struct {
	net.Listener
	link *link
}

func (t throttled) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &throttledConn{c, t.link}, nil
}

type throttledConn struct {
	net.Conn
	link *link
}

func (c *throttledConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), 4<<10)])
	c.link.pass(n)
	return n, err
}

// link lets rate bytes pass in a second, first come, first served.
type link struct {
	rate float64
	mu   sync.Mutex
	free time.Time
}

func (l *link) pass(bytes int) {
	l.mu.Lock()
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(bytes) / l.rate * float64(time.Second)))
	wait := time.Until(l.free)
	l.mu.Unlock()
	time.Sleep(wait)
}
