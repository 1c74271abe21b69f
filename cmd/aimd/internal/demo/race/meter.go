package race

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/live"
)

// Meter counts one run while it runs. All methods are safe for any number of goroutines.
type Meter struct {
	// Operations is the number of operations of the run.
	Operations int
	// Limiter is nil for a strategy without a window.
	Limiter *aimd.Limiter

	mu sync.Mutex
	// counts are the totals since the start.
	counts Sample
	// start is the time when the run began, zero before; cpu is the processor time then.
	start time.Time
	cpu   time.Duration
	// took are the times of the operations that succeeded, from when a goroutine picked one up.
	took []time.Duration
	// reason is why the first operation failed that did, "" before.
	reason string
}

// client returns a client that is metered, and keeps a connection for each goroutine. (The default keeps 10,
// so that most goroutines would dial for each request.) The function closes the connections.
func (m *Meter) client(goroutines int) (client *http.Client, closeIdle func()) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, goroutines
	return &http.Client{Transport: transport{m, t}}, t.CloseIdleConnections
}

// transport counts every request, and whether it was accepted (2xx) or refused (429, 503). It stands below all retries.
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
	live.Flow
	At time.Duration
	// Cwnd is in attempts; 0 in a run without a limiter.
	Cwnd           float64
	Attempts, Done int
}

// Now is how the run stands.
func (m *Meter) Now() (s Sample) {
	m.count(func(c *Sample) {
		if s = *c; !m.start.IsZero() && !s.Ended {
			s.At = time.Since(m.start)
		}
	})
	if m.Limiter != nil {
		s.Cwnd = m.Limiter.Snapshot().Cwnd
	}
	return s
}

// Flow is how the run stands for a page that shows runs without a limiter.
func (m *Meter) Flow() live.Flow { return m.Now().Flow }

func (m *Meter) began() { m.count(func(*Sample) { m.start, m.cpu = time.Now(), processorTime() }) }

func (m *Meter) ended(took time.Duration, err error) {
	m.count(func(c *Sample) {
		if c.Done++; err != nil {
			m.reason = cmp.Or(m.reason, cli.Reason(err).Error())
		} else {
			m.took = append(m.took, took)
		}
	})
}

// result ends the run, and returns its measurements.
func (m *Meter) result() (r Result) {
	m.count(func(c *Sample) {
		c.At, c.Ended = time.Since(m.start), true
		r = Result{
			Operations: m.Operations, Attempts: c.Attempts, Refused: int(c.Refused), MakespanS: seconds(c.At), P99S: seconds(p99(m.took)),
			CPUS: seconds(processorTime() - m.cpu), Reason: m.reason,
		}
	})
	return r
}
