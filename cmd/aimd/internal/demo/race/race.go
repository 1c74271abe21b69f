// Package race does the same work once per strategy, and measures the cost of each strategy:
// time, attempts, refusals, the slowest operations, and the course over time.
package race

import (
	"context"
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
	"github.com/aimd-go/aimd/sim"
)

const (
	// sampleEvery is the time between two samples of a run. Our choice: Tahoe's restarts last less than a service time.
	sampleEvery = 10 * time.Millisecond
	// shownMost is the number of samples that a figure can show.
	shownMost = 4000
)

// Race has the settings of a race.
type Race struct {
	// Operations are done by that number of Goroutines, each on one operation at a time.
	Operations, Goroutines int
	// Factor is the share of the window that tahoe and reno keep at a cut.
	Factor float64
	// Only are the strategies to run, in this order.
	Only []string
	// Limit is the longest time for one strategy, or 0. Later operations are lost.
	Limit time.Duration
}

// Work is the work that each strategy does.
type Work interface {
	// Optimum is the least time for n operations.
	Optimum(n int) time.Duration
	// Start starts a service that has done nothing yet. All requests go through the client.
	// If the service's client retries on its own, Start sets s.Do to Once.
	Start(s *strategy.Strategy, client *http.Client) (Service, error)
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

// Run does the work once per strategy, and yields the results. It calls begin, if not nil, before each run. It
// ends with the first error. If ctx ends, the present strategy is yielded as interrupted, and is the last.
func (r Race) Run(ctx context.Context, w Work, begin func(strategy string, m *Meter)) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		for _, name := range r.Only {
			if ctx.Err() != nil {
				return
			}
			x, err := r.run(ctx, name, w, begin)
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			if !yield(x, err) || err != nil {
				return
			}
		}
	}
}

func (r Race) run(ctx context.Context, name string, w Work, begin func(string, *Meter)) (Result, error) {
	s, err := r.strategy(name)
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	m := NewMeter(r.Operations, s.Limiter)
	client, closeIdle := m.client(r.Goroutines)
	defer closeIdle()
	service, err := w.Start(&s, client)
	if err != nil {
		return Result{}, err
	}
	defer service.Close()
	if begin != nil {
		begin(name, m)
	}
	x := r.measure(ctx, m, func(ctx context.Context, i int) error {
		return s.Do(ctx, func(ctx context.Context) error { return service.Do(ctx, i) })
	})
	x.Strategy, x.Peak = name, service.Peak()
	if strategy.TakesFactor(name) {
		x.Factor = r.Factor
	}
	m.judge(&x, service.Has)
	x.OptimumS = seconds(w.Optimum(x.Operations))
	return x, nil
}

// delays are the delays of the usual client, "full jitter" of
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ up to 20 s.
var delays = sim.Retry{Kind: "exponential", Min: 100 * time.Millisecond, Max: 20 * time.Second, Factor: 2, Jitter: backoff.Full()}

// strategy puts a strategy to work: backoff, a limiter with one of sim.Laws, or, under any other name, a client
// that is left alone.
func (r Race) strategy(name string) (strategy.Strategy, error) {
	law := sim.Window{Law: name}
	switch {
	case name == "backoff":
		return strategy.New(sim.Strategy{Name: name, Retry: delays})
	case law.MakeLaw() == nil:
		return strategy.Strategy{Name: name, Do: Once}, nil
	case strategy.TakesFactor(name):
		law.Factor = r.Factor
	}
	return strategy.New(sim.Strategy{Name: name, Window: law})
}

// Once runs the operation and leaves all retries to it.
func Once(ctx context.Context, once func(context.Context) error) error { return once(ctx) }

// measure does all operations. If the context or the time ends, it returns after the running ones.
func (r Race) measure(ctx context.Context, m *Meter, op func(ctx context.Context, i int) error) Result {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.Limit > 0 {
		// Not as a deadline: a client that knows its deadline gives up before.
		defer time.AfterFunc(r.Limit, cancel).Stop()
	}
	m.began()
	stop := progress.Repeat(sampleEvery, m.sampled)
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
					return // stopped, not failed
				}
				m.ended(i, time.Since(picked), err)
			}
		})
	}
	wg.Wait()
	stop()
	x, done := m.stopped()
	x.Interrupted = done < r.Operations && ctx.Err() != nil
	x.CutOff = done < r.Operations && !x.Interrupted
	return x
}

// Result is one row: how a strategy did. Its JSON is what scripts rely on.
type Result struct {
	// Strategy is the strategy's fixed name.
	Strategy string `json:"strategy"`
	// Factor is the share of the window that a cut keeps, 0 for a strategy without a factor.
	Factor float64 `json:"factor"`
	// Operations is the number that were to be done, or that ended if the run was interrupted.
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
	// Interrupted and CutOff: the run did not come to its end, by the user or by the time limit.
	Interrupted bool `json:"interrupted,omitempty"`
	CutOff      bool `json:"cut_off,omitempty"`

	// Silent is the number of lost ones that the client took for done.
	Silent int `json:"-"`
	// Reason is why the first of the failed operations failed.
	Reason string `json:"-"`
	// Peak is the most that the service served at a time by its own count; 0: not known.
	Peak    int      `json:"-"`
	Samples []Sample `json:"-"`
}

// TimesOptimum is the makespan over the optimum. It is 0 if the optimum is not known, or if work was lost.
func (r Result) TimesOptimum() float64 {
	if r.OptimumS == 0 || r.Lost > 0 {
		return 0
	}
	return r.MakespanS / r.OptimumS
}

// p99 is the time that 99 of 100 successful operations took at most.
func p99(ends []end) time.Duration {
	var took []time.Duration
	for _, e := range ends {
		if e.state == succeeded {
			took = append(took, e.took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[int(math.Ceil(0.99*float64(len(took))))-1]
}

// seconds is d in seconds to the millisecond.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// Traces returns the samples as the traces of a simulated run, at even intervals. Values between two samples are
// interpolated.
func Traces(samples []Sample) (r sim.Result) {
	if len(samples) < 2 {
		return r
	}
	r.End = samples[len(samples)-1].At
	r.Interval = max(sampleEvery, r.End/shownMost)
	perSecond := 1 / r.Interval.Seconds()
	var accepted, refused float64
	var values [4][]float64
	for at := r.Interval; at <= r.End; at += r.Interval {
		for samples[1].At < at {
			samples = samples[1:]
		}
		a, b := samples[0], samples[1]
		share := float64(at-a.At) / float64(b.At-a.At)
		between := func(a, b float64) float64 { return a + share*(b-a) }
		nowAccepted, nowRefused := between(float64(a.Accepted), float64(b.Accepted)), between(float64(a.Refused), float64(b.Refused))
		for i, v := range []float64{(nowAccepted - accepted) * perSecond, (nowRefused - refused) * perSecond, between(a.Cwnd, b.Cwnd), between(a.Ssthresh, b.Ssthresh)} {
			values[i] = append(values[i], v)
		}
		accepted, refused = nowAccepted, nowRefused
	}
	r.Traces = map[string][]float64{"successes": values[0], "refusals": values[1], "cwnd": values[2], "ssthresh": values[3]}
	return r
}
