// Package apidemo sends the same jobs to a rate-limited API from a worker pool
// with several strategies, one after the other, and measures what each of
// them costs.
package apidemo

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/api"
	"github.com/aimd-go/aimd/cmd/aimd/internal/fulljitter"
	"github.com/aimd-go/aimd/cmd/aimd/internal/measure"
	"github.com/aimd-go/aimd/httplimit"
)

// Config is how much is to be done, by how many, and what the API allows.
type Config struct {
	// Requests are sent by so many Goroutines.
	Requests, Goroutines int
	// API is how the API behaves.
	API api.Config
	// Factor is what Tahoe and Reno keep of the window at a cut.
	Factor float64
	// Only are the strategies to run, of Strategies.
	Only []string
	// Limit is the longest time for one strategy.
	Limit time.Duration
}

// Optimum is the least time for so many requests: the burst at once, the others
// as the tokens come, and the last one's service time.
func (c Config) Optimum(requests int) time.Duration {
	if requests == 0 {
		return 0
	}
	rest := max(0, float64(requests-c.API.Burst))
	return time.Duration(rest/c.API.Rate*float64(time.Second)) + c.API.Service
}

// strategy is one way to deal with an API that says 429.
type strategy struct {
	// name is fixed, scripts know it.
	name string
	// law makes the limiter that every request goes through; nil: none.
	law func(...aimd.Option) (*aimd.Limiter, error)
	// retry runs one request, again if need be; used without a law.
	retry func(ctx context.Context, send func(context.Context) error) error
}

var strategies = []strategy{
	{name: "plain", retry: func(ctx context.Context, send func(context.Context) error) error { return send(ctx) }},
	{name: "backoff", retry: fulljitter.Retry},
	{name: "tahoe", law: aimd.NewTahoe},
	{name: "reno", law: aimd.NewReno},
}

// Strategies are the names of all strategies, in the order in which they run.
func Strategies() []string {
	var names []string
	for _, s := range strategies {
		names = append(names, s.name)
	}
	return names
}

// Run does all jobs once per strategy, each with an API that is new, and yields
// how it went. It ends with the first error. When ctx ends the strategy that
// runs is stopped and yielded as interrupted, and is the last.
func Run(ctx context.Context, c Config, w measure.Watcher) iter.Seq2[measure.Result, error] {
	return func(yield func(measure.Result, error) bool) {
		for _, s := range strategies {
			if !slices.Contains(c.Only, s.name) || ctx.Err() != nil {
				continue
			}
			r, err := c.run(ctx, s, w)
			if err != nil {
				err = fmt.Errorf("%s: %w", s.name, err)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (c Config) run(ctx context.Context, s strategy, w measure.Watcher) (measure.Result, error) {
	server, err := api.Start(c.API)
	if err != nil {
		return measure.Result{}, err
	}
	defer server.Close()
	retry, factor, window := s.retry, 0.0, (func() measure.Window)(nil)
	if s.law != nil {
		lim, err := s.law(aimd.WithFactor(c.Factor))
		if err != nil {
			return measure.Result{}, err
		}
		defer lim.Close()
		retry, factor = lim.Do, c.Factor
		window = func() measure.Window {
			s := lim.State()
			return measure.Window{Cwnd: s.Cwnd, Ssthresh: s.Ssthresh}
		}
	}

	m := measure.NewMeter(c.Requests, window)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, c.Goroutines
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: m.Transport(transport)}

	w.Begin(s.name, m)
	o := measure.Pool{Goroutines: c.Goroutines, Limit: c.Limit}.Run(ctx, m, func(ctx context.Context, i int) error {
		return retry(ctx, func(ctx context.Context) error { return send(ctx, client, server.URL(), i) })
	})
	done := func(i int) bool { return server.Served(strconv.Itoa(i)) > 0 }
	r := o.Result(s.name, factor, done, c.Optimum)
	w.End(r)
	return r, nil
}

// send does job i: one request.
func send(ctx context.Context, client *http.Client, url string, i int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/jobs/"+strconv.Itoa(i), nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return httplimit.Check(res)
}
