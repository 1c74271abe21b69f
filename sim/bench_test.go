package sim_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/aimd-go/aimd/sim"
)

// BenchmarkPublished plays Improve on exponential backoff: 2000 operations against 50 slots. span is the
// makespan over that of a client that knew the limit; attempts/op what the
// service had to answer; events/s how fast the simulator is. ns/op is what
// simulating costs, and says nothing about the service.
func BenchmarkPublished(b *testing.B) {
	for _, name := range []string{"backoff", "tahoe-0.5", "tahoe-0.9", "reno-0.5", "reno-0.9"} {
		b.Run(name, func(b *testing.B) { play(b, seed4(2000), name) })
	}
}

// BenchmarkLarge plays 200 000 operations against 5000 slots.
func BenchmarkLarge(b *testing.B) {
	s := seed4(200_000)
	s.Server.Slots, s.Clients.Rate = 5000, 100_000
	for _, name := range []string{"backoff", "reno-0.9"} {
		b.Run(name, func(b *testing.B) { play(b, s, name) })
	}
}

func play(b *testing.B, s sim.Scenario, name string) {
	st := named(b, name)
	b.ReportAllocs()
	var events int
	var r sim.Result
	for seed := uint64(0); b.Loop(); seed++ {
		var err error
		if r, err = sim.Run(s, st, seed); err != nil {
			b.Fatal(err)
		}
		events += r.Events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(r.Makespan.Seconds()/r.Optimum.Seconds(), "span")
	b.ReportMetric(float64(r.Attempts)/float64(r.Operations), "attempts/op")
}

// BenchmarkPending measures the memory of an operation that waits: in the queue
// of a limiter, and in a backoff.
func BenchmarkPending(b *testing.B) {
	const operations = 200_000
	// Its birth; and with a backoff also its arrival at the server, and its refusal.
	for name, events := range map[string]int{"reno-0.9": operations, "backoff": 3 * operations} {
		b.Run(name, func(b *testing.B) {
			var bytes uint64
			for b.Loop() {
				bytes = pending(b, operations, events, name)
			}
			b.ReportMetric(float64(bytes)/operations, "B/pending")
		})
	}
}

// pending is the memory in use after so many events of a run, when nearly all wait.
func pending(b *testing.B, operations, events int, name string) uint64 {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var during uint64
	// The slots are never free again, so all wait in the end.
	s := sim.Scenario{
		Server:  sim.Server{Service: time.Hour, Slots: 1},
		Clients: clients(operations, 100*time.Nanosecond),
		Trace:   sim.Trace{Off: true},
	}
	asked := 0
	s.Stop = func() bool {
		if asked++; asked == events/4096 {
			during = heap() - before
		}
		return during > 0
	}
	if _, err := sim.Run(s, named(b, name), 1); err != nil {
		b.Fatal(err)
	}
	return during
}
