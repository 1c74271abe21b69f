package main

import (
	"testing"

	"golang.org/x/time/rate"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

// BenchmarkUncontended is what a request pays for where nothing is refused and nobody
// waits: a slot under each law, and x/time's Wait for a rate, which reads the clock too.
func BenchmarkUncontended(b *testing.B) {
	for name, law := range map[string]window.NewLaw{"probe": aimd.Probe, "reno": aimd.Reno} {
		b.Run(name, func(b *testing.B) {
			l, err := aimd.New(aimd.WithLaw(law))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				p, err := l.Acquire(background)
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Done(aimd.Success); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("rate.Wait", func(b *testing.B) {
		l := rate.NewLimiter(1e9, 1e9)
		b.ReportAllocs()
		for b.Loop() {
			if err := l.Wait(background); err != nil {
				b.Fatal(err)
			}
		}
	})
}
