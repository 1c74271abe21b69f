package measure

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/sim"
)

// Setup is a strategy at work.
type Setup struct {
	// Retry runs one operation, again if need be.
	Retry func(ctx context.Context, once func(context.Context) error) error
	// Limiter is nil for a strategy without a limiter of this library.
	Limiter *aimd.Limiter
	// Factor is the share of the window that a cut keeps, or 0.
	Factor float64
}

// SetUp puts a strategy to work. Backoff is plain exponential backoff: each operation
// retries by itself until it succeeds. A law of sim.Laws has a limiter of this library,
// whose Do retries. The other strategies leave retries to the client.
func SetUp(name string, factor float64) (Setup, error) {
	if name == "backoff" {
		policy, err := retry.New(retry.Config{Backoff: delays, MaxAttempts: -1, If: transient})
		return Setup{Retry: func(ctx context.Context, once func(context.Context) error) error { return retry.Do(ctx, policy, once) }}, err
	}
	law := sim.Window{Law: name}.MakeLaw()
	if law == nil {
		return Setup{Retry: Once}, nil
	}
	if !value.TakesFactor(name) {
		factor = 0
	}
	lim, err := aimd.New(aimd.WithName(name), aimd.WithLaw(law), aimd.WithFactor(factor))
	if err != nil {
		return Setup{}, err
	}
	return Setup{Retry: lim.Do, Limiter: lim, Factor: factor}, nil
}

// Close ends what the strategy began.
func (s Setup) Close() {
	if s.Limiter != nil {
		s.Limiter.Close()
	}
}

// Once runs the operation and leaves all retries to it.
func Once(ctx context.Context, once func(context.Context) error) error { return once(ctx) }

// delays are the delays of the usual client, "full jitter" of
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
// from a service time of the demo to 20 s.
var delays = backoff.Exponential{Min: 100 * time.Millisecond, Max: 20 * time.Second, Factor: 2, Jitter: backoff.Full()}

// transient reports whether it may help to send a request again: not when the
// service understood it and says that it is wrong.
func transient(err error) bool {
	code := reach.Status(err)
	return code/100 != 4 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}

// Each runs the strategies, one after the other, and yields how each went. It ends with the
// first error, and with the first strategy that returns after the end of ctx.
func Each(ctx context.Context, strategies []string, run func(name string) (Result, error)) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		for _, name := range strategies {
			if ctx.Err() != nil {
				return
			}
			r, err := run(name)
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
