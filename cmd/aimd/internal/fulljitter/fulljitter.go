// Package fulljitter is plain exponential backoff, the thing to compare with:
// each operation retries by itself and knows nothing of the others.
package fulljitter

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aimd-go/aimd/backoff"
)

// First and Longest bound the wait before a retry. They and the formula are
// those of the usual client; First is a service time of the demo.
const (
	First   = 100 * time.Millisecond
	Longest = 20 * time.Second
)

// delays are nothing to First * 2^n before retry n (from 0), Longest at the most:
// "full jitter" of
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
var delays = backoff.Exponential{Min: First, Max: Longest, Factor: 2, Jitter: backoff.Full()}

// Retry calls fn until it succeeds, its error is final, or ctx ends, and waits
// for delays in between.
func Retry(ctx context.Context, fn func(context.Context) error) error {
	r := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for retry := 1; ; retry++ {
		err := fn(ctx)
		if err == nil || ctx.Err() != nil || !transient(err) {
			return err
		}
		d, _ := delays.Delay(backoff.State{Retry: retry}, r)
		t := time.NewTimer(d)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
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
