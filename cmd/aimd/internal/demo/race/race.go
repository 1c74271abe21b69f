// Package race does the same work once per strategy, and measures the cost of each strategy: time, attempts, refusals
// and the slowest operations.
package race

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/retry"
)

// Race has the settings of a race.
type Race struct {
	// Operations are done by that number of Goroutines, each on one operation at a time.
	Operations, Goroutines int
	// Factor is the share of the window that tahoe and reno keep at a cut.
	Factor float64
	// Rivals are the strategies without a limiter that there are, by names that scripts know; Only are those of all to run,
	// in this order.
	Rivals, Only []string
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
	var all errgroup.Group
	all.SetLimit(r.Goroutines)
	for i := 0; i < r.Operations && limited.Err() == nil; i++ {
		all.Go(func() error {
			picked := time.Now()
			err := op(limited, i)
			if err != nil && limited.Err() != nil {
				err = context.Cause(limited)
			}
			m.ended(time.Since(picked), err)
			return nil
		})
	}
	_ = all.Wait() // it has no error
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

// Strategy is a strategy at work.
type Strategy struct {
	Name string
	// Do does one operation: it attempts until that succeeds, the strategy gives up, or the context ends.
	Do func(ctx context.Context, attempt func(context.Context) error) error
	// Limiter is nil for a strategy without a window.
	Limiter *aimd.Limiter
}

// delays are the delays of the usual clients by the name of the strategy: "full jitter" of
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ up to 20 s, the same up to 1 s, which is the
// best bound in aimd demo, and the defaults of github.com/cenkalti/backoff/v5.
var delays = map[string]backoff.Exponential{
	"backoff":    {Min: 100 * time.Millisecond, Max: 20 * time.Second, Factor: 2, Jitter: backoff.Full()},
	"backoff-1s": {Min: 100 * time.Millisecond, Max: time.Second, Factor: 2, Jitter: backoff.Full()},
	"backoff-v5": {Min: 500 * time.Millisecond, Max: time.Minute, Factor: 1.5, Jitter: backoff.Proportional(0.5)},
}

// strategy puts a strategy to work: one of delays, a limiter with one of sim.Laws, or, under any other name, a client
// that is left alone.
func (r Race) strategy(name string) (Strategy, error) {
	w := sim.Window{Law: name}
	if TakesFactor(name) {
		w.Factor = r.Factor
	}
	law := w.MakeLaw()
	d, backs := delays[name]
	switch {
	case backs:
		// The usual client repeats a request that failed, whatever it was.
		p, err := retry.New(retry.Config{Backoff: d, MaxAttempts: -1, If: func(error) bool { return true }})
		return Strategy{Name: name, Do: func(ctx context.Context, once func(context.Context) error) error { return retry.Do(ctx, p, once) }}, err
	case law == nil:
		return Strategy{Name: name, Do: Once}, nil
	}
	l, err := aimd.New(aimd.Config{Name: name, Law: law})
	if err != nil {
		return Strategy{}, err
	}
	return Strategy{name, l.Do, l}, nil
}

// Once runs the operation and leaves all retries to it.
func Once(ctx context.Context, once func(context.Context) error) error { return once(ctx) }

// TakesFactor reports whether the law is tahoe or reno. A law of the program's own may read the factor too, but
// TakesFactor is false for it.
func TakesFactor(law string) bool { return law == "tahoe" || law == "reno" }
