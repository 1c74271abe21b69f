package aimd_test

import (
	"context"
	"testing"

	"github.com/aimd-go/aimd"
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
				p.Done(aimd.Success)
			}
		})
	}
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
