//go:build unix

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// allStored is the last line of an upload that stored all files.
var allStored = regexp.MustCompile(`(\d+) stored \(.*\), 0 skipped, 0 failed in (\S+); (\d+) requests`)

// Thirty processes of the tool, each with a directory of its own, upload to one store that takes 90 at a time. None
// knows of the others. The first burst is first come, first served, which is most of a short job. The simulator
// has 2.09 attempts each in the short job, and 1.28 in the long one; under Reno 0.9 4.28 and 1.90.
func TestUploadsInCompany(t *testing.T) {
	const processes, slots, service = 30, 90, 500 * time.Millisecond
	files := amount(400, 40) // each
	dirs := make([]string, processes)
	for i := range dirs {
		dirs[i] = t.TempDir()
		for j := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dirs[i], fmt.Sprint(j)), body(i*files+j, 1<<10), 0o600))
		}
	}
	company := func(t *testing.T, law string) (got cost, fair float64) {
		ctx := begin(t)
		g := startSlowGateway(t, slots, service)
		steward(ctx, t, g.address)
		commands := make([]*exec.Cmd, processes)
		for i, dir := range dirs {
			commands[i] = uploadCommand(t, dir, strconv.Itoa(i), "http://"+g.address, "--law", law)
		}
		began := time.Now()
		var all []*process
		for _, c := range commands {
			all = append(all, startProcess(t, c))
		}
		var rates []float64
		requests := 0
		for _, p := range all {
			require.NoError(t, p.cmd.Wait())
			m := allStored.FindStringSubmatch(p.output.String())
			require.NotNil(t, m, "%s", p.output.String())
			require.Equal(t, strconv.Itoa(files), m[1])
			took, err := time.ParseDuration(m[2])
			require.NoError(t, err)
			n, err := strconv.Atoi(m[3])
			require.NoError(t, err)
			requests += n - 1 // one lists the bucket
			rates = append(rates, float64(files)/took.Seconds())
		}
		took := time.Since(began)
		c := g.counts(t)
		require.Equal(t, processes*files, c.Served)
		got = cost{span: ratio(took, c.optimum(c.Served, slots)), attempts: float64(requests) / float64(c.Served)}
		fair = jain(rates)
		figures.log(t, "%s: %v, %v, Jain %.2f", law, got, took.Round(10*time.Millisecond), fair)
		return got, fair
	}
	attempt(t, func(t *testing.T) bool {
		got, fair := company(t, "probe")
		return got.within(amount(cost{span: 1.15, attempts: 1.4}, cost{span: 3, attempts: 2.09 + strays})) && fair >= amount(0.9, 0.4)
	})
	if earnest() {
		company(t, "reno")
	}
}

// jain is Jain's index of shares: 1 if all are equal.
func jain(shares []float64) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(shares)) * squares)
}
