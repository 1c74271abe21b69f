package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/sim"
)

// A scenario file needs nothing but server and clients to run against all strategies.
func TestServerAndClientsSuffice(t *testing.T) {
	s, err := Parse("dir/mine.yaml", []byte("\ufeffserver: {slots: 5}\nclients: {operations: 10}\n")) // some editors begin so
	require.NoError(t, err)
	assert.Equal(t, "mine", s.Name)
	assert.Equal(t, 5, s.Server.Slots)
	assert.Equal(t, 10, s.Clients.Operations)
	assert.Equal(t, sim.Strategies(), s.Strategies)
	assert.Len(t, s.Points(), 1)
}

func TestEveryKindOfField(t *testing.T) {
	s, err := Parse("a.yaml", []byte(`
# A comment.
title: "a: b"
claim: >-
  two
  lines
seed: 18446744073709551615
server:
  service: 1m30s
  rate: {per_second: .5, count_refused: true}
  outages:
    - {from: 0s, for: 10s}
    - from: 20s
      for: 10s
      kind: silent
clients: {}
strategies:
  - reno-0.9
  - name: mine
    retry: {jitter: "proportional:0.6"}
plot:
  - kind: answers
    to: 5s
expect:
  - {strategy: mine, measure: attempts, is: -1.5, within: 6%}
  - {strategy: reno-0.9, measure: attempts, at_least: 0}
`))
	require.NoError(t, err)
	assert.Equal(t, "a: b", s.Title)
	assert.Equal(t, "two lines", s.Claim)
	assert.Equal(t, uint64(18446744073709551615), s.Seed)
	assert.Equal(t, 90*time.Second, s.Server.Service)
	assert.Equal(t, sim.Rate{PerSecond: 0.5, CountRefused: true}, s.Server.Rate)
	assert.Equal(t, []sim.Outage{{For: 10 * time.Second}, {From: 20 * time.Second, For: 10 * time.Second, Kind: "silent"}}, s.Server.Outages)
	assert.Equal(t, []string{"reno-0.9", "mine"}, []string{s.Strategies[0].Name, s.Strategies[1].Name})
	assert.Equal(t, "proportional:0.6", s.Strategies[1].Retry.Jitter.String())
	assert.Equal(t, 5*time.Second, s.Plot[0].To)
	assert.Equal(t, -1.5, *s.Expect[0].Is)
	assert.Equal(t, Tolerance("6%"), s.Expect[0].Within)
	assert.Zero(t, *s.Expect[1].AtLeast)
}

