package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/sync/errgroup"
)

// store serves as many requests at a time as it has slots, each for about the service time,
// and refuses more with 503, on loopback.
type store struct {
	slots   int64
	service time.Duration

	busy             atomic.Int64
	attempts, stored atomic.Int64
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.attempts.Add(1)
	defer s.busy.Add(-1)
	full := s.busy.Add(1) > s.slots
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	if full {
		http.Error(w, "SlowDown", http.StatusServiceUnavailable)
		return
	}
	time.Sleep(time.Duration(float64(s.service) * (0.8 + 0.4*rand.Float64())))
	s.stored.Add(1)
}

// task is the upload that every strategy does.
type task struct {
	objects, size, goroutines, slots int
	service                          time.Duration
}

var bulk = task{objects: 2000, size: 64 << 10, goroutines: 256, slots: 32, service: 100 * time.Millisecond}

type result struct {
	span     float64 // makespan over the optimum
	attempts float64 // for each object
	lost     int64
}

func spanOf(r result) float64     { return r.span }
func attemptsOf(r result) float64 { return r.attempts }

// run uploads all objects with the bounder.
func (t task) run(ctx context.Context, b bounder) (result, error) {
	s := &store{slots: int64(t.slots), service: t.service}
	server := httptest.NewServer(s)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: t.goroutines}}
	defer client.CloseIdleConnections()
	body := make([]byte, t.size)
	began := time.Now()
	uploads, ctx := errgroup.WithContext(ctx)
	uploads.SetLimit(t.goroutines)
	for range t.objects {
		uploads.Go(func() error { return upload(ctx, client, server.URL, body, b) })
	}
	err := uploads.Wait()
	optimum := float64(t.objects) / float64(t.slots) * float64(t.service)
	return result{
		span:     float64(time.Since(began)) / optimum,
		attempts: float64(s.attempts.Load()) / float64(t.objects),
		lost:     int64(t.objects) - s.stored.Load(),
	}, err
}

// upload sends an object until the store has it. If the bounder does not pace refused requests, it waits
// between attempts as the SDKs do: full jitter, doubling from 100 ms to 20 s.
func upload(ctx context.Context, client *http.Client, url string, body []byte, b bounder) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 20*time.Second) {
		release, err := b.acquire(ctx)
		if err != nil {
			return err
		}
		refused, err := put(ctx, client, url, body)
		release(refused)
		if err != nil || !refused {
			return err
		}
		if b.paces {
			continue
		}
		select {
		case <-time.After(rand.N(wait)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func put(ctx context.Context, client *http.Client, url string, body []byte) (refused bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return false, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return false, nil
	case http.StatusServiceUnavailable:
		return true, nil
	}
	return false, fmt.Errorf("the store answered %s", resp.Status)
}

// strategy is a contender with its bound or its start.
type strategy struct {
	name string
	new  func() bounder
}

func (c contender) fromTwenty() strategy {
	return strategy{c.name + ", from 20", func() bounder { return c.adaptive(20) }}
}

// race lets the strategies upload in turn, and returns the results of each.
func (t task) race(ctx context.Context, rounds int, all []strategy) ([][]result, error) {
	results := make([][]result, len(all))
	for round := range rounds {
		for i, s := range all {
			progress("%d slots, %v, %s: upload %d of %d", t.slots, t.service, s.name, round+1, rounds)
			r, err := t.run(ctx, s.new())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	return results, nil
}

// control prints the time and the attempts of each strategy at the store.
func (p plan) control(ctx context.Context, w io.Writer) error {
	t := p.task
	all := []strategy{{plainBackoff, func() bounder { return unbounded }}}
	for _, c := range contenders {
		if c.adaptive != nil {
			all = append(all, c.fromTwenty())
			continue
		}
		for _, n := range []int{t.slots, 2 * t.slots} {
			all = append(all, strategy{fmt.Sprintf("%s of %d", c.name, n), func() bounder { return c.fixed(n) }})
		}
	}
	results, err := t.race(ctx, p.uploads, all)
	if err != nil {
		return err
	}
	var rows []table.Row
	for i, s := range all {
		lost := int64(0)
		for _, r := range results[i] {
			lost += r.lost
		}
		rows = append(rows, table.Row{s.name, median("%.2f", results[i], spanOf), median("%.2f", results[i], attemptsOf), lost})
	}
	markdown(w, fmt.Sprintf("%d objects of %d KiB from %d goroutines, a store of %d slots, %v each", t.objects, t.size>>10, t.goroutines, t.slots, t.service),
		table.Row{"", "times the optimum", "attempts per object", "lost"}, rows)
	return nil
}

// sizes are the stores at which Probe and Reno 0.9 are compared.
var sizes = []task{
	{objects: 600, slots: 8, service: 100 * time.Millisecond},
	{objects: 2000, slots: 16, service: 50 * time.Millisecond},
	{objects: 4000, slots: 16, service: 5 * time.Millisecond},
	{objects: 2000, slots: 32, service: 100 * time.Millisecond},
	{objects: 8000, slots: 64, service: 20 * time.Millisecond},
	{objects: 6000, slots: 128, service: 100 * time.Millisecond},
	{objects: 6000, slots: 256, service: 200 * time.Millisecond},
}

// stores prints the time of Probe at stores of several sizes, as a ratio to Reno 0.9 in the
// same round, so that other work on the machine cancels out.
func (p plan) stores(ctx context.Context, w io.Writer) error {
	var rows []table.Row
	for _, t := range sizes {
		t.objects = max(1, t.objects*p.task.objects/bulk.objects)
		t.goroutines = max(256, 2*t.slots)
		results, err := t.race(ctx, p.uploads, []strategy{reno.fromTwenty(), probe.fromTwenty()})
		if err != nil {
			return err
		}
		var ratios []float64
		row := table.Row{t.slots, t.service, nil}
		for i, r := range results {
			row = append(row, median("%.3f", r, spanOf)+", "+median("%.3f", r, attemptsOf))
			for round := range r {
				ratios = append(ratios, results[i][round].span/results[0][round].span)
			}
		}
		row[2] = median("%.3f", ratios[p.uploads:], func(r float64) float64 { return r })
		rows = append(rows, row)
	}
	markdown(w, "Probe and Reno 0.9, at stores of several sizes: times the optimum, attempts per object",
		table.Row{"slots", "service time", "time over Reno's", "Reno", "Probe"}, rows)
	return nil
}
