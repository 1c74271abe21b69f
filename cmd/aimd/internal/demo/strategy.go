package demo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/fulljitter"
	"github.com/aimd-go/aimd/cmd/aimd/internal/measure"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
)

// strategy is one way to deal with a store that says SlowDown.
type strategy struct {
	// name is fixed, scripts know it.
	name  string
	setUp func(c Config, base aws.Config) (setup, error)
}

// setup is what a strategy makes of a client.
type setup struct {
	config aws.Config
	// retry runs one upload, again if need be.
	retry func(ctx context.Context, put func(context.Context) error) error
	// window is where the strategy's window is read, nil if it has none.
	window func() measure.Window
	factor float64
	close  func()
}

// strategies are all there are, in the order in which they run.
var strategies = []strategy{
	{"sdk-default", sdkDefault},
	{"backoff", plainBackoff},
	{"sdk-adaptive", sdkAdaptive},
	{"tahoe", windowed(aimd.NewTahoe)},
	{"reno", windowed(aimd.NewReno)},
}

// Strategies are the names of all strategies, in the order in which they run.
func Strategies() []string {
	var names []string
	for _, s := range strategies {
		names = append(names, s.name)
	}
	return names
}

// sdkDefault is what everybody starts with: 3 attempts, and a retry quota for
// the whole client.
func sdkDefault(_ Config, base aws.Config) (setup, error) {
	return unwindowed(base, func() aws.Retryer { return retry.NewStandard() }), nil
}

// sdkAdaptive is the SDK's own answer to throttling, a token bucket on the
// client's side, with its default number of attempts.
func sdkAdaptive(_ Config, base aws.Config) (setup, error) {
	return unwindowed(base, func() aws.Retryer { return retry.NewAdaptiveMode() }), nil
}

// plainBackoff retries each upload by itself until it succeeds.
func plainBackoff(_ Config, base aws.Config) (setup, error) {
	s := unwindowed(base, func() aws.Retryer { return aws.NopRetryer{} })
	s.retry = fulljitter.Retry
	return s, nil
}

func unwindowed(base aws.Config, retryer func() aws.Retryer) setup {
	base.Retryer = retryer
	return setup{config: base, retry: once, close: func() {}}
}

// windowed is the client with one call of contrib/aws added.
func windowed(law func(...aimd.Option) (*aimd.Limiter, error)) func(Config, aws.Config) (setup, error) {
	return func(c Config, base aws.Config) (setup, error) {
		lim, err := law(aimd.WithFactor(c.Factor))
		if err != nil {
			return setup{}, err
		}
		aimdaws.Limit(&base, lim)
		return setup{config: base, retry: once, window: windowOf(lim), factor: c.Factor, close: lim.Close}, nil
	}
}

func windowOf(lim *aimd.Limiter) func() measure.Window {
	return func() measure.Window {
		s := lim.State()
		return measure.Window{Cwnd: s.Cwnd, Ssthresh: s.Ssthresh}
	}
}

func once(ctx context.Context, put func(context.Context) error) error { return put(ctx) }
