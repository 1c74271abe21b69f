package simulate

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/chart"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
)

// Each service takes as much as the command counts with, so what is done of a quarter of that is a quarter.
func TestSweptServices(t *testing.T) {
	s, err := load("sweep", []string{"horizon=6s", "watch_from=1s", "watch_for=5s", "strategies=[none]"})
	require.NoError(t, err)
	require.Len(t, s.Sweep[0].Values, len(swept))
	study, err := experiment.Run(t.Context(), s, func() {})
	require.NoError(t, err)
	all := loads(study)
	quarter := 0
	for _, l := range lines(all, strategies(s)) {
		if strings.HasSuffix(l.Scenario, " at 0.25") {
			quarter++
			assert.InDelta(t, .25, l.Goodput, .06, l.Scenario)
			assert.InDelta(t, 1, l.Attempts, .05, l.Scenario)
		}
	}
	assert.Equal(t, 13, quarter, "twelve services, and their mean")
	figure, err := chart.Sweep(all, strategies(s)).SVG()
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