// Every error has file, line and field.
func TestErrorsNameFileLineAndField(t *testing.T) {
	const server = "server: {slots: 1}\n"
	const both = server + "clients: {}\n"
	const swept = both + "sweep:\n  - field: server.slots\n    values: [1, 2]\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":                  {"", "x.yaml: server: is missing; a scenario needs server and clients"},
		"only a comment":         {"# nothing\n", "x.yaml: server: is missing"},
		"no clients":             {server, "x.yaml:1: clients: is missing"},
		"no mapping":             {"hello\n", "x.yaml:1: hello is not allowed, want fields: name, title,"},
		"a list":                 {"- 1\n", `x.yaml:1: - 1 is not allowed, want fields: name,`},
		"no YAML":                {"server: [1\n", `x.yaml:1: sequence end token ']' not found`},
		"tabs":                   {"server:\n\tslots: 1\n", `x.yaml:2: found character '	' that cannot start any token`},
		"two documents":          {both + "---\nname: b\n", "x.yaml:4: there is a second document, want one scenario to a file"},
		"unknown field":          {both + "nonsense: 1\n", "x.yaml:3: nonsense: there is no such field, want one of name, title, claim, server,"},
		"unknown field below":    {"server:\n  slot: 1\nclients: {}\n", "x.yaml:2: server.slot: there is no such field, want one of connect, connect_spread, service, blocks, spread,"},
		"given twice":            {"server: {}\nclients:\n  count: 1\n  rate: 2\n  count: 3\n", `x.yaml:5: mapping key "count" already defined at [3:3]`},
		"text for a number":      {"server:\n  slots: many\nclients: {}\n", "x.yaml:2: server.slots: many is not allowed, want a whole number"},
		"fraction":               {"server:\n  slots: 1.5\nclients: {}\n", "x.yaml:2: server.slots: 1.5 is not allowed, want a whole number"},
		"huge number":            {"server:\n  slots: 99999999999999999999\nclients: {}\n", "x.yaml:2: server.slots: 99999999999999999999 is not allowed, want a whole number"},
		"number for a duration":  {"server:\n  service: 100\nclients: {}\n", "x.yaml:2: server.service: 100 is not allowed, want a duration like 100ms"},
		"mapping for a number":   {"server:\n  slots: {a: 1}\nclients: {}\n", `x.yaml:2: server.slots: {a: 1} is not allowed, want a whole number`},
		"list for a mapping":     {"server: []\nclients: {}\n", `x.yaml:1: server: [] is not allowed, want fields: connect,`},
		"number for a list":      {"server:\n  outages: 3\nclients: {}\n", "x.yaml:2: server.outages: 3 is not allowed, want a list"},
		"nothing":                {"server:\n  slots:\nclients: {}\n", `x.yaml:2: server.slots: no value is not allowed, want a whole number`},
		"anchor":                 {"server: &a {slots: 1}\nclients: {}\n", `x.yaml:1: server: &a {slots: 1} is not allowed, want fields: connect,`},
		"alias":                  {"server: {slots: 1}\nclients: *a\n", `x.yaml:2: clients: *a is not allowed, want fields: count,`},
		"tag":                    {"server:\n  slots: !!int 3\nclients: {}\n", `x.yaml:2: server.slots: !!int 3 is not allowed, want a whole number`},
		"merge key":              {"server:\n  <<: {slots: 1}\nclients: {}\n", "x.yaml:2: server.<<: there is no such field"},
		"negative":               {"server:\n\n  slots: -3\nclients: {}\n", "x.yaml:3: server.slots: -3 is not allowed, want a number from 0 to"},
		"in a list":              {"server:\n  outages:\n    - for: 1s\n    - from: 10s\n      for: -1s\nclients: {}\n", "x.yaml:5: server.outages[1].for: -1s is not allowed"},
		"not given, but wrong":   {"server: {}\nclients:\n  arrivals: poisson\n", "x.yaml:2: clients.rate: 0 is not allowed, want one with arrivals: poisson"},
		"jitter":                 {both + "strategies:\n  - name: a\n    retry: {jitter: much}\n", "x.yaml:5: strategies[0].retry.jitter: much is not allowed, want "},
		"no ready strategy":      {both + "strategies: [renault]\n", "x.yaml:3: strategies[0]: renault is not allowed, want fields or one of none, fixed,"},
		"strategy without name":  {both + "strategies:\n  - retry: {factor: 1}\n", "x.yaml:4: strategies[0].name: \"\" is not allowed, want a name"},
		"strategies of a name":   {both + "strategies: [none, none]\n", "x.yaml:3: strategies[1].name: none is not allowed, want another name"},
		"name":                   {"name: A b\n" + both, `x.yaml:1: name: "A b" is not allowed, want up to 64 of a-z, 0-9`},
		"too many runs":          {both + "runs: 10001\n", "x.yaml:3: runs: 10001 is not allowed, want a number from 0 to 10000"},
		"three sweeps":           {swept + "  - {field: a, values: [1]}\n  - {field: b, values: [1]}\n", "x.yaml:3: sweep: 3 sweeps are not allowed, want 1 or 2"},
		"sweep of a bad field":   {both + "sweep:\n  - {field: server.slot, values: [1]}\n", `x.yaml:4: sweep[0].values[0]: 1: server.slot: there is no such field, want one of connect,`},
		"sweep of runs":          {both + "sweep:\n  - {field: runs, values: [1]}\n", `x.yaml:4: sweep[0].field: "runs" is not allowed, want a field of server, clients or strategies`},
		"sweep of nothing":       {both + "sweep:\n  - {field: server.slots}\n", "x.yaml:4: sweep[0].values: 0 values are not allowed"},
		"sweep value of no kind": {both + "sweep:\n  - field: server.slots\n    values: [1, x]\n", `x.yaml:5: sweep[0].values[1]: x: server.slots: x is not allowed, want a whole number`},
		"sweep value too small":  {both + "sweep:\n  - field: server.slots\n    values: [1, -1]\n", "x.yaml:5: sweep[0].values[1]: -1: server.slots: -1 is not allowed"},
		"sweep value twice":      {both + "sweep:\n  - field: server.slots\n    values: [1, 1]\n", "x.yaml:5: sweep[0].values[1]: 1 is there twice"},
		"sweep too long":         {both + "sweep:\n  - field: server.slots\n    values: [" + strings.Repeat("1,", 2000) + "]\n", "x.yaml:5: sweep[0].values: 2000 values are not allowed"},
		"plot of no kind":        {both + "plot:\n  - kind: pie\n", `x.yaml:4: plot[0].kind: "pie" is not allowed, want one of answers, requests,`},
		"plot of nobody":         {both + "plot:\n  - kind: answers\n    strategies: [me]\n", `x.yaml:5: plot[0].strategies: "me" is not allowed, want one of none,`},
		"curve without sweep":    {both + "plot:\n  - {kind: curve, measure: attempts}\n", "x.yaml:4: plot[0].kind: curve is not allowed with 0 sweeps"},
		"curve of no measure":    {swept + "plot:\n  - {kind: curve, measure: beauty}\n", `x.yaml:7: plot[0].measure: "beauty" is not allowed, want one of makespan_s,`},
		"curve without measure":  {swept + "plot:\n  - {kind: curve}\n", `x.yaml:7: plot[0].measure: "" is not allowed: curve and map need a measure`},
		"map of one strategy":    {swept + "  - {field: clients.count, values: [1]}\nplot:\n  - {kind: map, measure: attempts, strategies: [none]}\n", "x.yaml:8: plot[0].strategies: 1 strategies are not allowed"},
		"measure for answers":    {both + "plot:\n  - {kind: answers, measure: attempts}\n", `x.yaml:4: plot[0].measure: "attempts" is not allowed: curve and map need a measure`},
		"axis backwards":         {both + "plot:\n  - {kind: answers, from: 2s, to: 1s}\n", `x.yaml:4: plot[0]: from 2s to 1s per 0s, top 0 is not allowed`},
		"figures of a name":      {both + "plot:\n  - kind: answers\n  - kind: answers\n", `x.yaml:5: plot[1].name: "" is the name of another plot`},
		"expecting nothing":      {both + "expect:\n  - {strategy: none, measure: attempts}\n", "x.yaml:4: expect[0]: want either is, or at_least or at_most or both, or never: true"},
		"expecting too much":     {both + "expect:\n  - {strategy: none, measure: attempts, is: 1, at_least: 1}\n", "x.yaml:4: expect[0]: want either is, or at_least"},
		"expecting all":          {both + "expect:\n  - {strategy: none, measure: attempts, is: 1, at_most: 1, never: true}\n", "x.yaml:4: expect[0]: want either is, or at_least"},
		"notes on a curve":       {swept + "plot:\n  - {kind: curve, measure: attempts, notes: [{text: a}]}\n", "x.yaml:7: plot[0].notes: is not allowed: only figures over time have notes"},
		"no text":                {both + "title:\n", "x.yaml:3: title: no value is not allowed, want text"},
		"expecting of nobody":    {both + "expect:\n  - {measure: attempts, is: 1}\n", `x.yaml:4: expect[0].strategy: "" is not allowed, want one of none,`},
		"tolerance":              {both + "expect:\n  - {strategy: none, measure: attempts, is: 1, within: -6%}\n", "x.yaml:4: expect[0].within: -6% is not allowed, want a number from 0 like 0.5, or a share like 6%"},
		"tolerance of nothing":   {both + "expect:\n  - {strategy: none, measure: attempts, at_least: 1, within: 1}\n", "x.yaml:4: expect[0].within: 1 is not allowed without is"},
		"fields without values":  {swept + "  - {field: clients.count and clients.operations, values: [1]}\n", `x.yaml:6: sweep[1].values[0]: 1 is not allowed, want a value for each of clients.count and clients.operations`},
		"expecting no point":     {swept + "expect:\n  - {strategy: none, measure: attempts, is: 1, at: [server.slots=3]}\n", `x.yaml:7: expect[0].at: ["server.slots=3"] is no point of the sweep, want one like ["server.slots=1"]`},
		"point without sweep":    {both + "expect:\n  - {strategy: none, measure: attempts, is: 1, at: [a]}\n", `x.yaml:4: expect[0].at: ["a"] is no point of the sweep`},
		"too long":               {strings.Repeat("#", MaxSize+1), "x.yaml: more than 16384 bytes are too many for a scenario"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(c.text))
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), c.want), "got  %s\nwant %s", err, c.want)
		})
	}
}

