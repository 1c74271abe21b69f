package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/internal/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a scenario of no time: two strategies, one of them random, at a
// service that refuses, and is down for a while.
const small = `
server: {service: 50ms, slots: 5, refusal: {time: 5ms}, outages: [{from: 200ms, for: 300ms}]}
clients: {operations: 40, rate: 200}
runs: 5
strategies: [backoff, reno-0.9]
`

func parse(t testing.TB, text string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("small.yaml", []byte(text))
	require.NoError(t, err)
	return s
}

func run(t testing.TB, text string) Study {
	t.Helper()
	s := parse(t, text)
	ran := 0
	study, err := Run(t.Context(), s, func() { ran++ })
	require.NoError(t, err)
	assert.Equal(t, len(s.Points())*len(s.Strategies)*s.Runs, ran)
	return study
}

// "same seed, same bytes"
func TestSameSeedsSameBytes(t *testing.T) {
	all := func() string {
		var b bytes.Buffer
		study := run(t, small)
		require.NoError(t, study.JSON(&b))
		for _, r := range study.Rows {
			require.NoError(t, json.NewEncoder(&b).Encode(r.Typical))
		}
		return b.String()
	}
	want := all()
	assert.Equal(t, want, all())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	assert.Equal(t, want, all(), "on one core")
	assert.NotEqual(t, want, func() string {
		var b bytes.Buffer
		require.NoError(t, run(t, small+"seed: 7\n").JSON(&b))
		return b.String()
	}())
}

// One JSON object per strategy and line, over all seeds: scenario, strategy, runs, and for each of
// makespan_s, span ... an object {"min":,"median":,"max":} (null where it does not apply)"
func TestJSONHasTheShapeThatScriptsRelyOn(t *testing.T) {
	measures := []string{"makespan_s", "span", "attempts", "attempts_per_op", "p50_s", "p99_s", "first_send_p99_s", "peak_in_flight", "jain", "recovery_s", "outage_sent"}
	var b bytes.Buffer
	require.NoError(t, run(t, small).JSON(&b))
	require.NoError(t, run(t, "server: {service: 1s}\nclients: {operations: 1}\nstrategies: [none]\n").JSON(&b))
	var strategies []string
	for line := range strings.Lines(b.String()) {
		var row map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		var keys []string
		for k := range row {
			keys = append(keys, k)
		}
		assert.ElementsMatch(t, append([]string{"scenario", "strategy", "runs"}, measures...), keys)
		assert.Equal(t, "small", row["scenario"])
		strategy := row["strategy"].(string)
		strategies = append(strategies, strategy)
		for _, m := range measures {
			if strategy == "none" && (m == "recovery_s" || m == "outage_sent") {
				assert.Nil(t, row[m], m)
				continue
			}
			x, ok := row[m].(map[string]any)
			require.True(t, ok, "%s of %s is %v", m, strategy, row[m])
			assert.Len(t, x, 3)
			assert.LessOrEqual(t, x["min"], x["median"], m)
			assert.LessOrEqual(t, x["median"], x["max"], m)
		}
	}
	assert.Equal(t, []string{"backoff", "reno-0.9", "none"}, strategies)
	// What is measured only where a scenario asks for it.
	b.Reset()
	require.NoError(t, run(t, "server: {service: 1s, slots: 1, capacity: [{at: 2s, slots: 2}]}\nclients: {operations: 5, background: 0.5}\nstrategies: [fixed]\nwatch_from: 1s\nwatch_for: 1s\nregain: 0.8\n").JSON(&b))
	for _, m := range []string{"watch_use", "watch_attempts_per_op", "watch_errors", "watch_jain", "watch_peak_in_flight", "regain_s", "interactive_done", "background_done"} {
		assert.Contains(t, b.String(), `"`+m+`":{"min":`)
	}
}

