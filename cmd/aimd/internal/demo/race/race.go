// Package race does the same work once per strategy, and measures the cost of each strategy: time, attempts, refusals
// and the slowest operations.
package race

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/atomic"
)

// Race has the settings of a race.
type Race struct {
	// Operations are done by that number of Goroutines, each on one operation at a time.
	Operations, Goroutines int
	// Factor is the share of the window that tahoe and reno keep at a cut.
	Factor float64
	// Only are the strategies to run, in this order.
	Only []string
	// Price is the price of an attempt, in any currency.
	Price float64
	// Limit is the longest time for one strategy, or 0. Later operations are lost.
	Limit time.Duration
}

// Work is the work that each strategy does.
type Work interface {
	// Optimum is the least time for n operations.
	Optimum(n int) time.Duration
	// Start starts a service that has done nothing yet. All requests go through the client.
	// If the service's client retries on its own, Start sets s.Do to Once.
	Start(s *Strategy, client *http.Client) (Service, error)
}

// Service is a service at work for one strategy.
type Service struct {
	// Do attempts operation i, from 0 on.
	Do func(ctx context.Context, i int) error
	// Has reports whether the service did operation i, whatever it answered.
	Has func(i int) bool
	// Peak returns the most requests that the service worked on at a time.
	Peak func() int
	// Close ends the service at once.
	Close func()
}

// Run does the work once per strategy. It calls begin before each run and ended after it. It returns the first
// error. If ctx ends, the present strategy has no result.
func (r Race) Run(ctx context.Context, w Work, begin func(strategy string, m *Meter), ended func(Result) error) error {
	for _, name := range r.Only {
		x, err := r.run(ctx, name, w, begin)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case ctx.Err() != nil:
			return nil
		}
		if err := ended(x); err != nil {
			return err
		}
	}
	return nil
}

func (r Race) run(ctx context.Context, name string, w Work, begin func(string, *Meter)) (Result, error) {
	s, err := r.strategy(name)
	if err != nil {
		return Result{}, err
	}
	if s.Limiter != nil {
		defer s.Limiter.Close()
	}
	m := &Meter{Operations: r.Operations, Limiter: s.Limiter}
	client, closeIdle := m.client(r.Goroutines)
	defer closeIdle()
	service, err := w.Start(&s, client)
	if err != nil {
		return Result{}, err
	}
	defer service.Close()
	begin(name, m)
	r.work(ctx, m, func(ctx context.Context, i int) error {
		return s.Do(ctx, func(ctx context.Context) error { return service.Do(ctx, i) })
	})
	x := m.result()
	x.Price = r.Price * float64(x.Attempts)
	x.Strategy, x.Peak, x.OptimumS = name, service.Peak(), seconds(w.Optimum(r.Operations))
	if TakesFactor(name) {
		x.Factor = r.Factor
	}
	for i := range r.Operations {
		if !service.Has(i) {
			x.Lost++
		}
	}
	return x, nil
}

// work does all operations. If the context or the time ends, it returns after the running ones.
func (r Race) work(ctx context.Context, m *Meter, op func(ctx context.Context, i int) error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.Limit > 0 {
		// Not as a deadline: a client that knows its deadline gives up before.
		timeout := fmt.Errorf("the time limit of %v is over (--limit)", r.Limit)
		defer time.AfterFunc(r.Limit, func() { cancel(timeout) }).Stop()
	}
	m.began()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(r.Goroutines, r.Operations) {
		wg.Go(func() {
			for limited.Err() == nil {
				i := int(next.Inc()) - 1
				if i >= r.Operations {
					return
				}
				picked := time.Now()
				err := op(limited, i)
				if err != nil && limited.Err() != nil {
					err = context.Cause(limited)
				}
				m.ended(time.Since(picked), err)
			}
		})
	}
	wg.Wait()
}

// Result is one row: how a strategy did. Its JSON is what scripts rely on.
type Result struct {
	// Strategy is the strategy's fixed name.
	Strategy string `json:"strategy"`
	// Factor is the share of the window that a cut keeps, 0 for a strategy without a factor.
	Factor float64 `json:"factor"`
	// Operations is the number that were to be done.
	Operations int `json:"operations"`
	// Attempts counts the requests, Refused the answers 429 and 503.
	Attempts int `json:"attempts"`
	Refused  int `json:"refused"`
	// Lost is the number of operations that left no trace with the service, or a wrong one.
	Lost int `json:"lost"`
	// MakespanS is the time from the first operation's begin to the last one's end, OptimumS the least that
	// it could be (0: not known), P99S what 99 of 100 successful operations took at most. All in seconds.
	MakespanS float64 `json:"makespan_s"`
	OptimumS  float64 `json:"optimum_s"`
	P99S      float64 `json:"p99_s"`
	// CPUS is the processor time of the process in seconds, of the service within it too; 0: not known. Price is the
	// price of all attempts.
	CPUS  float64 `json:"cpu_s"`
	Price float64 `json:"price"`

	// Reason is why the first of the failed operations failed.
	Reason string `json:"-"`
	// Peak is the most that the service served at a time by its own count; 0: not known.
	Peak int `json:"-"`
}

// TimesOptimum is the makespan over the optimum. It is 0 if the optimum is not known, or if work was lost.
func (r Result) TimesOptimum() float64 {
	if r.OptimumS == 0 || r.Lost > 0 {
		return 0
	}
	return r.MakespanS / r.OptimumS
}

// p99 is the time that 99 of 100 took at most.
func p99(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[int(math.Ceil(0.99*float64(len(took))))-1]
}

// seconds is d in seconds to the millisecond.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
