package aimd_test

import (
	"context"
	"testing"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

// BenchmarkAcquire is the cost of a slot: acquire and success.
func BenchmarkAcquire(b *testing.B) {
	for name, c := range map[string]aimd.Config{"alone": {}, "observed": {Observer: func(aimd.Event) {}}} {
		b.Run(name, func(b *testing.B) {
			c.Law = aimd.Reno(0.5)
			l, err := aimd.New(c)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for ctx := context.Background(); b.Loop(); {
				p, err := l.Acquire(ctx)
				if err != nil {
					b.Fatal(err)
				}
				p.Done(window.Success)
			}
		})
	}
}

// refused is an error as of an SDK: Do reads its status.
type refused struct{ StatusCode int }

func (*refused) Error() string { return "SlowDown" }

// Acquire and success must not allocate: they are on every request's path.
func TestAcquireAndSuccessDoNotAllocate(t *testing.T) {
	l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		p, _ := l.Acquire(ctx)
		p.Done(window.Success)
	}); n != 0 {
		t.Errorf("Acquire and Done allocate %v times, want 0", n)
	}
}

// An item of Each costs its Attempt, the closure of its goroutine, and that of its function.
func TestAnItemOfEachAllocatesThreeTimes(t *testing.T) {
	const items = 10_000
	l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
	if err != nil {
		t.Fatal(err)
	}
	all := func(yield func(int) bool) {
		for i := range items {
			if !yield(i) {
				return
			}
		}
	}
	nothing := func(context.Context, int) error { return nil }
	if n := testing.AllocsPerRun(1, func() { err = aimd.Each(t.Context(), l, all, nothing) }); n > 3.5*items || err != nil {
		t.Errorf("Each allocates %v times for %d items, want 3 for each: %v", n, items, err)
	}
}
