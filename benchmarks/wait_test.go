package main

import (
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

// BenchmarkUncontended is the cost of a request if the service refuses nothing and no request
// waits: a slot under each law, over x/time's Wait for a rate. Both take turns in short
// batches, so that other work on the machine slows both.
func BenchmarkUncontended(b *testing.B) {
	for name, law := range map[string]window.NewLaw{"probe": aimd.Probe, "reno": aimd.Reno} {
		b.Run(name, func(b *testing.B) {
			const batch = 1000
			l, err := aimd.New(aimd.WithLaw(law))
			if err != nil {
				b.Fatal(err)
			}
			r := rate.NewLimiter(1e9, 1e9)
			var slots, waits time.Duration
			for b.Loop() {
				began := time.Now()
				for range batch {
					p, err := l.Acquire(background)
					must(err)
					must(p.Done(aimd.Success))
				}
				between := time.Now()
				for range batch {
					must(r.Wait(background))
				}
				slots, waits = slots+between.Sub(began), waits+time.Since(between)
			}
			n := float64(b.N * batch)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(slots)/n, "ns/slot")
			b.ReportMetric(float64(waits)/n, "ns/Wait")
			b.ReportMetric(float64(slots)/float64(waits), "slot/Wait")
		})
	}
}
