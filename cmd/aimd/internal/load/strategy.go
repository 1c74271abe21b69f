package load

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/sim"
	"github.com/aimd-go/aimd/throttle"
)

// exponential is the strategy -exponential-backoff of the program of "Exponential Backoff
// or how not to crash a server", with the program's constants.
func exponential() sim.Strategy {
	return sim.Strategy{Name: "exponential", Retry: sim.Retry{
		Kind: "compound", Min: 100 * time.Millisecond, Max: 5 * time.Minute, Factor: 2.71828, Jitter: backoff.Normal(0.1),
	}}
}

// strategies returns the ready strategies: exponential, and all strategies of the simulator
// except carrier sense, which HTTP does not have.
func strategies() []sim.Strategy {
	all := slices.DeleteFunc(sim.Strategies(), func(s sim.Strategy) bool { return s.Sense > 0 })
	i := 1 + slices.IndexFunc(all, func(s sim.Strategy) bool { return s.Name == "fixed" })
	return slices.Insert(all, i, exponential())
}

// named finds a strategy by its name. tahoe and reno may have any factor greater than 0 and
// less than 1: reno-0.75.
func named(name string) (sim.Strategy, bool) {
	all := strategies()
	if i := slices.IndexFunc(all, func(s sim.Strategy) bool { return s.Name == name }); i >= 0 {
		return all[i], true
	}
	law, text, _ := strings.Cut(name, "-")
	factor, err := strconv.ParseFloat(text, 64)
	if !value.TakesFactor(law) || err != nil || !(factor > 0 && factor < 1) {
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
	// limiter is shared by all clients. It is nil for a strategy without a window.
	limiter *limiter.Limiter
}

// newStrategy makes a strategy of the simulator work on real requests.
func newStrategy(s sim.Strategy) (strategy, error) {
	guards, err := guardsOf(s)
	if err != nil {
		return strategy{}, err
	}
	law := s.Window.MakeLaw()
	if law == nil {
		p, err := policyOf(s.Retry, guards)
		if err != nil {
			return strategy{}, err
		}
		do := func(ctx context.Context, once func(context.Context) error) error { return retry.Do(ctx, p, once) }
		return strategy{name: s.Name, do: do}, nil
	}
	w := s.Window
	c := limiter.Config{
		Rules:         limiter.Rules{MinWindow: w.Min, MaxWindow: w.Max, Factor: w.Factor, Patience: w.Patience, MaxAttempts: s.Retry.Attempts},
		InitialWindow: w.Initial, Guards: guards,
	}
	if s.Retry.Delays() != nil {
		if c.Policy, err = policyOf(s.Retry, nil); err != nil {
			return strategy{}, err
		}
	}
	l, err := limiter.New(law, c)
	if err != nil {
		return strategy{}, err
	}
	return strategy{s.Name, l.Do, l}, nil
}

// policyOf is the wait before a retry. "If the request fails, the client repeats the
// request" (How not to crash a server), whatever it was.
func policyOf(r sim.Retry, guards []attempt.Guard) (*retry.Policy, error) {
	c := retry.Config{Backoff: r.Delays(), MaxAttempts: -1, Guards: guards, If: func(error) bool { return true }}
	if c.Backoff == nil {
		c.MaxAttempts = 1
	}
	return retry.New(c)
}

// guardsOf returns the throttle and the budget, which all clients share. The budget is the
// last, since a request that the throttle rejects is not sent.
func guardsOf(s sim.Strategy) ([]attempt.Guard, error) {
	var guards []attempt.Guard
	if s.Throttle != 0 {
		t, err := throttle.New(throttle.Config{K: s.Throttle})
		if err != nil {
			return nil, err
		}
		guards = append(guards, t)
	}
	if s.Budget != (sim.Budget{}) {
		b, err := retry.NewBudget(retry.BudgetSettings(s.Budget), nil)
		if err != nil {
			return nil, err
		}
		guards = append(guards, b)
	}
	return guards, nil
}
