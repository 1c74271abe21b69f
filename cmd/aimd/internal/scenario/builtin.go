package scenario

import (
	"embed"
	"fmt"
	"slices"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// story is the order of the built-in scenarios: text by text (docs/sources.md), and
// within each as its author tells it.
var story = []string{
	// How not to crash a server
	"growing-delays", "crash-outage", "crash-backlog",
	// Exponential Backoff in Distributed Systems
	"submit-methods", "recovery-time",
	// Exponential Backoff, in Clojure
	"last-try-waits",
	// Safe Client Behaviour
	"sync-start", "sync-start-jitter", "jittered-start", "jitter-time", "jitter-time-mistake",
	"retry-fixed", "retry-fixed-jitter", "retry-jitter",
	"retry-backoff", "retry-backoff-jitter", "retry-capped",
	"partial-fixed", "partial-backoff", "partial-jitter",
	"retry-after", "retry-budget", "throttle",
	// Improve on exponential backoff
	"window-vs-backoff", "attempts-growth", "outage-pause",
	"backoff-or-window",
}

// old are the names that scenarios had before, which scripts know.
var old = map[string]string{
	"seed0-delays": "growing-delays", "seed0-outage": "crash-outage", "seed0-backlog": "crash-backlog",
	"seed1-submit": "submit-methods", "seed1-recovery": "recovery-time", "seed2-schedule": "last-try-waits",
	"seed3-sync-start": "sync-start", "seed3-sync-start-jitter": "sync-start-jitter", "seed3-ideal": "jittered-start",
	"seed3-jitter-time": "jitter-time", "seed3-jitter-time-mistake": "jitter-time-mistake",
	"seed3-retry-fixed": "retry-fixed", "seed3-retry-fixed-jitter": "retry-fixed-jitter", "seed3-retry-jitter": "retry-jitter",
	"seed3-backoff": "retry-backoff", "seed3-backoff-jitter": "retry-backoff-jitter", "seed3-backoff-capped": "retry-capped",
	"seed3-partial-fixed": "partial-fixed", "seed3-partial-backoff": "partial-backoff", "seed3-partial-jitter": "partial-jitter",
	"seed3-retry-after": "retry-after", "seed3-budget": "retry-budget", "seed3-throttle": "throttle",
	"seed4": "window-vs-backoff", "seed4-operations": "attempts-growth", "seed4-outage": "outage-pause",
}

// Builtins are the names of the scenarios that come with aimd, in the order of
// the story that they tell.
func Builtins() []string { return slices.Clone(story) }

// Current is the name that a scenario has now, which may be the given one.
func Current(name string) string {
	if now, ok := old[name]; ok {
		return now
	}
	return name
}

// Builtin returns the text of the built-in scenario of that name, old or new, and the
// name of its file for errors.
func Builtin(name string) (file string, text []byte, err error) {
	file = "builtin/" + Current(name) + ".yaml"
	text, err = builtin.ReadFile(file)
	if err != nil {
		return "", nil, fmt.Errorf("there is no scenario %q; aimd sim list shows all", name)
	}
	return file, text, nil
}
