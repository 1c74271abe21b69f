package admission

import (
	"context"
	"testing"
	"time"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

func benchController(b *testing.B, limit int, s Config) *Controller {
	b.Helper()
	c, err := New(Fixed(limit), s)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	return c
}

func BenchmarkAdmit(b *testing.B) {
	b.Run("free", func(b *testing.B) {
		c, ctx := benchController(b, 32, Config{}), context.Background()
		for b.Loop() {
			p, err := c.Admit(ctx, tag.Tags{})
			if err != nil {
				b.Fatal(err)
			}
			_ = p.Done(window.Success)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		c, ctx := benchController(b, 1<<20, Config{}), context.Background()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				p, err := c.Admit(ctx, tag.Tags{})
				if err != nil {
					b.Error(err)
					return
				}
				_ = p.Done(window.Success)
			}
		})
	})
	b.Run("shed", func(b *testing.B) {
		c, ctx := benchController(b, 1, Config{QueueBound: -1}), context.Background()
		if _, err := c.Admit(ctx, tag.Tags{}); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := c.Admit(ctx, tag.Tags{}); err == nil {
				b.Fatal("admitted")
			}
		}
	})
}

// BenchmarkFullQueue is the core with a long queue that is full: a retry comes and is shed, or a first
// attempt comes, and displaces one.
func BenchmarkFullQueue(b *testing.B) {
	core, err := newCore(Fixed(1), Config{QueueBound: 10_000, QueueTime: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	now := time.Duration(0)
	core.Tried(now)
	items := make([]request, 10_001)
	free := &items[10_000]
	for i := range items[:10_000] {
		items[i].tags.Attempt = 2
		core.Queued(now, &items[i])
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		free.tags.Attempt = 1 + n%2
		core.Queued(now, free)
		free = core.Next(now)
	}
}
