package aimd_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/sim"
)

// BenchmarkAcquire is the cost of a slot: acquire and success.
func BenchmarkAcquire(b *testing.B) {
	ctx := context.Background()
	cycle := func(b *testing.B, l *aimd.Limiter) {
		p, err := l.Acquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		p.Done(aimd.Success)
	}
	b.Run("uncontended", func(b *testing.B) {
		l := benchLimiter(b, aimd.Config{})
		b.ReportAllocs()
		for b.Loop() {
			cycle(b, l)
		}
	})
	b.Run("observed", func(b *testing.B) {
		l := benchLimiter(b, aimd.Config{Observer: func(aimd.Event) {}})
		b.ReportAllocs()
		for b.Loop() {
			cycle(b, l)
		}
	})
	b.Run("64-goroutines-on-16-slots", func(b *testing.B) {
		l := benchLimiter(b, aimd.Config{InitialWindow: 16, Rules: aimd.Rules{MaxWindow: 16}})
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

// BenchmarkFiveHundredOperations is the same work under each strategy, on virtual time: 500 operations at
// once for a service of 50 slots, which no window begins with. It reports the time as a multiple of the
// optimum, and the attempts for one operation.
func BenchmarkFiveHundredOperations(b *testing.B) {
	service := sim.Server{Service: 100 * time.Millisecond, Slots: 50, Refusal: sim.Refusal{Time: time.Millisecond}}
	scenario := sim.Scenario{Server: service, Clients: sim.Clients{Operations: 500}}
	for _, s := range []struct{ name, strategy string }{
		{"backoff", "backoff"}, {"Tahoe", "tahoe-0.5"}, {"Reno", "reno-0.5"}, {"New", "probe"},
	} {
		b.Run(s.name, func(b *testing.B) {
			strategy, ok := sim.StrategyNamed(s.strategy)
			if !ok {
				b.Fatal(s.strategy)
			}
			const seeds = 11
			var span, attempts float64
			for b.Loop() {
				span, attempts = 0, 0
				for seed := range uint64(seeds) {
					r, err := sim.Run(scenario, strategy, seed+1)
					if err != nil || r.Done != r.Operations {
						b.Fatal(err, r.Done)
					}
					span += float64(r.Makespan) / float64(r.Optimum) / seeds
					attempts += float64(r.Attempts) / float64(r.Operations) / seeds
				}
			}
			b.ReportMetric(span, "x_optimum")
			b.ReportMetric(attempts, "attempts/op")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func benchLimiter(b *testing.B, config aimd.Config) *aimd.Limiter {
	config.Law = aimd.Reno(0.5)
	l, err := aimd.New(config)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// Acquire and success must not allocate: they are on every request's path.
func TestAcquireAndSuccessDoNotAllocate(t *testing.T) {
	l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		p, _ := l.Acquire(ctx)
		p.Done(aimd.Success)
	}); n != 0 {
		t.Errorf("Acquire and Done allocate %v times, want 0", n)
	}
}
