package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
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

	busy, attempts, stored atomic.Int64
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

// task is the upload that every contender does.
type task struct {
	objects, size, goroutines, slots int
	service                          time.Duration
}

// result is the time of an upload over the optimum, and the attempts for each object.
type result struct{ span, attempts float64 }

// run uploads all objects, and returns an error if the store does not have them all.
func (t task) run(ctx context.Context, c contender) (result, error) {
	s := &store{slots: int64(t.slots), service: t.service}
	server := httptest.NewServer(s)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: t.goroutines}}
	defer client.CloseIdleConnections()
	b, body := c.fixed(t.slots), make([]byte, t.size)
	began := time.Now()
	uploads, ctx := errgroup.WithContext(ctx)
	uploads.SetLimit(t.goroutines)
	for range t.objects {
		uploads.Go(func() error {
			return upload(ctx, b, c.paces, func() (bool, error) { return put(ctx, client, server.URL, body) })
		})
	}
	err := uploads.Wait()
	took := time.Since(began)
	if lost := t.objects - int(s.stored.Load()); err == nil && lost > 0 {
		err = fmt.Errorf("%d objects are lost", lost)
	}
	optimum := float64(t.objects) / float64(t.slots) * float64(t.service)
	return result{float64(took) / optimum, float64(s.attempts.Load()) / float64(t.objects)}, err
}

// upload sends an object until the store has it. If the bound does not pace refused requests, it waits
// between attempts as the SDKs do: full jitter, doubling from 100 ms to 20 s.
func upload(ctx context.Context, b bound, paces bool, put func() (refused bool, err error)) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 20*time.Second) {
		var refused bool
		var failed error
		err := b(ctx, func() bool {
			refused, failed = put()
			return refused
		})
		if err = errors.Join(err, failed); err != nil || !refused {
			return err
		}
		if !paces {
			select {
			case <-time.After(rand.N(wait)):
			case <-ctx.Done():
			}
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
	if _, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
		err = fmt.Errorf("the store answered %s", resp.Status)
	}
	return resp.StatusCode == http.StatusServiceUnavailable, err
}

// control prints the time and the attempts of each contender at the store.
func (p plan) control(ctx context.Context) error {
	all := []contender{plain}
	for _, c := range contenders {
		if c.adaptive != nil {
			all = append(all, contender{c.name + ", from 20", func(int) bound { return c.adaptive(20) }, nil, c.paces})
			continue
		}
		for _, n := range []int{p.task.slots, 2 * p.task.slots} {
			all = append(all, contender{fmt.Sprintf("%s of %d", c.name, n), func(int) bound { return c.fixed(n) }, nil, c.paces})
		}
	}
	results := make([][]result, len(all))
	for round := range p.uploads {
		for i, s := range all {
			fmt.Fprintf(os.Stderr, "%s: upload %d of %d\n", s.name, round+1, p.uploads)
			r, err := p.task.run(ctx, s)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	var rows []table.Row
	for i, s := range all {
		rows = append(rows, table.Row{s.name,
			median("%.2f", results[i], func(r result) float64 { return r.span }),
			median("%.2f", results[i], func(r result) float64 { return r.attempts })})
	}
	p.print(fmt.Sprintf("%d objects of %d KiB from %d goroutines, a store of %d slots, %v each",
		p.task.objects, p.task.size>>10, p.task.goroutines, p.task.slots, p.task.service),
		table.Row{"", "times the optimum", "attempts per object"}, rows)
	return nil
}
