package proxy

import (
	"math"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/queue"
)

// pulse is the time when the requests of a limiter last succeeded, and the requests in flight.
type pulse struct {
	// last comes first to be aligned on 32-bit machines.
	last atomic.Duration
	// limiter is nil for a request whose limiter has gone, or is not made yet.
	limiter *aimd.Limiter
	made    time.Time

	mu sync.Mutex
	// flights are the waits with an attempt in flight, in the order of their sends.
	flights queue.Queue[*wait]
	// failing is the time of the first failure since a success; said: the log has it.
	failing time.Time
	said    bool
}

// silent is the time without a success after which the log says why, whatever it is. Our choice, as aimd upload's.
const silent = 5 * time.Second

// fly notes that an attempt of the wait is sent, land that it has ended.
func (p *pulse) fly(w *wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.flight.Value = w
	p.flights.Push(&w.flight)
}

func (p *pulse) land(w *wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flights.Remove(&w.flight)
}

// works reports whether an attempt has been in flight for so long: the service may be at work on it.
func (p *pulse) works(d time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, _ := p.flights.Ends()
	return first != nil && time.Since(first.Value.flown) >= d
}

func (p *pulse) beat() { p.last.Store(time.Since(p.made)) }

func (p *pulse) at() (last time.Time) {
	if p.last.Load() > 0 {
		last = p.made.Add(p.last.Load())
	}
	return last
}

// seconds is the time after which there is room for another request, as far as the limiter knows, and at least what the
// service asked for: 1 s to a day. Waiting requests go before.
func (p *pulse) seconds(asked time.Duration) int {
	var room time.Duration
	if p.limiter != nil {
		s := p.limiter.Snapshot()
		until := s.PausedUntil
		for _, q := range s.Quotas {
			until = later(until, q.UsedUpUntil)
		}
		if room = max(0, time.Until(until)); s.Successes > 0 { // each at the present pace, or at the pace of the past
			each := min(max(s.Gap, time.Duration(float64(s.Trip)/max(1, s.Cwnd))), time.Since(p.made)/time.Duration(s.Successes))
			room += each * time.Duration(s.Queued)
		}
	}
	return int(min(max(1, math.Ceil(max(room, asked).Seconds())), 24*3600))
}

// fails notes a failure, and reports whether none has succeeded since one so long ago, once until one succeeds.
func (p *pulse) fails() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing.IsZero() || p.at().After(p.failing) {
		p.failing, p.said = time.Now(), false
	}
	first := !p.said && time.Since(p.failing) >= silent
	p.said = p.said || first
	return first
}
