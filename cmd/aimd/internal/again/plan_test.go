package again

import (
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

// plan returns the rows of a plan, with single spaces between their cells.
func plan(t *testing.T, flags string) (rows []string) {
	t.Helper()
	got := clitest.Here(t.Context(), []*cobra.Command{Command()}, append([]string{"retry", "--plan"}, strings.Fields(flags)...)...)
	require.Zero(t, got.Status, got.Stderr)
	for line := range strings.Lines(got.Stdout) {
		if strings.HasPrefix(line, "│") && !strings.Contains(line, "factor") {
			rows = append(rows, strings.Join(strings.Fields(strings.ReplaceAll(line, "│", " ")), " "))
		}
	}
	return rows
}

// "You wait one second, try again, then two seconds, and so on. If the web server is unavailable for thirty seconds":
// tries after 0, 1, 3, 7, 15 and 31 s. "it is going to extend the time to recovery after a failure by about a factor
// of two" (Why exponential backoff?).
func TestPlan(t *testing.T) {
	const doubling = "--min 1s --factor 2 --jitter none "
	assert.Equal(t, []string{"1s 2 1s 31 0s 0s 1000/s", "1s 2 10s 7 5s 5s 100/s", "1s 2 none 6 1s 1s 62.5/s"}, plan(t, "30s "+doubling))
	assert.Equal(t, "1s 2 none 7 31.9s 31.9s 31.25/s", plan(t, "31100ms "+doubling)[2])
	// 1, 3, 7, 15 s.
	assert.Equal(t, []string{"1s 2 10s 5 gives up after 15s"}, plan(t, "30s --form clojure"))
	assert.Equal(t, []string{"1s 2 10s 4 gives up after 7s"}, plan(t, "30s "+doubling+"--max 10s --max-attempts 4"))
	assert.Equal(t, []string{"1s 2 10s 6 gives up after 25s"}, plan(t, "30s "+doubling+"--max 10s --for 26s"))
	assert.Equal(t, []string{"1ms 1 1ms 10000 more than 10000 tries"}, plan(t, "30s --form constant --min 1ms --jitter none"))
	assert.Equal(t, []string{"5s 1 5s 7 0s 0s 200/s"}, plan(t, "30s --form constant --min 5s --jitter none"))
	assert.Equal(t, []string{"2s 1 2s 16 0s 0s 500/s"}, plan(t, "30s --factor 1 --max 2s --jitter none"))
	// Every factor with every longest delay, and fixed delays.
	assert.Len(t, plan(t, "30s"), 2+3*3)
	assert.Equal(t, cli.WrongUsage, clitest.Here(t.Context(), []*cobra.Command{Command()}, "retry", "--plan", "30s", "--", "true").Status)
}

// The worked example of the help.
func TestTheExampleOfThePlan(t *testing.T) {
	help := strings.ReplaceAll(Command().Long, "│", " ")
	rows := plan(t, "30m --factor 2")
	require.Len(t, rows, 5)
	assert.Contains(t, strings.Join(strings.Fields(help), " "), rows[2])
	assert.Regexp(t, `^100ms 2 10s 200 .* 101\.\d/s$`, rows[1], "the service would get 100 tries a second")
}

// The fourth delay of each form, without jitter, or with the jitter that the text has.
func TestForms(t *testing.T) {
	fourth := map[string]time.Duration{
		"exponential": 800 * time.Millisecond, "compound": 800 * time.Millisecond, "constant": 100 * time.Millisecond, "last-try": 8 * time.Second,
		"crash-blue": 6 * time.Second, "crash-green": 8 * time.Second, "ethernet": 1600 * time.Millisecond, "clojure": 8 * time.Second,
		"safe-clients": 120 * time.Second, "syncmusings": 640 * time.Millisecond,
	}
	assert.Len(t, forms, len(fourth))
	for name, longest := range fourth {
		assert.Contains(t, Command().Long, "\n  "+name+" ")
		form, c := form{}, &cobra.Command{}
		form.flags(c)
		args := []string{"--form", name}
		if forms[name].Jitter == backoff.Proportional(0.5) && name != "safe-clients" {
			args = append(args, "--jitter", "none")
		}
		require.NoError(t, c.Flags().Parse(args))
		delays, err := form.delays(c.Flags())
		require.NoError(t, err, name)
		most := time.Duration(0)
		for seed := range uint64(50) {
			random, s := rand.New(rand.NewPCG(seed, 0)), backoff.State{Retry: 1}
			for ; s.Retry <= 4; s.Retry++ {
				s.Last, _ = delays.Delay(s, random)
			}
			most = max(most, s.Last)
		}
		assert.LessOrEqual(t, most, longest, name)
		assert.Greater(t, most, longest/2, name)
	}
}