func TestAllErrorsAreToldByLine(t *testing.T) {
	_, err := Parse("x.yaml", []byte("clients: {count: x}\nserver:\n  slots: y\n  service: 1\n"))
	assert.EqualError(t, err, strings.Join([]string{
		"x.yaml:1: clients.count: x is not allowed, want a whole number",
		"x.yaml:3: server.slots: y is not allowed, want a whole number",
		"x.yaml:4: server.service: 1 is not allowed, want a duration like 100ms",
	}, "\n"))
}

func TestSettings(t *testing.T) {
	text := []byte("server: {slots: 1, outages: [{for: 1s}]}\nclients: {}\nstrategies: [none, reno-0.5]\n")
	s, err := Parse("x.yaml", text, "server.slots=7", "strategies=[reno-0.9, {name: mine}]", "server.outages[0].for=5s", "runs=3", "title=a = b")
	require.NoError(t, err)
	assert.Equal(t, 7, s.Server.Slots)
	assert.Equal(t, 5*time.Second, s.Server.Outages[0].For)
	assert.Equal(t, 3, s.Runs)
	assert.Equal(t, "a = b", s.Title)
	assert.Equal(t, "mine", s.Strategies[1].Name)

	// What all goroutines of one process share stays shared, whichever strategies are chosen.
	shared := "server: {}\nclients: {}\nstrategies: [none, {name: probe, window: {law: probe, initial: 7}, shared: true}]\n"
	s, err = Parse("x.yaml", []byte(shared), "strategies=[probe, reno-0.9]")
	require.NoError(t, err)
	assert.Equal(t, sim.Strategy{Name: "probe", Window: sim.Window{Law: "probe", Initial: 7}, Shared: true}, s.Strategies[0])
	assert.Equal(t, sim.Strategy{Name: "reno-0.9", Window: sim.Window{Law: "reno", Factor: 0.9}, Shared: true}, s.Strategies[1])

	for setting, want := range map[string]string{
		"server.slots":             "--set server.slots: want field=value, like server.slots=100",
		"server.slots=x":           "--set server.slots=x: server.slots: x is not allowed, want a whole number",
		"server.slots=":            "--set server.slots=: server.slots: no value is not allowed, want a whole number",
		"server.slots=-1":          "x.yaml:1: server.slots: -1 is not allowed, want a number from 0",
		"server.slot=1":            "--set server.slot=1: server.slot: there is no such field, want one of connect,",
		"server.outages[1].for=1s": "--set server.outages[1].for=1s: server.outages[1]: there is no such item; the list has 1",
		"server.outages[x].for=1s": "--set server.outages[x].for=1s: server.outages[x]: there is no such item; the list has 1",
		"server.slots.x=1":         "--set server.slots.x=1: server.slots: x: 1 is not allowed, want a whole number",
		"server.service=[":         "--set server.service=[: sequence end token ']' not found",
		"=1":                       "--set =1: want field=value, like server.slots=100",
	} {
		_, err := Parse("x.yaml", text, setting)
		require.Error(t, err, setting)
		assert.True(t, strings.HasPrefix(err.Error(), want) || strings.HasPrefix(err.Error(), strings.Replace(want, ": : ", ": ", 1)), "%s\ngot  %v\nwant %s", setting, err, want)
	}
}

