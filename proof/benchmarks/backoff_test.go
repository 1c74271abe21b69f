package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/window"
)

// BenchmarkAgainstBackoff is the same work by each way to do it: 500 operations for a service that takes 5 ms for each
// of 16 at a time, and refuses more at once. It reports the time as a multiple of the optimum, and the attempts for
// one operation. The pools have 64 workers; the others start all operations at once.
func BenchmarkAgainstBackoff(b *testing.B) {
	const operations, workers, slots, each = 500, 64, 16, 5 * time.Millisecond
	policy, err := retry.New(retry.Config{Backoff: backoff.Exponential{Min: each, Max: time.Second, Jitter: backoff.Full()}, MaxAttempts: -1, Idempotent: true})
	if err != nil {
		b.Fatal(err)
	}
	type doer func(ctx context.Context, l *aimd.Limiter, send func(context.Context) error) error
	plain := func(ctx context.Context, _ *aimd.Limiter, send func(context.Context) error) error {
		return retry.Do(ctx, policy, send)
	}
	limited := func(ctx context.Context, l *aimd.Limiter, send func(context.Context) error) error {
		return l.Do(ctx, send)
	}
	acquire := func(ctx context.Context, l *aimd.Limiter, send func(context.Context) error) error {
		for {
			p, err := l.Acquire(ctx)
			if err != nil {
				return err
			}
			if err = send(ctx); err == nil {
				p.End(nil)
				return nil
			}
			p.End(err)
		}
	}
	for _, c := range []struct {
		name    string
		do      doer
		workers int
		law     window.NewLaw
	}{
		{"backoff", plain, operations, nil}, {"pool-backoff", plain, workers, nil},
		{"Acquire", acquire, operations, nil}, {"Do", limited, operations, nil}, {"pool-Do", limited, workers, nil},
		{"Do-Reno", limited, operations, aimd.Reno(0.9)}, {"pool-Do-Reno", limited, workers, aimd.Reno(0.9)},
		{"Do-Tahoe", limited, operations, aimd.Tahoe(0.9, 20)}, {"pool-Do-Tahoe", limited, workers, aimd.Tahoe(0.9, 20)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var attempts atomic.Int64
			for b.Loop() {
				l, err := aimd.New(aimd.Config{Law: c.law})
				if err != nil {
					b.Fatal(err)
				}
				busy, jobs := make(chan struct{}, slots), make(chan struct{}, operations)
				send := func(context.Context) error {
					attempts.Add(1)
					select {
					case busy <- struct{}{}:
						time.Sleep(each)
						<-busy
						return nil
					default:
						return aimd.Refused(errors.New("SlowDown"))
					}
				}
				var all sync.WaitGroup
				for range c.workers {
					all.Go(func() {
						for range jobs {
							if err := c.do(context.Background(), l, send); err != nil {
								b.Error(err)
							}
						}
					})
				}
				for range operations {
					jobs <- struct{}{}
				}
				close(jobs)
				all.Wait()
				l.Close()
			}
			const optimum = each * (operations + slots - 1) / slots
			b.ReportMetric(float64(b.Elapsed())/float64(optimum)/float64(b.N), "x_optimum")
			b.ReportMetric(float64(attempts.Load())/operations/float64(b.N), "attempts/op")
			b.ReportMetric(0, "ns/op")
		})
	}
}
