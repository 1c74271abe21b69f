package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// Strategy is the behaviour of a client towards the service. Each part works if it is set; the zero value tries
// once. [Strategies] has ready strategies by name.
type Strategy struct {
	// Name is the strategy's name in results, unique in a scenario.
	Name string `yaml:"name"`
	// Retry is the wait before a retry. Without it the first error ends the operation; with a Window it is the
	// policy of the limiter, which retries for ever without it. A factor of 1 makes all waits equal, and a wait of
	// 1 ns is no wait. In files a jitter is "full", "equal", "proportional:J" (times U(1-J, 1+J)), "normal:J"
	// (times 1 + J*N(0,1)) or "uniform:LO:HI".
	Retry *backoff.Exponential `yaml:"retry"`
	// Attempts is the greatest number of attempts of an operation, the first included; 0: no limit.
	Attempts int `yaml:"attempts" in:"0..1000000"`
	// RetryAfter makes a retry wait at least for the Retry-After, as a Window always does.
	RetryAfter bool `yaml:"retry_after"`
	// Interactive lets only interactive operations be repeated: the first error ends background work.
	Interactive bool `yaml:"interactive"`
	// Window is a limiter.
	Window Window `yaml:"window"`
	// Budget is the Share of a retry.Budget: the greatest share of requests that may be retries, less than 1; 0: no
	// budget. A client gives an operation up if the budget refuses its retry.
	Budget float64 `yaml:"budget"`
	// Throttle is the K of a throttle.Throttle: the number of requests for each accepted request; 0: no
	// throttle. A client gives a rejected operation up.
	Throttle float64 `yaml:"throttle" in:"1..100"`
	// Sense is the share of the slots that must be free before a client sends; 0: clients do not look. If
	// fewer slots are free, the attempt fails unsent.
	Sense float64 `yaml:"sense" in:"0..1"`
	// Shared gives all clients one limiter, budget and throttle, as the goroutines of one process
	// may have. Without it each client has its own.
	Shared bool `yaml:"shared"`
	// Fleet gives all clients one window through a store; nil: each has its own.
	Fleet *Fleet `yaml:"fleet"`
}

// Window is a limiter: the decisions of aimd.Limiter, with a law. Zero fields take the
// defaults of aimd.Config.
type Window struct {
	// Law is one of Laws: "probe" (aimd.Probe), "tahoe", "reno", or a law of the program's own. Without
	// one there is no window.
	Law string `yaml:"law"`
	// Factor is the part of the window that a cut leaves, for tahoe and reno; 0 means 0.5.
	Factor float64 `yaml:"factor"`
	// Initial is the window at the start.
	Initial float64 `yaml:"initial"`
	// Min is the smallest window.
	Min float64 `yaml:"min"`
	// Max is the largest window.
	Max float64 `yaml:"max"`
	// NoPause turns the pauses off.
	NoPause bool `yaml:"no_pause"`
	// NoQuota makes the limiter ignore the quotas that a service reports.
	NoQuota bool `yaml:"no_quota"`
	// FIFO makes its queue first in, first out: it knows no deadlines, as that of a semaphore.
	FIFO bool `yaml:"fifo"`
	// Shadow is the time from the start for which it only watches (aimd.Config.Shadow).
	Shadow time.Duration `yaml:"shadow"`
	// NewLaw is used instead of Law if it is not nil.
	NewLaw window.NewLaw `yaml:"-"`
}

func (w Window) on() bool { return w.Law != "" || w.NewLaw != nil }

// MakeLaw returns the law; nil if there is no window, or no law with that name.
func (w Window) MakeLaw() window.NewLaw {
	if w.NewLaw != nil {
		return w.NewLaw
	}
	switch w.Law {
	case "probe":
		return aimd.Probe()
	case "tahoe":
		return aimd.Tahoe(w.Factor, w.Initial)
	case "reno":
		return aimd.Reno(w.Factor)
	case withoutIgnoredWord:
		return withoutIgnored(w.Factor)
	}
	return registered[w.Law]
}

func (w Window) settings(r *rand.Rand) limiter.Settings {
	s := limiter.Settings{Window: window.Settings{Initial: w.Initial, Min: w.Min, Max: w.Max}, Shadow: w.Shadow > 0, Rand: r}
	if w.NoPause {
		s.PauseMax = -1
	}
	return s
}

// withoutIgnoredWord names Reno without the set of ignored ids: each refusal of a burst cuts.
// Scenarios show with it what the set is for; it is no law to choose, and not one of Laws.
const withoutIgnoredWord = "reno-without-ignored"

