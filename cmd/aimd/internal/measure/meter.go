// Package measure runs a workload once and says what it cost: time, attempts,
// refusals, how long the slowest took, and how all of it went over time.
package measure

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Meter counts one run while it runs. All methods are safe for any number
// of goroutines.
type Meter struct {
	operations int
	// window is where the run's window is read, nil if it has none.
	window func() Window

	attempts, accepted, refused atomic.Int64
	flying, done                atomic.Int64

	mu sync.Mutex
	// start is when the run began, zero before.
	start time.Time
	// ends has one entry per operation.
	ends    []end
	reasons reasons
	samples []Sample
}

// Window is the congestion window of a run at some moment.
type Window struct {
	// Cwnd and Ssthresh are in attempts; 0 in a run without a window.
	Cwnd, Ssthresh float64
}

// end is how an operation ended.
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

// NewMeter returns a meter for so many operations. window may be nil.
func NewMeter(operations int, window func() Window) *Meter {
	if window == nil {
		window = func() Window { return Window{} }
	}
	return &Meter{operations: operations, window: window, ends: make([]end, operations), reasons: reasons{}}
}

// Transport counts the requests that go through it to next: every attempt, and
// whether it was accepted (2xx) or refused (429, 503). It stands below all
// retries, so that it sees what the service sees.
func (m *Meter) Transport(next http.RoundTripper) http.RoundTripper {
	return transport{m, next}
}

type transport struct {
	meter *Meter
	next  http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.meter.attempts.Add(1)
	t.meter.flying.Add(1)
	defer t.meter.flying.Add(-1)
	res, err := t.next.RoundTrip(r)
	switch {
	case err != nil:
	case res.StatusCode/100 == 2:
		t.meter.accepted.Add(1)
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusServiceUnavailable:
		t.meter.refused.Add(1)
	}
	return res, err
}

// Sample is how a run stood at some moment. Counts are totals since its start.
type Sample struct {
	At time.Duration
	Window
	InFlight, Attempts, Accepted, Refused, Done int
}

// Now is how the run stands.
func (m *Meter) Now() Sample {
	m.mu.Lock()
	start := m.start
	m.mu.Unlock()
	s := Sample{
		Window:   m.window(),
		InFlight: int(m.flying.Load()),
		Attempts: int(m.attempts.Load()),
		Accepted: int(m.accepted.Load()),
		Refused:  int(m.refused.Load()),
		Done:     int(m.done.Load()),
	}
	if !start.IsZero() {
		s.At = time.Since(start)
	}
	return s
}

// Operations is how many operations the run has.
func (m *Meter) Operations() int { return m.operations }

func (m *Meter) began() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start = time.Now()
}

func (m *Meter) sampled() {
	s := m.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.samples = append(m.samples, s)
}

func (m *Meter) ended(i int, took time.Duration, err error) {
	m.done.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.ends[i] = end{failed, took}
		m.reasons.add(err)
		return
	}
	m.ends[i] = end{succeeded, took}
}