func TestASweepTellsItsPoints(t *testing.T) {
	study := run(t, small+"sweep: [{field: clients.operations, values: [10, 20]}]\n")
	require.Len(t, study.Rows, 4)
	var b bytes.Buffer
	require.NoError(t, study.JSON(&b))
	assert.Equal(t, 2, strings.Count(b.String(), `"set":{"clients.operations":"20"}`))
	r, ok := study.Row("reno-0.9", []string{"clients.operations=20"})
	require.True(t, ok)
	assert.Equal(t, 20.0, r.Ranges["done"].Median.Value)
	assert.Empty(t, r.Typical.Traces, "a sweep has no traces")
}

func TestTheTypicalRunHasTraces(t *testing.T) {
	study := run(t, small)
	for _, r := range study.Rows {
		assert.NotEmpty(t, r.Typical.Traces)
		assert.Equal(t, r.Ranges["makespan_s"].Median.Value, r.Typical.Makespan.Seconds())
	}
}

func TestInterruption(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	s := parse(t, small+"max_events: 1000000000\n")
	s.Strategies = append(s.Strategies, sim.Strategy{Name: "endless", Retry: &backoff.Exponential{Min: 1, Factor: 1}})
	s.Server.Outages = []sim.Outage{{For: 30 * 24 * time.Hour}}
	s.Horizon = 30 * 24 * time.Hour
	s.Strategies = slices.Concat([]sim.Strategy{{Name: "none"}}, s.Strategies[2:])
	study, err := Run(ctx, s, interrupt)
	assert.ErrorIs(t, err, context.Canceled)
	for _, r := range study.Rows {
		assert.Equal(t, "none", r.Strategy.Name, "what never ended is left out")
	}
}

func TestTooManyEventsAreTold(t *testing.T) {
	study := run(t, small+"max_events: 20\n")
	assert.Equal(t, []string{
		"backoff: 5 of 5 runs were ended after too many events (max_events)",
		"reno-0.9: 5 of 5 runs were ended after too many events (max_events)",
	}, study.Warnings())
	assert.Less(t, study.Rows[0].Ranges["done"].Median.Value, 40.0)
	var lines bytes.Buffer
	require.NoError(t, study.JSON(&lines))
	assert.Equal(t, 2, strings.Count(lines.String(), `"makespan_s":null,"span":null,"attempts":{`), "a bound that says nothing")
	assert.Empty(t, run(t, small).Warnings())
	endless := run(t, small+"max_events: 20\nexpect: [{strategy: backoff, measure: makespan_s, never: true}]\n")
	assert.Len(t, endless.Warnings(), 1, "what is expected to have no end is no surprise")
}

func TestRanges(t *testing.T) {
	known := func(v float64) Number { return Number{Value: v} }
	for _, c := range []struct {
		numbers          []Number
		min, median, max Number
	}{
		{[]Number{known(3)}, known(3), known(3), known(3)},
		{[]Number{known(3), known(1), known(2)}, known(1), known(2), known(3)},
		{[]Number{known(4), known(3), known(1), known(2)}, known(1), known(2), known(4)},
		// What had no end by 5 took longer than what had one at 9.
		{[]Number{{5, true}, known(9), known(1)}, known(1), known(9), Number{5, true}},
	} {
		r := newRange(c.numbers)
		assert.Equal(t, Range{true, c.min, c.median, c.max}, r)
	}
}

func TestNumbersAreShownShort(t *testing.T) {
	for want, v := range map[string]float64{"0": 0, "17333": 17333, "25.2": 25.205, "1.25": 1.2509, "0.098": 0.0982, "12346": 12345.6, "-3": -3} {
		assert.Equal(t, want, Show(v))
	}
	assert.Equal(t, "> 60", Number{60, true}.String())
}

func TestVerdicts(t *testing.T) {
	const text = `
server: {service: 1s, slots: 1, outages: [{from: 10s, for: 10s}]}
clients: {operations: 3}
runs: 1
horizon: 30s
strategies:
  - none
  - {name: fixed, retry: {min: 1s, factor: 1}}
  - {name: never, retry: {min: 1h, factor: 1}}
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
	assert.Equal(t, []string{"none: makespan_s at server.slots 1 is > 1, want at most 1", "", ""}, problems)
}
