package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/window"
)

type namedLaw struct {
	name string
	law  window.NewLaw
}

// laws are the laws that scenarios and strategies can name; the first builtin ones are there from the start.
var laws = []namedLaw{{"probe", aimd.Probe}, {"tahoe", aimd.Tahoe}, {"reno", aimd.Reno}}

const builtin = 3

// withoutIgnoredWord names Reno without the set of ignored ids: each refusal of a burst cuts.
// Scenarios show with it what the set is for; it is no law to choose, and not one of Laws.
const withoutIgnoredWord = "reno-without-ignored"

func withoutIgnored(s window.Settings) window.Law { return cutsForEach{aimd.Reno(s)} }

type cutsForEach struct{ window.Law }

func (c cutsForEach) Answered(now time.Duration, s window.State, a window.Answer) window.State {
	a.Ignored = false
	return c.Law.Answered(now, s, a)
}

// Register makes a law known by name: to Window.Law and so to scenario files, and to
// Strategies, which then has a strategy with that name. Call it from main or init, before
// anything runs: it is not safe for use by several goroutines.
//
// It panics if the name is empty, has blanks, or is the name of a law or a strategy, or if the law is nil.
func Register(name string, law window.NewLaw) {
	if name == "" || strings.ContainsAny(name, " \t\r\n") {
		panic(fmt.Sprintf("sim: a law's name: %q is not allowed, want a word without blanks", name))
	}
	_, strategy := StrategyNamed(name)
	if lawNamed(name) != nil || strategy {
		panic(fmt.Sprintf("sim: a law's name: %q is not allowed, it is taken", name))
	}
	if law == nil {
		panic(fmt.Sprintf("sim: the law %q is nil, want one", name))
	}
	laws = append(laws, namedLaw{name, law})
}

// Laws returns the names of all laws, the laws of Register last.
func Laws() []string {
	names := make([]string, len(laws))
	for i, l := range laws {
		names[i] = l.name
	}
	return names
}

// lawNamed is the law with that name, or nil.
func lawNamed(name string) window.NewLaw {
	if name == withoutIgnoredWord {
		return withoutIgnored
	}
	if i := slices.IndexFunc(laws, func(l namedLaw) bool { return l.name == name }); i >= 0 {
		return laws[i].law
	}
	return nil
}

// Strategies returns the ready strategies, in the order in which to show them, with one for
// each law of Register at the end.
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
		// How not to crash a server's examples: 100 ms, 15 minutes, 2 and 0.1.
		{Name: "backoff-compound", Retry: Retry{Kind: "compound", Min: 100 * time.Millisecond, Max: 15 * time.Minute, Factor: 2, Jitter: backoff.Normal(0.1)}},
		// Exponential Backoff in Distributed Systems: "delay = MIN( R * T * F ^ N , M )", R in [1,2].
		{Name: "aloha", Retry: aloha},
		{Name: "ethernet", Retry: aloha, Sense: 0.1},
		// Exponential Backoff's defaults.
		{Name: "last-try", Retry: Retry{Kind: "last-try"}},
		{Name: "backoff-budget", Retry: syncmusings, Budget: Budget{Share: 0.1}},
		{Name: "backoff-throttle", Retry: syncmusings, Throttle: 2},
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

// StrategyNamed returns the ready strategy with that name, and false if the name is unknown.
func StrategyNamed(name string) (Strategy, bool) {
	all := Strategies()
	i := slices.IndexFunc(all, func(s Strategy) bool { return s.Name == name })
	if i < 0 {
		return Strategy{}, false
	}
	return all[i], true
}
