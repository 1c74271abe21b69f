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

// story is the order of the scenarios of the five texts: one by one, and within
// each as its author tells it.
var story = []string{
	"seed0-delays", "seed0-outage", "seed0-backlog",
	"seed1-submit", "seed1-recovery",
	"seed2-schedule",
	"seed3-sync-start", "seed3-sync-start-jitter", "seed3-ideal", "seed3-jitter-time", "seed3-jitter-time-mistake",
	"seed3-retry-fixed", "seed3-retry-fixed-jitter", "seed3-retry-jitter",
	"seed3-backoff", "seed3-backoff-jitter", "seed3-backoff-capped",
	"seed3-partial-fixed", "seed3-partial-backoff", "seed3-partial-jitter",
	"seed3-retry-after", "seed3-budget", "seed3-throttle",
	"seed4", "seed4-operations", "seed4-outage",
	"backoff-or-window",
}

// laws are the services and loads by which the law of aimd.New is judged, from what
// is usual to what is not: slots and what changes, rates, uplinks, fleets, and sweeps.
var laws = []string{
	"law-s1", "law-s1j", "law-s2", "law-s3", "law-s4", "law-s4b", "law-s5", "law-s5c", "law-s5b", "law-s6",
	"law-s7a", "law-s7b", "law-s8a", "law-s8b", "law-s9", "law-s10",
	"law-r1", "law-r2", "law-r3", "law-r4", "law-r6", "law-r8",
	"law-k1", "law-k2", "law-k3",
	"law-f10c50", "law-f100c50", "law-f100c5", "law-f300c20", "law-f1000c5", "law-f1000c50", "law-f1c500",
	"law-sweep-5ms", "law-sweep-20ms", "law-sweep-200ms", "law-sweep-1s",
	"law-slots-5ms", "law-slots-20ms", "law-slots-200ms",
}

// Builtins are the names of the scenarios that come with aimd: the story, then
// those of the laws.
func Builtins() []string { return slices.Concat(story, laws) }

// Story are the names of those that tell what the texts say, in their order.
func Story() []string { return slices.Clone(story) }

// Named are the names of the built-in scenarios that a word means: one by its
// name, those that a pattern like "law-*" matches (path.Match), or all those of a
// family by what their names begin with: "law". None: there are no such scenarios.
func Named(word string) (names []string) {
	all := Builtins()
	if slices.Contains(all, word) {
		return []string{word}
	}
	for _, name := range all {
		if match, err := path.Match(word, name); err == nil && match || strings.HasPrefix(name, word+"-") {
			names = append(names, name)
		}
	}
	return names
}

// Builtin returns the text of the built-in scenario of that name, and the name of
// its file for errors.
func Builtin(name string) (file string, text []byte, err error) {
	file = "builtin/" + name + ".yaml"
	text, err = builtin.ReadFile(file)
	if err != nil {
		return "", nil, fmt.Errorf("there is no scenario %q; aimd sim list shows all", name)
	}
	return file, text, nil
}
