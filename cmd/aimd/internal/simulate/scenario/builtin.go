package scenario

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// story is the order of the scenarios of the five texts (docs/sources.md): one by one,
// and within each as its author tells it.
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
	"retry-after", "drop-background", "retry-budget", "throttle",
	// Improve on exponential backoff
	"window-vs-backoff", "attempts-growth", "without-jitter", "tahoe-sawtooth", "limit-changes", "outage-pause",
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

// laws are the services and loads by which the law of aimd.New is judged, from what
// is usual to what is not: slots and what changes, rates, uplinks, fleets, timers
// that fire late, and sweeps.
var laws = []string{
	"law-s1", "law-s1j", "law-s2", "law-s3", "law-s4", "law-s4b", "law-s5", "law-s5c", "law-s5b", "law-s6",
	"law-s7a", "law-s7b", "law-s8a", "law-s8b", "law-s9", "law-s10",
	"law-r1", "law-r2", "law-r3", "law-r4", "law-r6", "law-r8",
	"law-k1", "law-k2", "law-k3",
	"law-f10c50", "law-f100c50", "law-f100c5", "law-f300c20", "law-f1000c5", "law-f1000c50", "law-f1c500",
	"law-store-8-100ms", "law-store-16-50ms", "law-store-16-5ms", "law-store-32-100ms", "law-store-64-20ms", "law-store-128-100ms",
	"law-sweep-20", "law-sweep-100", "law-sweep-500", "law-sweep-spread", "law-slots-4", "law-slots-32", "law-slots-256",
}

// Builtins are the names of the scenarios that come with aimd: the story, then
// those of the laws.
func Builtins() []string { return slices.Concat(story, laws) }

// Story are the names of those that tell what the texts say, in their order.
func Story() []string { return slices.Clone(story) }

// Named are the names of the built-in scenarios that a word means: one by its
// name, old or new, those that a pattern like "law-*" matches (path.Match), or all those of a
// family by what their names begin with: "law". None: there are no such scenarios.
func Named(word string) (names []string) {
	all := Builtins()
	if slices.Contains(all, Current(word)) {
		return []string{word}
	}
	for _, name := range all {
		if match, err := path.Match(word, name); err == nil && match || strings.HasPrefix(name, word+"-") {
			names = append(names, name)
		}
	}
	return names
}

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
