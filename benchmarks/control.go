package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"
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

// result is the cost of an upload.
type result struct {
	span     float64 // makespan over the optimum
	attempts float64 // for each object
	lost     int64
}

// run uploads all objects with the bounder.
func (t task) run(ctx context.Context, b bounder) (result, error) {
	s := &store{slots: int64(t.slots), service: t.service}
	server := httptest.NewServer(s)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: t.goroutines}}
	defer client.CloseIdleConnections()
	body := make([]byte, t.size)

	jobs := make(chan int)
	errs := make(chan error, t.goroutines)
	var pool sync.WaitGroup
	began := time.Now()
	for range t.goroutines {
		pool.Go(func() {
			for range jobs {
				if err := upload(ctx, client, server.URL, body, b); err != nil {
					errs <- err
					return
				}
			}
		})
	}
feed:
	for i := range t.objects {
		select {
		case jobs <- i:
		case err := <-errs:
			errs <- err
			break feed
		case <-ctx.Done():
			break feed
		}
	}
	close(jobs)
	pool.Wait()
	took := time.Since(began)
	select {
	case err := <-errs:
		return result{}, err
	default:
	}
	optimum := float64(t.objects) / float64(t.slots) * float64(t.service)
	return result{
		span:     float64(took) / optimum,
		attempts: float64(s.attempts.Load()) / float64(t.objects),
		lost:     int64(t.objects) - s.stored.Load(),
	}, ctx.Err()
}

// upload sends an object until the store has it. Between attempts it waits as the SDKs
// do, full jitter doubling from 100 ms to 20 s, unless the bounder queues refused requests by
// itself.
func upload(ctx context.Context, client *http.Client, url string, body []byte, b bounder) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 20*time.Second) {
		t, err := b.acquire(ctx)
		if err != nil {
			return err
		}
		refused, err := put(ctx, client, url, body)
		b.release(t, refused)
		if err != nil || !refused {
			return err
		}
		if _, ours := b.(limited); ours {
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
