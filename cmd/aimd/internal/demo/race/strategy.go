package race

import (
	"context"
	"net/http"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/sim"
)

// Strategy is a strategy at work.
type Strategy struct {
	// Name is "backoff", for plain exponential backoff, one of sim.Laws, for a limiter of
	// this library, or a name that the service knows.
	Name string
	// Factor is the share of the window that a cut keeps, or 0.
	Factor float64
	// Limiter is nil for a strategy without a limiter of this library.
	Limiter *aimd.Limiter
	// Retry runs one operation, again if need be.
	Retry func(ctx context.Context, once func(context.Context) error) error
}

func newStrategy(name string, factor float64) (*Strategy, error) {
	if name == "backoff" {
		policy, err := retry.New(retry.Config{Backoff: delays, MaxAttempts: -1, If: transient})
		return &Strategy{Name: name, Retry: func(ctx context.Context, once func(context.Context) error) error {
			return retry.Do(ctx, policy, once)
		}}, err
	}
	law := sim.Window{Law: name}.MakeLaw()
	if law == nil {
		return &Strategy{Name: name, Retry: Once}, nil
	}
	if !value.TakesFactor(name) {
		factor = 0
	}
	lim, err := aimd.New(aimd.WithName(name), aimd.WithLaw(law), aimd.WithFactor(factor))
	if err != nil {
		return nil, err
	}
	return &Strategy{name, factor, lim, lim.Do}, nil
}

// Once runs the operation and leaves all retries to it.
func Once(ctx context.Context, once func(context.Context) error) error { return once(ctx) }

// delays are the delays of the usual client, "full jitter" of
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
// from a service time of the demo to 20 s.
var delays = backoff.Exponential{Min: 100 * time.Millisecond, Max: 20 * time.Second, Factor: 2, Jitter: backoff.Full()}

// transient reports whether it may help to send a request again: not when the service
// understood it and says that it is wrong.
func transient(err error) bool {
	code := reach.Status(err)
	return code/100 != 4 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}
