package simulate

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	library "github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/chart"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/window"
)

var update = flag.Bool("update", false, "write the golden files")

// mine is a scenario of no time.
const mine = `
server: {service: 50ms, slots: 5, refusal: {time: 5ms}}
clients: {operations: 40, rate: 200}
runs: 3
strategies: [backoff, "reno-0.9"]
`

// aimd runs a command line in an empty directory.
func aimd(t *testing.T, args ...string) clitest.Outcome {
	t.Helper()
	return clitest.Run(t, commands(), args...)
}

func commands() []*cobra.Command { return []*cobra.Command{Command()} }

// aimdSim runs aimd sim in a directory that has mine.yaml.
func aimdSim(t *testing.T, text string, args ...string) clitest.Outcome {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("mine.yaml", []byte(text), 0o644))
	return clitest.Here(t.Context(), commands(), append([]string{"sim"}, args...)...)
}

func TestSimRun(t *testing.T) {
	got := aimdSim(t, mine, "run", "mine.yaml", "last-try-waits")
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stdout, "mine\n┌")
	assert.Contains(t, got.Stdout, "│ reno-0.9 ")
	assert.Contains(t, got.Stdout, "last-try-waits: Waits of 1 s, 2 s, 4 s and 8 s")
	assert.Empty(t, got.Stderr, "no progress for what takes no time")
	assert.Equal(t, []string{"mine.yaml"}, clitest.Files(t))
}

func TestSimRunWritesWhatIsAskedFor(t *testing.T) {
	got := aimdSim(t, mine, "run", "mine.yaml", "--svg", "a/svg")
	require.Zero(t, got.Status, got.Stderr)
	assert.Equal(t, []string{"a", "mine.yaml"}, clitest.Files(t))
	figures, err := filepath.Glob("a/svg/*")
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.FromSlash("a/svg/mine-answers.svg"), filepath.FromSlash("a/svg/mine-cwnd.svg")}, figures)
}

func TestSimRunWithSettings(t *testing.T) {
	got := aimdSim(t, mine, "run", "mine.yaml", "--json", "--set", "strategies=[none]", "--set", "server.slots=7", "--runs", "2", "--seed", "5")
	require.Zero(t, got.Status, got.Stderr)
	assert.Equal(t, 1, strings.Count(got.Stdout, "\n"))
	assert.Contains(t, got.Stdout, `"strategy":"none","runs":2,`)
}

func TestSimRunWithStrategies(t *testing.T) {
	got := aimdSim(t, mine+"plot: [{kind: answers, strategies: [backoff]}]\nexpect: [{strategy: backoff, measure: done, is: 1}]\n",
		"run", "mine.yaml", "--strategies", "probe,tahoe-0.9", "--json")
	require.Zero(t, got.Status, got.Stderr)
	for _, name := range []string{"probe", "tahoe-0.9"} {
		assert.Contains(t, got.Stdout, `"strategy":"`+name+`"`)
	}
	assert.Equal(t, 2, strings.Count(got.Stdout, "\n"))
	assert.Empty(t, got.Stderr, "expectations are about other strategies")
}

// Scripts rely on window-vs-backoff.
func TestScriptsFindTheirScenario(t *testing.T) {
	got := aimd(t, "sim", "run", "window-vs-backoff", "--runs", "1", "--json")
	require.Zero(t, got.Status, got.Stderr)
	for _, strategy := range []string{"backoff", "tahoe-0.5", "tahoe-0.9", "reno-0.5", "reno-0.9"} {
		assert.Contains(t, got.Stdout, `{"scenario":"window-vs-backoff","strategy":"`+strategy+`","runs":1,`)
	}
}

// interrupted runs a command line that is interrupted when it first writes to standard output.
func interrupted(t *testing.T, args ...string) clitest.Outcome {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var stderr bytes.Buffer
	stdout := &stopper{interrupt: interrupt}
	status := cli.Tool{Commands: commands(), Stdout: stdout, Stderr: &stderr}.Run(ctx, args...)
	return clitest.Outcome{Status: status, Stdout: stdout.String(), Stderr: stderr.String()}
}

type stopper struct {
	bytes.Buffer
	interrupt func()
}

func (s *stopper) Write(b []byte) (int, error) {
	s.interrupt()
	return s.Buffer.Write(b)
}

// aimd sim run checks the assertions, and its exit status is not 0 if one fails.
func TestExpectationsDecideOnTheStatus(t *testing.T) {
	const met = mine + "expect:\n  - {strategy: backoff, measure: done, is: 40}\n"
	const unmet = met + "  - {strategy: backoff, measure: done, is: 41}\n"
	got := aimdSim(t, met, "run", "mine.yaml")
	assert.Zero(t, got.Status, got.Stderr)
	got = aimdSim(t, unmet, "run", "mine.yaml")
	assert.Equal(t, cli.Failed, got.Status)
	assert.Equal(t, "aimd: mine: not as expected: backoff: done is 40, want 41\naimd: 1 of the scenarios' expectations are not met\n", got.Stderr)
	assert.Contains(t, got.Stdout, "│ reno-0.9 ", "the table is shown all the same")
	got = aimdSim(t, unmet, "run", "mine.yaml", "--set", "server.slots=6")
	assert.Zero(t, got.Status, "another scenario: %s", got.Stderr)
	assert.Empty(t, got.Stderr)
}

func TestSimInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	got := interrupted(t, "sim", "run", "last-try-waits", "growing-delays", "window-vs-backoff", "--json")
	assert.Equal(t, cli.Interrupted, got.Status)
	assert.Equal(t, 1, strings.Count(got.Stdout, "\n"), "what was done before is shown")
	assert.Contains(t, got.Stderr, "aimd: interrupted\n")
}

func TestSimFiguresInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	assert.Equal(t, cli.Interrupted, clitest.Here(ctx, commands(), "sim", "figures", "--out", "a/b").Status)
	assert.FileExists(t, "a/b/index.html")
}

// docs/sources.md names, for each text, the scenarios that show it.
func TestTheSourcesNameTheirScenarios(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/sources.md")
	require.NoError(t, err)
	for _, name := range scenario.Story() {
		assert.Regexp(t, `[\s`+"`"+`]`+name+`[\s`+"`"+`]`, string(page))
	}
}

func TestSimListAndShow(t *testing.T) {
	list := aimd(t, "sim", "list")
	require.Zero(t, list.Status)
	assert.True(t, strings.HasPrefix(list.Stdout, "Exponential Backoff or how not to crash a server (Andrey Smirnov, 2014)\ngrowing-delays "), "by text")
	assert.Contains(t, list.Stdout, "\n\nImprove on exponential backoff (Syncing musings, 2019)\nhow-it-works ")
	for _, name := range []string{"window-vs-backoff ", "attempts-growth ", "crash-outage ", "submit-methods ", "retry-budget ", "backoff-or-window ", "law-50-slots ", "law-sweep-20 "} {
		assert.Contains(t, list.Stdout, "\n"+name)
	}
	show := aimd(t, "sim", "show", "window-vs-backoff")
	require.Zero(t, show.Status)
	_, err := scenario.Parse("window-vs-backoff.yaml", []byte(show.Stdout))
	assert.NoError(t, err)
	show = aimd(t, "sim", "show", "law-uplink-*", "window-vs-backoff") // the words that run takes
	require.Zero(t, show.Status)
	assert.Equal(t, 2, strings.Count(show.Stdout, "\n---\n"))
}

func TestSimSchema(t *testing.T) {
	all := aimd(t, "sim", "schema")
	require.Zero(t, all.Status, all.Stderr)
	assert.Contains(t, all.Stdout, "server.outages[].for  (a duration like 100ms)\n    its length. From 1ns to 720h.\n")
}

// Every built-in scenario, and every figure that names its strategies, has the law. (A law that is there
// stands for one of the user's own, since the registry is the process's.)
func TestWithLaws(t *testing.T) {
	laws := []string{"probe"}
	for _, name := range scenario.Builtins() {
		plain, err := load(t.Context(), name, []string{"strategies=[backoff, reno-0.9]", "plot=[{kind: answers, strategies: [backoff]}, {kind: answers, name: all}]", "expect=[]", "sweep=[]"})
		require.NoError(t, err)
		s := withLaws(plain, laws)
		require.Len(t, s.Strategies, 3)
		assert.Equal(t, "probe", s.Strategies[2].Name)
		assert.Equal(t, []string{"backoff", "probe"}, s.Plot[0].Strategies)
		assert.Empty(t, s.Plot[1].Strategies, "all")
		assert.Equal(t, []string{"backoff"}, plain.Plot[0].Strategies, "the scenario itself stays")
	}
	compared, err := load(t.Context(), "backoff-or-window", nil)
	require.NoError(t, err)
	assert.Equal(t, compared.Plot, withLaws(compared, laws).Plot, "maps compare two")
	assert.Len(t, sim.Laws(), 3)
}

// Each service takes as much as the command counts with, so what is done of a quarter of that is a quarter.
func TestSweptServices(t *testing.T) {
	s, err := load(t.Context(), "sweep", []string{"horizon=6s", "watch_from=1s", "watch_for=5s", "strategies=[none]"})
	require.NoError(t, err)
	require.Len(t, s.Sweep[0].Values, len(swept))
	study, err := experiment.Run(t.Context(), s, func() {})
	require.NoError(t, err)
	all := loads(study)
	quarter := 0
	for _, l := range lines(all, []string{"none"}) {
		if strings.HasSuffix(l.Scenario, " at 0.25") {
			quarter++
			assert.InDelta(t, .25, l.Goodput, .06, l.Scenario)
			assert.InDelta(t, 1, l.Attempts, .05, l.Scenario)
		}
	}
	assert.Equal(t, 13, quarter, "twelve services, and their mean")
	figure, err := chart.Sweep(all, []string{"none"}).SVG()
	require.NoError(t, err)
	assert.Contains(t, string(figure), "slows down: goodput")
}

