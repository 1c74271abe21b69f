package sim

import (
	"slices"
	"time"

	"github.com/aimd-go/aimd/backoff"
)

// Strategies returns the ready strategies, in the order in which to show them, with
// one for each law of Register at the end.
func Strategies() []Strategy {
	syncmusings := Retry{Kind: "exponential", Min: 50 * time.Millisecond, Max: 30 * time.Second, Factor: 2, Jitter: backoff.Proportional(0.6), CapLast: true}
	plain, full, equal := syncmusings, syncmusings, syncmusings
	plain.Jitter, full.Jitter, equal.Jitter = backoff.Jitter{}, backoff.Full(), backoff.Equal()
	fixed := Retry{Kind: "constant", Min: 100 * time.Millisecond}
	jittered := fixed
	jittered.Jitter = backoff.Proportional(0.5)
	aloha := Retry{Kind: "exponential", Min: time.Second, Max: time.Hour, Factor: 2, Jitter: backoff.Uniform(1, 2), CapLast: true}
	all := []Strategy{
		{Name: "none"},
		{Name: "fixed", Retry: fixed},
		{Name: "fixed-jitter", Retry: jittered},
		// Improve on exponential backoff's client.
		{Name: "backoff", Retry: syncmusings},
		{Name: "backoff-no-jitter", Retry: plain},
		{Name: "backoff-full", Retry: full},
		{Name: "backoff-equal", Retry: equal},
		{Name: "backoff-decorrelated", Retry: Retry{Kind: "decorrelated", Min: syncmusings.Min, Max: syncmusings.Max}},
		{Name: "fibonacci", Retry: Retry{Kind: "fibonacci", Min: syncmusings.Min, Max: syncmusings.Max, Jitter: backoff.Proportional(0.6)}},
		// How not to crash a server's examples: 100 ms, 15 minutes, 2 and 0.1.
		{Name: "backoff-compound", Retry: Retry{Kind: "compound", Min: 100 * time.Millisecond, Max: 15 * time.Minute, Factor: 2, Jitter: backoff.Normal(0.1)}},
		// Exponential Backoff in Distributed Systems: "delay = MIN( R * T * F ^ N , M )", R in [1,2].
		{Name: "aloha", Retry: aloha},
		{Name: "ethernet", Retry: aloha, Sense: Sense{Free: 0.1}},
		// Exponential Backoff's defaults.
		{Name: "last-try", Retry: Retry{Kind: "last-try"}},
		{Name: "backoff-budget", Retry: syncmusings, Budget: Budget{Share: 0.1}},
		{Name: "backoff-throttle", Retry: syncmusings, Throttle: Throttle{K: 2}},
		{Name: "tahoe-0.5", Window: Window{Law: "tahoe", Factor: 0.5}},
		{Name: "tahoe-0.9", Window: Window{Law: "tahoe", Factor: 0.9}},
		{Name: "reno-0.5", Window: Window{Law: "reno", Factor: 0.5}},
		{Name: "reno-0.9", Window: Window{Law: "reno", Factor: 0.9}},
		{Name: "probe", Window: Window{Law: "probe"}},
	}
	for _, l := range laws[builtin:] {
		all = append(all, Strategy{Name: l.name, Window: Window{Law: l.name}})
	}
	return all
}

// StrategyNamed returns the ready strategy of that name.
func StrategyNamed(name string) (Strategy, bool) {
	all := Strategies()
	i := slices.IndexFunc(all, func(s Strategy) bool { return s.Name == name })
	if i < 0 {
		return Strategy{}, false
	}
	return all[i], true
}
