package sim_test

import (
	"testing"

	"github.com/aimd-go/aimd/sim"
)

// BenchmarkPublished plays Improve on exponential backoff: 2000 operations against 50 slots. span is the
// makespan over that of a client that knew the limit; attempts/op what the
// service had to answer; events/s how fast the simulator is. ns/op is what
// simulating costs, and says nothing about the service.
func BenchmarkPublished(b *testing.B) {
	for _, name := range []string{"backoff", "tahoe-0.5", "tahoe-0.9", "reno-0.5", "reno-0.9"} {
		b.Run(name, func(b *testing.B) { play(b, published(2000), name) })
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