func TestPoints(t *testing.T) {
	s, err := Parse("x.yaml", []byte(`
server: {slots: 1, outages: [{for: 1s}]}
clients: {}
sweep:
  - {field: "server.outages[0].for", values: [10s, 20s]}
  - {field: clients.count, values: [1, 2]}
`))
	require.NoError(t, err)
	var at []string
	for _, p := range s.Points() {
		at = append(at, strings.Join(p.At, " "))
		assert.Equal(t, at[len(at)-1], "server.outages[0].for="+p.Server.Outages[0].For.String()+" clients.count="+string(rune('0'+p.Clients.Count)))
	}
	assert.Equal(t, []string{
		"server.outages[0].for=10s clients.count=1", "server.outages[0].for=10s clients.count=2",
		"server.outages[0].for=20s clients.count=1", "server.outages[0].for=20s clients.count=2",
	}, at)
	assert.Equal(t, time.Second, s.Server.Outages[0].For, "points share nothing with the scenario")

	s, err = Parse("x.yaml", []byte("server: {}\nclients: {}\nstrategies: [{name: a, retry: {min: 1s, factor: 1}}]\nsweep: [{field: \"strategies[0].retry.min\", values: [2s, 3s]}]\n"))
	require.NoError(t, err)
	assert.Equal(t, backoff.Exponential{Min: 3 * time.Second, Factor: 1}, *s.Points()[1].Strategies[0].Retry)
	assert.Equal(t, backoff.Exponential{Min: time.Second, Factor: 1}, *s.Strategies[0].Retry)

	s, err = Parse("x.yaml", []byte("server: {}\nclients: {}\nsweep: [{field: clients.count and server.slots, values: [1 and 5, 3 and 15]}]\n"))
	require.NoError(t, err)
	require.Len(t, s.Points(), 2)
	assert.Equal(t, []string{"clients.count=3", "server.slots=15"}, s.Points()[1].At)
	assert.Equal(t, []int{3, 15}, []int{s.Points()[1].Clients.Count, s.Points()[1].Server.Slots})
}

