// Package fulljitter is plain exponential backoff, the thing to compare with:
// each operation retries by itself and knows nothing of the others.
package fulljitter

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// First and Longest bound the wait before a retry. They and the formula are
// those of the usual client; First is a service time of the demo.
const (
	First   = 100 * time.Millisecond
	Longest = 20 * time.Second
)

// Retry calls fn until it succeeds, its error is final, or ctx ends. Before
// retry n (from 0) it waits for a random time between
// nothing and First * 2^n, Longest at the most: "full jitter" of
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
func Retry(ctx context.Context, fn func(context.Context) error) error {
	for n := 0; ; n++ {
		err := fn(ctx)
		if err == nil || ctx.Err() != nil || !transient(err) {
			return err
		}
		t := time.NewTimer(delay(n, rand.Float64()))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}

// delay is the wait before retry n; u is random in [0, 1).
func delay(n int, u float64) time.Duration {
	most := Longest
	if n < 30 && First<<n < Longest {
		most = First << n
	}
	return time.Duration(u * float64(most))
}

// transient reports whether it may help to send a request again: not when the
// service understood it and says that it is wrong.
func transient(err error) bool {
	var status interface{ HTTPStatusCode() int }
	if !errors.As(err, &status) {
		return true
	}
	code := status.HTTPStatusCode()
	return code/100 != 4 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}
