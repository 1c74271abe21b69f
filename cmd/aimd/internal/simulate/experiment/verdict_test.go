package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVerdicts(t *testing.T) {
	const text = `
server: {service: 1s, slots: 1, outages: [{from: 10s, for: 10s}]}
clients: {operations: 3}
runs: 1
horizon: 30s
strategies:
  - none
  - {name: fixed, retry: {kind: constant, min: 1s}}
  - {name: never, retry: {kind: constant, min: 1h}}
expect:
`
	for expectation, want := range map[string]string{
		"{strategy: none, measure: done, is: 1}":                                    "",
		"{strategy: none, measure: done, is: 2}":                                    "none: done is 1, want 2",
		"{strategy: none, measure: done, is: 1.5, within: 0.5}":                     "",
		"{strategy: none, measure: done, is: 1.5, within: 10%}":                     "none: done is 1, want 1.5 within 10%",
		"{strategy: fixed, measure: makespan_s, at_least: 3, at_most: 3}":           "",
		"{strategy: fixed, measure: makespan_s, at_least: 4}":                       "fixed: makespan_s is 3, want at least 4",
		"{strategy: fixed, measure: makespan_s, at_most: 2}":                        "fixed: makespan_s is 3, want at most 2",
		"{strategy: fixed, measure: makespan_s, at_least: 1, at_most: 2}":           "fixed: makespan_s is 3, want 1 to 2",
		"{strategy: fixed, measure: makespan_s, never: true}":                       "fixed: makespan_s is 3, want no end to it",
		"{strategy: never, measure: makespan_s, never: true}":                       "",
		"{strategy: never, measure: makespan_s, at_least: 1}":                       "",
		"{strategy: never, measure: makespan_s, at_most: 100}":                      "never: makespan_s is > 30, want at most 100",
		"{strategy: never, measure: makespan_s, is: 1}":                             "never: makespan_s is > 30, want 1",
		"{strategy: fixed, over: none, measure: done, is: 3}":                       "",
		"{strategy: fixed, over: none, measure: done, is: 2}":                       "fixed: done over that of none is 3, want 2",
		"{strategy: fixed, over: never or none, measure: done, is: 3}":              "",
		"{strategy: none, over: fixed or never, measure: makespan_s, at_most: 0.1}": "none: makespan_s over that of fixed or never is > 0.33, want at most 0.1",
		"{strategy: fixed, over: never, measure: makespan_s, at_least: 0}":          "fixed: makespan_s over that of never is not there, want at least 0",
		"{strategy: fixed, over: none, measure: outage_sent, at_least: 0}":          "fixed: outage_sent over that of none is not there, want at least 0",
		"{strategy: fixed, measure: recovery_s, at_least: 0}":                       "fixed: recovery_s is not there, want at least 0",
	} {
		verdicts := run(t, text+"  - "+expectation+"\n").Verdicts()
		require.Len(t, verdicts, 1)
		assert.Equal(t, want, verdicts[0].Problem, expectation)
		assert.Equal(t, want == "", verdicts[0].Met, expectation)
	}
}

// What is expected without a point is expected at each.
func TestVerdictsOfASweep(t *testing.T) {
	const text = `
server: {service: 1s, slots: 1}
clients: {operations: 3}
sweep: [{field: server.slots, values: [1, 3]}]
strategies: [none]
expect:
  - {strategy: none, measure: makespan_s, at_most: 1}
  - {strategy: none, measure: done, is: 1, at: [server.slots=1]}
`
	var problems []string
	for _, v := range run(t, text).Verdicts() {
		problems = append(problems, v.Problem)
	}
	assert.Equal(t, []string{"none: makespan_s at server.slots=1 is > 1, want at most 1", "", ""}, problems)
}
