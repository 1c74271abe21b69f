package aimd_test

import (
	"context"
	"sync"
	"testing"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// BenchmarkSeed4 runs the simulation of seed 4, on virtual time: 2000
// operations against 50 slots. times-optimum is the makespan over that of a
// client that knew the limit; attempts/op what the service had to answer.
// ns/op is what simulating costs, and says nothing about either.
func BenchmarkSeed4(b *testing.B) {
	run := func(name string, f func(s *seed4, seed uint64)) {
		b.Run(name, func(b *testing.B) {
			var s seed4
			for seed := uint64(0); b.Loop(); seed++ {
				s = seed4{operations: 2000}
				f(&s, seed)
			}
			b.ReportMetric(float64(s.makespan)/float64(s.optimum()), "times-optimum")
			b.ReportMetric(float64(s.attempts)/float64(s.operations), "attempts/op")
		})
	}
	windowed := func(law window.NewLaw, factor float64) func(*seed4, uint64) {
		return func(s *seed4, _ uint64) {
			if err := s.windowed(law, limiter.Settings{Window: window.Settings{Factor: factor}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	run("backoff", (*seed4).backoff)
	run("tahoe-0.5", windowed(aimd.Tahoe, 0.5))
	run("tahoe-0.9", windowed(aimd.Tahoe, 0.9))
	run("reno-0.5", windowed(aimd.Reno, 0.5))
	run("reno-0.9", windowed(aimd.Reno, 0.9))
}

// BenchmarkAcquire is the cost of a slot: acquire and success.
func BenchmarkAcquire(b *testing.B) {
	ctx := context.Background()
	cycle := func(b *testing.B, l *aimd.Limiter) {
		p, err := l.Acquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Done(aimd.Success); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("uncontended", func(b *testing.B) {
		l := benchLimiter(b)
		b.ReportAllocs()
		for b.Loop() {
			cycle(b, l)
		}
	})
	b.Run("observed", func(b *testing.B) {
		l := benchLimiter(b, aimd.WithObserver(func(aimd.Event) {}))
		b.ReportAllocs()
		for b.Loop() {
			cycle(b, l)
		}
	})
	b.Run("64-goroutines-on-16-slots", func(b *testing.B) {
		l := benchLimiter(b, aimd.WithInitialWindow(16), aimd.WithMaxWindow(16))
		b.ReportAllocs()
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for range b.N/64 + 1 {
					cycle(b, l)
				}
			})
		}
		wg.Wait()
	})
}

func benchLimiter(b *testing.B, opts ...aimd.Option) *aimd.Limiter {
	l, err := aimd.NewReno(opts...)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// Acquire and success must not allocate: they are on every request's path.
func TestAcquireAndSuccessDoNotAllocate(t *testing.T) {
	l, err := aimd.NewReno()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		p, _ := l.Acquire(ctx)
		_ = p.Done(aimd.Success)
	}); n != 0 {
		t.Errorf("Acquire and Done allocate %v times, want 0", n)
	}
}
