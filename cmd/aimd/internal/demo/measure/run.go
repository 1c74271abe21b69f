package measure

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
)

const (
	// sampleEvery is how often a run is sampled at first: our choice, often enough to see
	// Tahoe's restarts, which last less than a service time.
	sampleEvery = 10 * time.Millisecond
	// maxSamples is how many are kept, as many as a figure can show. It is even.
	maxSamples = 4000
)

// Pool is how a workload is run.
type Pool struct {
	// Goroutines work side by side, each on one operation at a time.
	Goroutines int
	// Limit is the longest time for all operations, or 0. Later operations are lost.
	Limit time.Duration
}

// Run does every operation once, op(ctx, i) for i from 0, and returns the outcome. When ctx
// ends, it waits for the running operations, and returns the outcome so far. Each Meter is
// for one Run.
func (p Pool) Run(ctx context.Context, m *Meter, op func(ctx context.Context, i int) error) Outcome {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	if p.Limit > 0 {
		// Not as a deadline: a client that knows its deadline gives up before.
		defer time.AfterFunc(p.Limit, cancel).Stop()
	}
	m.began()
	m.sampled()
	stop := progress.Repeat(sampleEvery, m.sampled)
	p.work(limited, m, op)
	stop()
	m.stopped()

	o := m.outcome()
	switch {
	case m.Now().Done == m.operations:
	case ctx.Err() != nil:
		o.Interrupted = true
	default:
		o.CutOff = true
	}
	return o
}

// work returns after the last operation, or after the running operations if the context
// ends.
func (p Pool) work(ctx context.Context, m *Meter, op func(ctx context.Context, i int) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(p.Goroutines, m.operations) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= m.operations {
					return
				}
				picked := time.Now()
				err := op(ctx, i)
				if err != nil && ctx.Err() != nil {
					return // stopped, not failed
				}
				m.ended(i, time.Since(picked), err)
			}
		})
	}
	wg.Wait()
}

// Watcher is called when runs begin and end, and may look at the Meter in between.
type Watcher interface {
	Begin(strategy string, m *Meter)
	End(r Result)
}
