package scenario

import (
	"embed"
	"fmt"
	"slices"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// story is the order of the built-in scenarios: seed by seed, and within each as
// its author tells it.
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

// Builtins are the names of the scenarios that come with aimd, in the order of
// the story that they tell.
func Builtins() []string { return slices.Clone(story) }

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
