package delays

import (
	"maps"
	"slices"
	"time"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/sim"
)

// settings are, for each kind of retry, those that make a difference to it.
var settings = map[string][]string{
	sim.FixedRetry:        {"min", "jitter"},
	sim.ExponentialRetry:  {"min", "max", "factor", "jitter", "cap-last"},
	sim.CompoundRetry:     {"min", "max", "factor", "jitter"},
	sim.LastTryRetry:      {"min", "max", "factor", "jitter"},
	sim.FibonacciRetry:    {"min", "max", "jitter"},
	sim.DecorrelatedRetry: {"min", "max", "factor"},
}

// Takes reports whether the setting, "min" or "cap-last", makes a difference to that
// kind of retry.
func Takes(kind, setting string) bool { return slices.Contains(settings[kind], setting) }

// published are the forms with the parameters that a text gives them.
var published = map[string]sim.Retry{
	"crash-blue":   {Kind: sim.CompoundRetry, Min: 100 * time.Millisecond, Max: 10 * time.Minute, Factor: 2.7, Jitter: backoff.Normal(0.1)},
	"crash-green":  {Kind: sim.CompoundRetry, Min: time.Second, Max: 5 * time.Minute, Factor: 1.5, Jitter: backoff.Normal(0.1)},
	"ethernet":     {Kind: sim.ExponentialRetry, Jitter: backoff.Uniform(1, 2), CapLast: true},
	"clojure":      {Kind: sim.LastTryRetry},
	"safe-clients": {Kind: sim.LastTryRetry, Min: 10 * time.Second, Max: 300*time.Second + 1, Jitter: backoff.Proportional(0.5)},
	"syncmusings":  {Kind: sim.ExponentialRetry, Min: 50 * time.Millisecond, Jitter: backoff.Proportional(0.6), CapLast: true},
}

// old are the names that published forms had before.
var old = map[string]string{
	"seed0-blue": "crash-blue", "seed0-green": "crash-green", "seed1": "ethernet",
	"seed2": "clojure", "seed3": "safe-clients", "seed4": "syncmusings",
}

// formNamed is the form of that name. A published one is complete, and takes no
// settings.
func formNamed(name string) (r sim.Retry, complete, known bool) {
	if now, ok := old[name]; ok {
		name = now
	}
	if r, ok := published[name]; ok {
		return r, true, true
	}
	r = sim.Retry{Kind: name}
	if name == sim.FixedRetry {
		r.Min = backoff.DefaultMin
	}
	return r, false, len(settings[name]) > 0
}

func forms() []string {
	return append(slices.Sorted(maps.Keys(settings)), slices.Sorted(maps.Keys(published))...)
}