func withoutIgnored(factor float64) window.NewLaw {
	return func(s window.Settings) window.Law {
		law := aimd.Reno(factor)(s)
		if _, wrong := law.(error); wrong {
			return law
		}
		return cutsForEach{law}
	}
}

type cutsForEach struct{ window.Law }

func (c cutsForEach) Answered(now time.Duration, s window.State, a window.End) window.State {
	a.Ignored = false
	return c.Law.Answered(now, s, a)
}

// laws are the names of all laws, and registered the laws of Register.
var (
	laws       = []string{"probe", "tahoe", "reno"}
	registered = map[string]window.NewLaw{}
)

// Register makes a law known by name: to Window.Law and so to scenario files, and to Strategies, which then has
// a strategy with that name. It is not safe for several goroutines: call it from main or init. It panics if the
// name is empty, has blanks, or is the name of a law or a strategy, or if the law is nil.
func Register(name string, law window.NewLaw) {
	_, taken := StrategyNamed(name)
	switch {
	case name == "" || strings.ContainsAny(name, " \t\r\n"):
		panic(fmt.Sprintf("sim: a law's name: %q is not allowed, want a word without blanks", name))
	case taken || Window{Law: name}.MakeLaw() != nil:
		panic(fmt.Sprintf("sim: a law's name: %q is not allowed, it is taken", name))
	case law == nil:
		panic(fmt.Sprintf("sim: the law %q is nil, want one", name))
	}
	laws, registered[name] = append(laws, name), law
}

// Laws returns the names of all laws, the laws of Register last.
func Laws() []string { return slices.Clone(laws) }

// Strategies returns the ready strategies, in the order in which to show them, with one for
// each law of Register at the end.
func Strategies() []Strategy {
	syncmusings := backoff.Exponential{Min: 50 * time.Millisecond, Max: 30 * time.Second, Factor: 2, Jitter: backoff.Proportional(0.6), CapLast: true}
	plain, full, equal := syncmusings, syncmusings, syncmusings
	plain.Jitter, full.Jitter, equal.Jitter = backoff.Jitter{}, backoff.Full(), backoff.Equal()
	fixed := backoff.Exponential{Min: 100 * time.Millisecond, Factor: 1}
	jittered := fixed
	jittered.Jitter = backoff.Proportional(0.5)
	aloha := backoff.Exponential{Min: time.Second, Max: time.Hour, Factor: 2, Jitter: backoff.Uniform(1, 2), CapLast: true}
	compound := backoff.Exponential{Min: 100 * time.Millisecond, Max: 15 * time.Minute, Factor: 2, Jitter: backoff.Normal(0.1), Compound: true}
	all := []Strategy{
		{Name: "none"},
		{Name: "fixed", Retry: &fixed},
		{Name: "fixed-jitter", Retry: &jittered},
		// Improve on exponential backoff's client.
		{Name: "backoff", Retry: &syncmusings},
		{Name: "backoff-no-jitter", Retry: &plain},
		{Name: "backoff-full", Retry: &full},
		{Name: "backoff-equal", Retry: &equal},
		// How not to crash a server's examples: 100 ms, 15 minutes, 2 and 0.1.
		{Name: "backoff-compound", Retry: &compound},
		// Exponential Backoff in Distributed Systems: "delay = MIN( R * T * F ^ N , M )", R in [1,2].
		{Name: "aloha", Retry: &aloha},
		{Name: "ethernet", Retry: &aloha, Sense: 0.1},
		// Exponential Backoff's defaults.
		{Name: "last-try", Retry: &backoff.Exponential{Min: time.Second, Max: 10 * time.Second, LastTry: true}},
		{Name: "backoff-budget", Retry: &syncmusings, Budget: 0.1},
		{Name: "backoff-throttle", Retry: &syncmusings, Throttle: 2},
		{Name: "tahoe-0.5", Window: Window{Law: "tahoe", Factor: 0.5}},
		{Name: "tahoe-0.9", Window: Window{Law: "tahoe", Factor: 0.9}},
		{Name: "reno-0.5", Window: Window{Law: "reno", Factor: 0.5}},
		{Name: "reno-0.9", Window: Window{Law: "reno", Factor: 0.9}},
		{Name: "probe", Window: Window{Law: "probe"}},
	}
	for _, name := range laws[3:] {
		all = append(all, Strategy{Name: name, Window: Window{Law: name}})
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
