package aimd_test

import (
	"context"
	"sync"
	"testing"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/retry"
)

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

// BenchmarkDo is the cost of an operation that succeeds at once: through a limiter,
// and through plain backoff, which bounds nothing.
func BenchmarkDo(b *testing.B) {
	ctx := context.Background()
	send := func(context.Context) error { return nil }
	policy, err := retry.New(retry.Config{Backoff: backoff.Exponential{Jitter: backoff.Full()}, Idempotent: true})
	if err != nil {
		b.Fatal(err)
	}
	for name, do := range map[string]func(context.Context, func(context.Context) error) error{
		"limiter": benchLimiter(b).Do,
		"plain-backoff": func(ctx context.Context, send func(context.Context) error) error {
			return retry.Do(ctx, policy, send)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := do(ctx, send); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
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
