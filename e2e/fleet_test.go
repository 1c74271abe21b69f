package e2e

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Three machines upload a tree. The machine that lists it is killed, and started again: every file is
// stored, and those that the killed machine had are uploaded at most once more.
func TestFleet(t *testing.T) {
	beside(t)
	ctx := begin(t)
	g, r := startGateway(t, slots), startRedis(t)
	steward(ctx, t, g.address)
	files, tree := amount(2000, 300), t.TempDir()
	want := map[string]string{}
	for i := range files {
		b := body(i, 4096)
		name := strconv.Itoa(i)
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), b, 0o644))
		want[name] = sum(b)
	}
	machine := func(cmd *exec.Cmd) *process {
		cmd.Args = append(cmd.Args, "-redis", r.address, "-workers", fmt.Sprint(heldJobs/3), "-to", "s3://"+bucket, tree)
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL=http://"+g.address, "AWS_REGION=us-east-1",
			"AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey)
		return startProcess(t, cmd)
	}
	first := machine(exec.Command(fleetTool(t)))
	for range 2 {
		machine(server("TERM", fleetTool(t), "-work"))
	}
	uploaded := func() int { return len(g.files(t)) }
	eventually(t, func() bool { return uploaded() > files/3 }, "nothing is uploaded")
	first.kill()
	eventually(t, func() bool {
		before := uploaded()
		time.Sleep(2 * time.Second)
		return uploaded() == before
	}, "the other machines do not come to an end")
	orphans := r.age(t)

	again := machine(exec.Command(fleetTool(t)))
	require.NoError(t, again.cmd.Wait(), "%v", &again.output)
	require.Contains(t, again.output.String(), fmt.Sprintf("%d files, %[1]d stored, 0 missing", files))
	require.Equal(t, want, g.files(t))
	served := g.counts(t).Served
	figures.log(t, "%d files, %d uploads, %d of them were the killed machine's", files, served, orphans)
	require.LessOrEqual(t, served, files+orphans)

	require.NoError(t, os.Remove(filepath.Join(g.dir, bucket, "7")))
	lost := machine(exec.Command(fleetTool(t)))
	require.NoError(t, lost.cmd.Wait(), "%v", &lost.output)
	require.Equal(t, want, g.files(t), "a second run uploads what the store lacks")
	require.Equal(t, served+1, g.counts(t).Served)
}

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
