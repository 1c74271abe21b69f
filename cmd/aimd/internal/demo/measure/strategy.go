package measure

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
	"github.com/aimd-go/aimd/retry"
)

// Setup is what a strategy makes of a client.
type Setup struct {
	// Retry runs one operation, again if need be.
	Retry func(ctx context.Context, once func(context.Context) error) error
	// Window is where the strategy's window is read; nil: it has none.
	Window func() Window
	// Factor is what a cut keeps of the window; 0 without one.
	Factor float64
	// Close ends what the strategy began.
	Close func()
}

// Once leaves all retries to the client, if it makes any.
func Once() Setup {
	return Setup{Retry: func(ctx context.Context, once func(context.Context) error) error { return once(ctx) }, Close: func() {}}
}

// delays are those of the usual client, "full jitter" of
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
// from a service time of the demo to 20 s.
var delays = backoff.Exponential{Min: 100 * time.Millisecond, Max: 20 * time.Second, Factor: 2, Jitter: backoff.Full()}

// Backoff is plain exponential backoff, the thing to compare with: each operation
// retries by itself, for as long as it takes, and knows nothing of the others.
func Backoff() (Setup, error) {
	policy, err := retry.New(retry.Config{Backoff: delays, MaxAttempts: -1, If: transient})
	s := Once()
	s.Retry = func(ctx context.Context, once func(context.Context) error) error { return retry.Do(ctx, policy, once) }
	return s, err
}

// transient reports whether it may help to send a request again: not when the
// service understood it and says that it is wrong.
func transient(err error) bool {
	code := reach.Status(err)
	return code/100 != 4 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}

// Windowed has a limiter of this library, whose Do retries.
func Windowed(law func(...aimd.Option) (*aimd.Limiter, error), factor float64) (Setup, *aimd.Limiter, error) {
	lim, err := law(aimd.WithFactor(factor))
	if err != nil {
		return Setup{}, nil, err
	}
	window := func() Window {
		s := lim.State()
		return Window{Cwnd: s.Cwnd, Ssthresh: s.Ssthresh}
	}
	return Setup{Retry: lim.Do, Window: window, Factor: factor, Close: lim.Close}, lim, nil
}

// Each runs those of the strategies that only names, one after the other, and yields
// how it went. It ends with the first error, and with the first strategy that returns
// after the end of ctx.
func Each(ctx context.Context, strategies, only []string, run func(name string) (Result, error)) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		for _, name := range strategies {
			if !slices.Contains(only, name) || ctx.Err() != nil {
				continue
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
