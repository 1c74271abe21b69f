package client

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/sim"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/window"
)

// Exponential is what smira's client does with -exponential-backoff: seed 0's loop,
// with the figures of its constants.
func Exponential() sim.Strategy {
	return sim.Strategy{Name: "exponential", Retry: sim.Retry{
		Kind: sim.CompoundRetry, Min: 100 * time.Millisecond, Max: 5 * time.Minute, Factor: 2.71828, Jitter: backoff.Normal(0.1),
	}}
}

// Strategies are the ready strategies: exponential, and those of the simulator, but
// for carrier sense, which over HTTP nobody has.
func Strategies() []sim.Strategy {
	all := slices.DeleteFunc(sim.Strategies(), func(s sim.Strategy) bool { return s.Sense != sim.Sense{} })
	i := 1 + slices.IndexFunc(all, func(s sim.Strategy) bool { return s.Name == "fixed" })
	return slices.Insert(all, i, Exponential())
}

var laws = map[string]window.NewLaw{sim.TahoeLaw: aimd.Tahoe, sim.RenoLaw: aimd.Reno}

// Named returns the strategy of that name. Tahoe and Reno are there with any factor
// greater than 0 and less than 1: reno-0.75.
func Named(name string) (sim.Strategy, bool) {
	for _, s := range Strategies() {
		if s.Name == name {
			return s, true
		}
	}
	law, text, _ := strings.Cut(name, "-")
	factor, err := strconv.ParseFloat(text, 64)
	if laws[law] == nil || err != nil || !(factor > 0 && factor < 1) {
		return sim.Strategy{}, false
	}
	return sim.Strategy{Name: name, Window: sim.Window{Law: law, Factor: factor}}, true
}

// strategy is a strategy at work, for all clients.
type strategy struct {
	name string
	// do does one operation: it attempts until that succeeds, the strategy gives
	// up, or the context ends.
	do func(ctx context.Context, attempt func(context.Context) error) error
	// limiter is what they share; nil: none.
	limiter *limiter.Limiter
}

// newStrategy puts the strategy to work.
func newStrategy(s sim.Strategy) (strategy, error) {
	guards, err := guardsOf(s)
	if err != nil {
		return strategy{}, err
	}
	if law := laws[s.Window.Law]; law != nil {
		l, err := limiter.New(law, limiter.Config{
			Settings: limiter.Settings{Window: window.Settings{Factor: s.Window.Factor}}, Guards: guards,
		})
		if err != nil {
			return strategy{}, err
		}
		return strategy{s.Name, l.Do, l}, nil
	}
	c := retry.Config{
		Backoff: s.Retry.Delays(), MaxAttempts: -1, Guards: guards,
		// "If the request fails, the client repeats the request" (seed 0), whatever it was.
		If: func(error) bool { return true },
	}
	if c.Backoff == nil {
		c.MaxAttempts = 1
	}
	p, err := retry.New(c)
	if err != nil {
		return strategy{}, err
	}
	do := func(ctx context.Context, attempt func(context.Context) error) error { return retry.Do(ctx, p, attempt) }
	return strategy{name: s.Name, do: do}, nil
}

// guardsOf are the throttle and the budget, shared by all clients. The budget is
// the last: what the throttle rejects was not sent.
func guardsOf(s sim.Strategy) (attempt.Guards, error) {
	var guards attempt.Guards
	if k := s.Throttle.K; k > 0 {
		t, err := throttle.New(throttle.Config{K: k})
		if err != nil {
			return nil, err
		}
		guards = append(guards, t)
	}
	if share := s.Budget.Share; share > 0 {
		b, err := retry.NewBudget(retry.BudgetSettings{Share: share}, nil)
		if err != nil {
			return nil, err
		}
		guards = append(guards, b)
	}
	return guards, nil
}