func TestSimSweepRefusesAndStops(t *testing.T) {
	got := aimd(t, "sim", "sweep", "--strategies", "nonsense")
	assert.Equal(t, 2, got.Status)
	assert.Contains(t, got.Stderr, "semaphore")
	t.Chdir(t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	assert.Equal(t, cli.Interrupted, clitest.Here(ctx, commands(), "sim", "sweep", "--svg", "a").Status)
	assert.NoFileExists(t, "a/sweep.svg")
}

// Where the law of aimd.New is more than .02 below the best is named; means are of all services, attempts over all that was done.
func TestWhatTheSweepSays(t *testing.T) {
	all := []chart.Load{
		{Service: "a", Strategy: "probe", Load: 2, Goodput: .97, P99: 1, Done: 97, Sent: 97},
		{Service: "a", Strategy: "other", Load: 2, Goodput: .991, P99: 1, Done: 99, Sent: 200},
		{Service: "b", Strategy: "probe", Load: 2, Goodput: 1, P99: .5, Done: 100, Sent: 103},
		{Service: "b", Strategy: "other", Load: 2, Goodput: 0, Sent: 100},
	}
	var out strings.Builder
	require.NoError(t, showSweep(&out, all, []string{"probe", "other"}))
	assert.Contains(t, out.String(), "probe is below the best: a at 2, 0.97 for 0.99 of other\n")
	assert.NotContains(t, out.String(), "best: b")
	assert.Contains(t, out.String(), "0.75 s, 1.02")
	assert.Contains(t, out.String(), "1.00 s, 3.03", "of the services that did any")
	last := lines(all, []string{"probe", "other"})
	assert.Equal(t, []line{{Scenario: "below the best", Strategy: "probe", Below: 1, Of: 2}, {Scenario: "below the best", Strategy: "other", Below: 1, Of: 2}}, last[len(last)-2:])
}

// reader follows a law by the table of causes in docs/laws.md: from the answers alone, and what it said before.
type reader struct {
	window.Explained
	t *testing.T
	// loaded: there was load. held: the window is held. inRow are the refusals since the last success.
	loaded, held bool
	inRow        int
	moves        *int
}

func (r *reader) Answered(now time.Duration, s window.State, a window.End) window.State {
	next := r.Explained.Answered(now, s, a)
	cause, phase := r.Explain()
	moved := next.Cwnd - s.Cwnd
	silence := r.inRow
	switch {
	case a.Outcome.Overloaded():
		r.inRow++
		require.Contains(r.t, []string{"chance", "own", "load", "outage"}, cause)
	case a.Outcome.Accepted():
		r.inRow = 0
		require.Contains(r.t, []string{"back", "used up", "own", "slow", "more", ""}, cause)
	default:
		return next
	}
	switch refused := a.Outcome.Overloaded(); cause {
	case "chance":
		require.False(r.t, r.loaded, "before the first load")
		require.Zero(r.t, moved)
	case "own":
		require.True(r.t, refused && r.loaded || r.held != (phase == "holding"), "after load, or a hold has its sample, or a check is due")
		require.True(r.t, moved == 0 || !refused && (moved > 0) == r.held)
	case "load":
		r.loaded = true
		require.True(r.t, moved <= 0 || phase == "holding")
	case "outage":
		r.loaded = true
		require.Greater(r.t, r.inRow, 22)
		require.LessOrEqual(r.t, moved, 0.)
	case "back", "used up":
		require.Greater(r.t, silence, 2)
	case "slow":
		require.LessOrEqual(r.t, moved, s.Cwnd, "a look ends at most at the window before it")
	case "more":
		require.GreaterOrEqual(r.t, moved, 0.)
	case "":
		require.True(r.t, phase != "" || float64(2*a.Flying+2) <= 2*s.Cwnd+2, "a look goes on, or the window is not in use")
	}
	r.held = phase == "holding"
	if moved != 0 {
		*r.moves++
	}
	return next
}

// The table of causes in docs/laws.md gives the cause of each move, in eight scenarios: the first that a fixed seed draws.
func TestThePageGivesTheCauseOfEachMove(t *testing.T) {
	var points []scenario.Point
	for _, name := range scenario.Builtins() {
		if strings.HasPrefix(name, "law-") {
			s, err := load(t.Context(), name, nil)
			require.NoError(t, err)
			points = append(points, s.Points()...)
		}
	}
	r := rand.New(rand.NewPCG(52, 8))
	for played := 0; played < 8; {
		p := points[r.IntN(len(points))]
		if p.Clients.Operations > 20_000 || p.Clients.Count > 20 && p.Clients.Arrivals != "closed" {
			continue // many limiters, or a long run
		}
		played++
		t.Run(p.Name+strings.Join(p.At, " "), func(t *testing.T) {
			moves := 0
			law := func(s window.Settings) window.Law {
				return &reader{Explained: library.Probe()(s).(window.Explained), t: t, moves: &moves}
			}
			s := p.Scenario.Scenario
			s.NoTraces, s.Optimum = true, time.Second
			_, err := sim.Run(s, sim.Strategy{Name: "probe", Shared: p.Clients.Arrivals == "closed", Window: sim.Window{NewLaw: law}}, 1)
			require.NoError(t, err)
			require.Greater(t, moves, 20)
		})
	}
}
