package e2e

import (
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// unfair is how far from half of all a share may be.
var unfair = amount(0.05, 0.15)

// Two processes that know nothing of each other, each with a limiter, under one cap: they
// share it fairly until the first of them has uploaded all, and use all of it.
func TestTwoProcesses(t *testing.T) {
	files := amount(2400, 700)
	attempt(t, func(t *testing.T) bool {
		ctx := begin(t)
		u := newUploads(ctx, t, files, func(int) int { return 1 << 10 })
		commands := [2]*exec.Cmd{u.command(t, "a", "--law", "reno"), u.command(t, "b", "--law", "reno")}
		began := time.Now()
		a, b := startProcess(t, commands[0]), startProcess(t, commands[1])
		stored := func(p *process) int { return strings.Count(p.output.String(), `"status":"stored"`) }
		var first, second int
		eventually(t, func() bool {
			first, second = stored(a), stored(b)
			return max(first, second) == files
		}, "neither is done")
		_, _ = a.cmd.Process.Wait()
		_, _ = b.cmd.Process.Wait()
		took := time.Since(began)
		attempts := 0
		for _, p := range []*process{a, b} {
			last := said(t, p)
			require.Equal(t, files, last.Stored, "%v", &p.output)
			attempts += last.Attempts
		}
		require.Equal(t, files, u.stored(t, "a"))
		require.Equal(t, files, u.stored(t, "b"))
		c := u.gateway.counts(t)
		require.LessOrEqual(t, c.Most, slots)
		share, times := float64(first)/float64(first+second), ratio(took, c.optimum(2*files, slots))
		figures.log(t, "%.1f%% and %.1f%% of the objects when the first was done, together %.2f x optimum, %.4f attempts per object",
			100*share, 100*(1-share), times, float64(attempts)/float64(2*files))
		return math.Abs(share-0.5) <= unfair && times <= underCap.span
	})
}
