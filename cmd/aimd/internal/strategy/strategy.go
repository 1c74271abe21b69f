// Package strategy makes the strategies of the simulator work on real requests.
package strategy

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/sim"
	"github.com/aimd-go/aimd/throttle"
)

// Exponential is the strategy of the program of "Exponential Backoff or how not to crash a server".
func Exponential() sim.Strategy {
	return sim.Strategy{Name: "exponential", Retry: &backoff.Exponential{
		Min: 100 * time.Millisecond, Max: 5 * time.Minute, Factor: 2.71828, Jitter: backoff.Normal(0.1), Compound: true,
	}}
}

// All returns the ready strategies: exponential, and the simulator's except carrier sense, which HTTP has not.
func All() []sim.Strategy {
	all := slices.DeleteFunc(sim.Strategies(), func(s sim.Strategy) bool { return s.Sense > 0 })
	i := 1 + slices.IndexFunc(all, func(s sim.Strategy) bool { return s.Name == "fixed" })
	return slices.Insert(all, i, Exponential())
}

// Named finds a strategy by its name. tahoe and reno may have any factor greater than 0 and
// less than 1: reno-0.75.
func Named(name string) (sim.Strategy, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(s sim.Strategy) bool { return s.Name == name }); i >= 0 {
		return all[i], true
	}
	law, text, _ := strings.Cut(name, "-")
	factor, err := strconv.ParseFloat(text, 64)
	if !TakesFactor(law) || err != nil || !(factor > 0 && factor < 1) {
		return sim.Strategy{}, false
	}
	return sim.Strategy{Name: name, Window: sim.Window{Law: law, Factor: factor}}, true
}

// Strategy is a strategy at work, for all clients. Make one with New.
type Strategy struct {
	Name string
	// Do does one operation: it attempts until that succeeds, the strategy gives up, or the context ends.
	Do func(ctx context.Context, attempt func(context.Context) error) error
	// Limiter is shared by all clients. It is nil for a strategy without a window.
	Limiter *aimd.Limiter
}

// New makes the strategy work.
func New(s sim.Strategy) (Strategy, error) {
	guards, err := guardsOf(s)
	if err != nil {
		return Strategy{}, err
	}
	law := s.Window.MakeLaw()
	if law == nil {
		p, err := policyOf(s, guards)
		do := func(ctx context.Context, once func(context.Context) error) error { return retry.Do(ctx, p, once) }
		return Strategy{Name: s.Name, Do: do}, err
	}
	w := s.Window
	c := aimd.Config{Name: s.Name, Guards: guards, InitialWindow: w.Initial}
	c.Rules = aimd.Rules{MinWindow: w.Min, MaxWindow: w.Max, MaxAttempts: s.Attempts}
	if s.Retry != nil {
		if c.Policy, err = policyOf(s, nil); err != nil {
			return Strategy{}, err
		}
	}
	c.Law = law
	l, err := aimd.New(c)
	if err != nil {
		return Strategy{}, err
	}
	return Strategy{s.Name, l.Do, l}, nil
}

// Close ends what the strategy began.
func (s Strategy) Close() {
	if s.Limiter != nil {
		s.Limiter.Close()
	}
}

// policyOf is the wait before a retry. "If the request fails, the client repeats the
// request" (How not to crash a server), whatever it was.
func policyOf(s sim.Strategy, guards []attempt.Guard) (*retry.Policy, error) {
	c := retry.Config{MaxAttempts: 1, Guards: guards, If: func(error) bool { return true }}
	if s.Retry != nil {
		c.Backoff, c.MaxAttempts = *s.Retry, cmp.Or(s.Attempts, -1)
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
	if s.Budget != 0 {
		b, err := retry.NewBudget(retry.BudgetConfig{Share: s.Budget})
		if err != nil {
			return nil, err
		}
		guards = append(guards, b)
	}
	return guards, nil
}

// TakesFactor reports whether the law is tahoe or reno. A law of sim.Register may read the
// factor too, but TakesFactor is false for it.
func TakesFactor(law string) bool { return law == "tahoe" || law == "reno" }
