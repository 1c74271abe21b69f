package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// transport is the time of a round trip through httplimit.Transport over that
// through the transport beneath: the median of rounds in which they take turns.
func transport(ctx context.Context, rounds int, turn time.Duration) (float64, error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	}))
	defer server.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	l, err := aimd.NewReno()
	if err != nil {
		return 0, err
	}
	bare, limited := &http.Client{Transport: base}, &http.Client{Transport: httplimit.New(base, l)}
	var ratios []float64
	for range rounds {
		a, err := roundTrip(ctx, bare, server.URL, turn)
		if err != nil {
			return 0, err
		}
		b, err := roundTrip(ctx, limited, server.URL, turn)
		if err != nil {
			return 0, err
		}
		ratios = append(ratios, b/a)
	}
	return median(ratios), nil
}

// roundTrip is how many nanoseconds a round trip takes.
func roundTrip(ctx context.Context, c *http.Client, url string, turn time.Duration) (float64, error) {
	n, began := 0, time.Now()
	for time.Since(began) < turn {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, err
		}
		resp, err := c.Do(req)
		if err != nil {
			return 0, err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return 0, err
		}
		if err := resp.Body.Close(); err != nil {
			return 0, err
		}
		n++
	}
	return float64(time.Since(began)) / float64(n), nil
}
