package delays

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
)

// run runs a command line in an empty directory.
func run(t *testing.T, args ...string) clitest.Outcome {
	t.Helper()
	return clitest.Run(t, []*cobra.Command{Command()}, args...)
}

// "Exponential Backoff in Distributed Systems": "If you ... want to handle 1000 clients and have a maximum
// recovery-after-failure time of one second, then you had better make sure that
// your system can handle 1000 failed requests per second at a sustained rate."
func TestBackoffPlan(t *testing.T) {
	got := run(t, strings.Fields("backoff plan --clients 1000 --capacity 1000/s --recovery 1s")...)
	require.Zero(t, got.Status, got.Stderr)
	assert.Equal(t, `1000 clients, 1000 failed requests per second, recovery within 1s: possible.

  M, the longest delay   1s
  rate in an outage      1000 requests per second
  time to recovery       1s at most, 500ms on average
  until all wait M       4 retries, 2.4s at most; the rate is higher until then

delay = min(R * 100ms * 2^N, 1s), R random in [1, 2], N = 0, 1, 2...
`, got.Stdout)

	got = run(t, strings.Fields("backoff plan --clients 50000 --capacity 12000/min --recovery 1m --outage 30s,30m")...)
	require.Equal(t, cli.Failed, got.Status)
	require.Equal(t, "aimd: there is no such plan: the last client finds out after 4m10s, wanted is 1m\n", got.Stderr)
	for _, want := range []string{
		"50000 clients, 200 failed requests per second, recovery within 1m: not possible.",
		"  M, the longest delay   4m10s\n",
		"  after an outage of 30s: recovery within 51.2s\n",
		"  after an outage of 30m: recovery within 4m10s\n",
		"Recovery within 1m takes a service that can fail 833.3 requests per second,\nor 12000 clients at most.\n",
	} {
		assert.Contains(t, got.Stdout, want)
	}

	got = run(t, strings.Fields("backoff plan --clients 1 --capacity 1000000 --recovery 10ms")...)
	require.Equal(t, cli.Failed, got.Status)
	assert.Contains(t, got.Stdout, "1 clients, 1000000 failed requests per second, recovery within 10ms: not possible.")
	assert.Contains(t, got.Stdout, "No recovery is quicker than the first delay, 100ms.")
	assert.Contains(t, got.Stdout, "Careful: M is less than 2 * 100ms")
	assert.NotContains(t, got.Stdout, "until all wait M")
}

// A longest delay that somebody has is judged: it may be too short for the service, or too long for the customers.
func TestBackoffPlanJudgesADelay(t *testing.T) {
	plan := "backoff plan --clients 1000 --capacity 50/s --recovery 1m --max "
	got := run(t, strings.Fields(plan+"30s")...)
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stdout, "  M, the longest delay   30s, as given; the capacity allows 20s or more\n")
	assert.Contains(t, got.Stdout, "  rate in an outage      33.33 requests per second\n")

	got = run(t, strings.Fields("backoff plan --clients 1000 --capacity 50/s --max 30s")...)
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stdout, "recovery within 30s: possible.\n")

	got = run(t, strings.Fields(plan+"10s")...)
	require.Equal(t, cli.Failed, got.Status)
	assert.Equal(t, "aimd: --max 10s is too short: all clients send 100 requests per second, and the service can fail 50\n", got.Stderr)
	assert.Contains(t, got.Stdout, "not possible.")
	assert.Contains(t, got.Stdout, "\nPossible is a longest delay from 20s to 1m.\n")

	got = run(t, strings.Fields(plan+"2m")...)
	require.Equal(t, cli.Failed, got.Status)
	assert.Equal(t, "aimd: there is no such plan: the last client finds out after 2m, wanted is 1m\n", got.Stderr)

	got = run(t, strings.Fields(plan+"50ms")...)
	require.Equal(t, cli.WrongUsage, got.Status)
	assert.Contains(t, got.Stderr, "--max: 50ms is not allowed, want a duration from 100ms to ")
}

func TestBackoffPlanJSON(t *testing.T) {
	got := run(t, strings.Fields("backoff plan --clients 1000 --capacity 20/s --recovery 5m --first 10ms --factor 3 --outage 1s --json")...)
	require.Zero(t, got.Status, got.Stderr)
	require.Equal(t, 1, strings.Count(got.Stdout, "\n"))
	var p map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &p))
	assert.Positive(t, p["settled_s"])
	delete(p, "settled_s")
	assert.Equal(t, map[string]any{
		"clients": 1000.0, "capacity_per_s": 20.0, "wanted_recovery_s": 300.0, "first_s": 0.01, "factor": 3.0, "possible": true,
		"max_s": 50.0, "least_max_s": 50.0, "rate_per_s": 20.0, "recovery_s": 50.0, "retries_to_max": 8.0, "capacity_wanted_per_s": 1000.0 / 300,
		"clients_possible": 6000.0, "outages": []any{map[string]any{"outage_s": 1.0, "recovery_s": 1.62}},
	}, p)
}

// A script reads the plan that is the nearest, and the status.
func TestNoSuchPlanInJSON(t *testing.T) {
	got := run(t, strings.Fields("backoff plan --clients 9 --capacity 1/s --recovery 1s --json")...)
	require.Equal(t, cli.Failed, got.Status)
	assert.Contains(t, got.Stdout, `"max_s":9,`)
	assert.Contains(t, got.Stdout, `"possible":false,`)
}

// Each form of the help is one that aimd retry takes, and has delays.
func TestForms(t *testing.T) {
	for name, longest := range map[string]time.Duration{
		"exponential": 800 * time.Millisecond, "compound": 800 * time.Millisecond, "constant": 100 * time.Millisecond, "last-try": 8 * time.Second,
		"crash-blue": 6 * time.Second, "crash-green": 8 * time.Second, "ethernet": 1600 * time.Millisecond, "clojure": 8 * time.Second,
		"safe-clients": 120 * time.Second, "syncmusings": 640 * time.Millisecond,
	} {
		assert.Contains(t, run(t, "backoff").Stdout, "\n  "+name+" ")
		form := NewForm(backoff.Jitter{})
		c := &cobra.Command{}
		form.Flags(c)
		require.NoError(t, c.Flags().Parse([]string{"--form", name}))
		r, err := form.Retry(c)
		require.NoError(t, err, name)
		most := time.Duration(0)
		for seed := range uint64(50) {
			drawn := Draw(r.Delays(), rand.New(rand.NewPCG(seed, 0)), 4)
			require.Len(t, drawn, 4, name)
			most = max(most, drawn[3])
		}
		assert.LessOrEqual(t, most, longest, name)
		assert.Greater(t, most, longest/2, name)
	}
	assert.Len(t, forms(), 10)
}
