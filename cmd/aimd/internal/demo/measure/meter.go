// Package measure runs a workload once and measures its cost: time, attempts, refusals, the
// slowest operations, and the course over time.
package measure

import (
	"net/http"
	"sync"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/viewer"
)

// Meter counts one run while it runs. All methods are safe for any number
// of goroutines.
type Meter struct {
	operations int
	// limiter is nil for a strategy without a window.
	limiter *aimd.Limiter

	mu sync.Mutex
	// counts has what is counted as it happens.
	counts Sample
	// start and stop are when the run began and ended, zero before.
	start, stop time.Time
	// ends has one entry per operation.
	ends    []end
	reasons reasons
	// samples are every spacing-th that were taken; seen counts those.
	samples       []Sample
	spacing, seen int
}

type end struct {
	state state
	// took is from the moment when a goroutine picked it up.
	took time.Duration
}

type state uint8

const (
	// pending: not begun, or not ended when the run was stopped.
	pending state = iota
	succeeded
	failed
)

// NewMeter returns a meter for that number of operations. limiter may be nil.
func NewMeter(operations int, limiter *aimd.Limiter) *Meter {
	return &Meter{operations: operations, limiter: limiter, ends: make([]end, operations), reasons: reasons{}, spacing: 1}
}

// Transport counts the requests that go through it to next: every attempt, and
// whether it was accepted (2xx) or refused (429, 503). It stands below all
// retries, so that it sees what the service sees.
func (m *Meter) Transport(next http.RoundTripper) http.RoundTripper {
	return transport{m, next}
}

// Client returns a client that is metered, and keeps a connection for each goroutine. (The
// default keeps 10, so that most goroutines would dial for each request.) The function
// closes the connections.
func (m *Meter) Client(goroutines int) (client *http.Client, closeIdle func()) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, goroutines
	return &http.Client{Transport: m.Transport(t)}, t.CloseIdleConnections
}

type transport struct {
	meter *Meter
	next  http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.meter.count(func(c *Sample) { c.Attempts, c.InFlight = c.Attempts+1, c.InFlight+1 })
	res, err := t.next.RoundTrip(r)
	t.meter.count(func(c *Sample) {
		c.InFlight--
		switch {
		case err != nil:
		case res.StatusCode/100 == 2:
			c.Accepted++
		case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusServiceUnavailable:
			c.Refused++
		}
	})
	return res, err
}

func (m *Meter) count(change func(*Sample)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.counts)
}

// Sample is how a run stood at some moment. Counts are totals since its start.
type Sample struct {
	At time.Duration
	// Cwnd and Ssthresh are in attempts; 0 in a run without a limiter.
	Cwnd, Ssthresh                              float64
	InFlight, Attempts, Accepted, Refused, Done int
}

// Now is how the run stands.
func (m *Meter) Now() Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sample()
}

// Flow is how the run stands for a page that shows runs without a limiter.
func (m *Meter) Flow() viewer.Flow {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts
	return viewer.Flow{InFlight: c.InFlight, Accepted: uint64(c.Accepted), Refused: uint64(c.Refused), Ended: !m.stop.IsZero()}
}

// sample is how the run stands. Call it with mu.
func (m *Meter) sample() Sample {
	s := m.counts
	if m.limiter != nil {
		w := m.limiter.State()
		s.Cwnd, s.Ssthresh = w.Cwnd, w.Ssthresh
	}
	switch {
	case m.start.IsZero():
	case m.stop.IsZero():
		s.At = time.Since(m.start)
	default:
		s.At = m.stop.Sub(m.start)
	}
	return s
}

// Limiter returns the limiter of the run, or nil.
func (m *Meter) Limiter() *aimd.Limiter { return m.limiter }

// Operations is how many operations the run has.
func (m *Meter) Operations() int { return m.operations }

func (m *Meter) began() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start = time.Now()
}

func (m *Meter) stopped() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stop = time.Now()
	m.samples = append(m.samples, m.sample())
}

// sampled takes a sample. Of a long run it keeps every second, fourth... one,
// so that they do not become too many.
func (m *Meter) sampled() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen++; (m.seen-1)%m.spacing != 0 {
		return
	}
	m.samples = append(m.samples, m.sample())
	if len(m.samples) < maxSamples {
		return
	}
	for i := range maxSamples / 2 {
		m.samples[i] = m.samples[2*i]
	}
	m.samples = m.samples[:maxSamples/2]
	m.spacing *= 2
}

func (m *Meter) ended(i int, took time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Done++
	if err != nil {
		m.ends[i] = end{failed, took}
		m.reasons.add(err)
		return
	}
	m.ends[i] = end{succeeded, took}
}
