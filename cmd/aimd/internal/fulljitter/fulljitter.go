// Package fulljitter is plain exponential backoff, the thing to compare with:
// each operation retries by itself and knows nothing of the others.
package fulljitter

import (
	"context"
	"math/rand/v2"
	"time"
)

// First and Longest bound the wait before a retry. They and the formula are
// those of the usual client; First is a service time of the demo.
const (
	First   = 100 * time.Millisecond
	Longest = 20 * time.Second
)

// Retry calls fn until it succeeds, its error is one that again turns down, or
// ctx ends. Before retry n (from 0) it waits for a random time between
// nothing and First * 2^n, Longest at the most: "full jitter" of
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
func Retry(ctx context.Context, again func(error) bool, fn func(context.Context) error) error {
	for n := 0; ; n++ {
		err := fn(ctx)
		if err == nil || ctx.Err() != nil || !again(err) {
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
