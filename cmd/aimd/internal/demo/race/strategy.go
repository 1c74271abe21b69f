package race

import (
	"context"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/retry"
)

// Strategy is a strategy at work.
type Strategy struct {
	Name string
	// Do does one operation: it attempts until that succeeds, the strategy gives up, or the context ends.
	Do func(ctx context.Context, attempt func(context.Context) error) error
	// Limiter is nil for a strategy without a window.
	Limiter *aimd.Limiter
}

// delays are the delays of the usual clients by the name of the strategy: "full jitter" of
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ up to 20 s, the same up to 1 s, which is the
// best bound in aimd demo, and the defaults of github.com/cenkalti/backoff/v5.
var delays = map[string]backoff.Exponential{
	"backoff":    {Min: 100 * time.Millisecond, Max: 20 * time.Second, Factor: 2, Jitter: backoff.Full()},
	"backoff-1s": {Min: 100 * time.Millisecond, Max: time.Second, Factor: 2, Jitter: backoff.Full()},
	"backoff-v5": {Min: 500 * time.Millisecond, Max: time.Minute, Factor: 1.5, Jitter: backoff.Proportional(0.5)},
}

// strategy puts a strategy to work: one of delays, a limiter with one of sim.Laws, or, under any other name, a client
// that is left alone.
func (r Race) strategy(name string) (Strategy, error) {
	w := sim.Window{Law: name}
	if TakesFactor(name) {
		w.Factor = r.Factor
	}
	law := w.MakeLaw()
	d, backs := delays[name]
	switch {
	case backs:
		// The usual client repeats a request that failed, whatever it was.
		p, err := retry.New(retry.Config{Backoff: d, MaxAttempts: -1, If: func(error) bool { return true }})
		return Strategy{Name: name, Do: func(ctx context.Context, once func(context.Context) error) error { return retry.Do(ctx, p, once) }}, err
	case law == nil:
		return Strategy{Name: name, Do: Once}, nil
	}
	l, err := aimd.New(aimd.Config{Name: name, Law: law})
	if err != nil {
		return Strategy{}, err
	}
	return Strategy{name, l.Do, l}, nil
}

// Once runs the operation and leaves all retries to it.
func Once(ctx context.Context, once func(context.Context) error) error { return once(ctx) }

// TakesFactor reports whether the law is tahoe or reno. A law of the program's own may read the factor too, but
// TakesFactor is false for it.
func TakesFactor(law string) bool { return law == "tahoe" || law == "reno" }
