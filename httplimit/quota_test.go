package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// reporting is a service whose answers report quotas: answer returns the status and pairs of a header's name
// and its value, and is called by one goroutine at a time, before a request has waited for after.
func reporting(before, after time.Duration, answer func() (status int, header []any)) base {
	var mu sync.Mutex
	return func(r *http.Request) (*http.Response, error) {
		time.Sleep(before)
		mu.Lock()
		status, pairs := answer()
		mu.Unlock()
		time.Sleep(after)
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i].(string), fmt.Sprint(pairs[i+1]))
		}
		resp, err := answers(status, h, io.NopCloser(strings.NewReader("x")))(r)
		return resp, err
	}
}

// busy sends requests with so many goroutines until the context ends, each again if it is refused, and returns
// the number of requests that were accepted. most is the most of them; 0: no limit.
func busy(ctx context.Context, rt http.RoundTripper, goroutines, most int) (accepted func() int, wait func()) {
	var all sync.WaitGroup
	var begun, done atomic.Int64
	for range goroutines {
		all.Go(func() {
			for ctx.Err() == nil && (most == 0 || begun.Add(1) <= int64(most)) {
				for ok := false; !ok && ctx.Err() == nil; {
					resp, err := rt.RoundTrip(get(ctx, anyURL))
					if err == nil {
						resp.Body.Close()
						ok = resp.StatusCode == http.StatusOK
					}
				}
				done.Add(1)
			}
		})
	}
	return func() int { return int(done.Load()) }, all.Wait
}
