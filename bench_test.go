package aimd_test

import (
	"context"
	"sync"
	"testing"

	"github.com/aimd-go/aimd"
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
