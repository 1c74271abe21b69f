package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/sim"
)

// quoted is a service that answers in 100 ms and has these quotas, and clients that ask for more.
func quoted(all ...sim.Quota) sim.Scenario {
	return sim.Scenario{
		Server:  sim.Server{Service: 100 * ms, Refusal: sim.Refusal{Time: 20 * ms}, Quotas: all},
		Clients: sim.Clients{Rate: 20}, Horizon: 10 * time.Minute, WatchFrom: 2 * time.Minute, WatchFor: 8 * time.Minute,
	}
}

// deaf is the default law without the reports.
var deaf = sim.Strategy{Name: "deaf", Window: sim.Window{Law: "probe", NoQuota: true}}

// A quota bounds what is served, whoever asks.
func TestAQuotaBoundsWhatIsServed(t *testing.T) {
	for name, c := range map[string]struct {
		quotas []sim.Quota
		most   float64 // of the quotas
	}{
		"window":  {[]sim.Quota{{Limit: 60, Per: time.Minute}}, 1},
		"bucket":  {[]sim.Quota{{Limit: 60, Per: time.Minute, Bucket: true}}, 1.005},
		"slices":  {[]sim.Quota{{Limit: 600, Per: time.Minute, Slice: sec}}, 1},
		"two":     {[]sim.Quota{{Limit: 60, Per: time.Minute}, {Limit: 200, Per: time.Minute, Bucket: true}}, 1},
		"amounts": {[]sim.Quota{{Limit: 6000, Per: time.Minute, Bucket: true, Cost: 100}}, 1.1},
	} {
		r := run(t, quoted(c.quotas...), deaf)
		share := value(t, r, "quota_share").Value
		assert.LessOrEqual(t, share, c.most, name)
		assert.GreaterOrEqual(t, share, 0.9, name)
		assert.Positive(t, r.Refused, name)
	}
}

// leaving is a service of 32 slots that queues, half as many requests again as it takes, and callers who leave.
var leaving = sim.Scenario{
	Server:  sim.Server{Service: 100 * ms, Spread: sim.Spread{Kind: "uniform"}, Slots: 32, Queue: 1_000_000},
	Clients: sim.Clients{Arrivals: "poisson", Rate: 480, Operations: 10_000, Deadline: sec},
	Horizon: 40 * sec, WatchFrom: 5 * sec, WatchFor: 15 * sec,
}

// Who leaves has cost the service its work: without an order that knows deadlines, nobody is served in time.
func TestCallersWhoLeave(t *testing.T) {
	fifo := sim.Strategy{Attempts: 1, Window: sim.Window{Law: "reno", Initial: 32, Min: 32, Max: 32, NoPause: true, FIFO: true}}
	known := fifo
	known.Window.FIFO = false
	for name, c := range map[string]struct {
		sim.Strategy
		least, most float64
	}{"none": {sim.Strategy{}, 0, .05}, "semaphore": {fifo, 0, .05}, "with deadlines": {known, .8, 1}, "probe": {named(t, "probe"), .9, 1}} {
		r := run(t, leaving, c.Strategy)
		use := value(t, r, "watch_use").Value
		assert.True(t, c.least <= use && use <= c.most, "%s: %v", name, use)
		assert.Equal(t, "done", r.Ended, name)
		assert.Equal(t, 10_000, r.Done+r.GivenUp, "%s: each is done, or its caller leaves", name)
		p99 := value(t, r, "watch_p99_s")
		assert.True(t, !p99.Applies || p99.Value <= 1, "%s: %v", name, p99.Value)
	}
}

// A caller leaves wherever its operation is: in the queue, in flight, or between two attempts. A deadline that is long changes
// nothing.
func TestWhereCallersLeave(t *testing.T) {
	s := leaving
	s.Clients.Deadline = time.Hour
	with, without := run(t, s, named(t, "probe")), run(t, func() sim.Scenario { s := s; s.Clients.Deadline = 0; return s }(), named(t, "probe"))
	require.Equal(t, without.Done, with.Done)
	require.InDelta(t, without.Attempts, with.Attempts, 100)

	s = sim.Scenario{Server: sim.Server{Service: sec, Slots: 1, Refusal: sim.Refusal{Time: 10 * ms}}, Clients: sim.Clients{Operations: 20, Deadline: 1500 * ms}}
	for _, name := range []string{"backoff", "probe", "reno-0.9", "none"} {
		r := run(t, s, named(t, name))
		assert.Equal(t, "done", r.Ended, name)
		assert.Equal(t, 20, r.Done+r.GivenUp, name)
		assert.Positive(t, r.Done, name)
		assert.LessOrEqual(t, r.End, 1500*ms, "%s: all have left by then", name)
	}
}