func TestTolerance(t *testing.T) {
	for _, text := range []Tolerance{"%", "-1", "NaN", "Inf", "6%%", "six"} {
		_, err := text.off(1)
		assert.ErrorContains(t, err, "a share like 6%", text)
	}
	assert.True(t, Tolerance("").Allows(2085, 2085))
	assert.False(t, Tolerance("0").Allows(2086, 2085))
	assert.True(t, Tolerance("6%").Allows(-94.1, -100))
	assert.False(t, Tolerance("6%").Allows(106.1, 100))
	assert.True(t, Tolerance("0.05").Allows(25.205, 25.2))
	assert.True(t, Tolerance("1e2").Allows(1, 100))
}

func TestBuiltins(t *testing.T) {
	entries, err := builtin.ReadDir("builtin")
	require.NoError(t, err)
	assert.Len(t, entries, len(Builtins()), "all of them have a place")
	for _, name := range Builtins() {
		file, text, err := Builtin(name)
		require.NoError(t, err)
		s, err := Parse(file, text)
		require.NoError(t, err)
		assert.Equal(t, name, s.Name)
		assert.NotEmpty(t, s.Title, name)
		assert.NotEmpty(t, s.Claim, name)
		if slices.Contains(Story(), name) {
			assert.NotEmpty(t, s.Plot, name)
		}
		for _, p := range s.Plot {
			assert.NotEmpty(t, p.Caption, name)
		}
	}
	_, _, err = Builtin("no-such")
	assert.EqualError(t, err, `there is no scenario "no-such"; aimd sim list shows all`)
}

func TestNamed(t *testing.T) {
	assert.Equal(t, []string{"sync-start"}, Named("sync-start"), "a name, though it begins others")
	assert.Equal(t, []string{"crash-outage", "crash-backlog", "crash-interval", "crash-clients"}, Named("crash"))
	assert.Equal(t, Index.Others[0].Scenarios, Named("law"))
	assert.Equal(t, Named("law"), Named("law-*"))
	assert.Equal(t, Index.Others[1].Scenarios, Named("harm"))
	assert.Equal(t, []string{"law-outage-errors", "law-outage-silence"}, Named("law-outage-*"))
	for _, word := range []string{"", "*.yaml", "law-", "la", "[", "nonsense", "./law"} {
		assert.Equal(t, []string{word}, Named(word))
	}
}

// Any bytes: a clear error, or a scenario that runs to an end.
func FuzzParse(f *testing.F) {
	for _, name := range Builtins() {
		_, text, err := Builtin(name)
		require.NoError(f, err)
		f.Add(text)
	}
	for _, text := range []string{"", "server: {}\nclients: {}\n", "server: &a [*a]\n", "a: [[[[{{{{", "? x\n: y\n", "- - - -", "\x00", "server:\n  <<: *x\n", "clients: !!binary x\n", "%YAML 1.2\n---\n", "server: {}\nclients: {}\nsweep: [{field: server.quotas, values: ['[{limit: 1, p: 1m}]']}]\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("f.yaml", text)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				require.Regexp(t, `^f\.yaml:? `, strings.ReplaceAll(line, "f.yaml:", "f.yaml: "))
			}
			return
		}
		if s.Clients.Count > 1000 {
			return
		}
		point := s.Points()[0]
		point.MaxEvents = 500
		for _, st := range point.Strategies[:1] {
			r, err := sim.Run(point.Scenario.Scenario, st, s.Seed)
			require.NoError(t, err)
			assert.NotEmpty(t, r.Ended)
		}
	})
}
