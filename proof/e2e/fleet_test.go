package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
		machine(server("TERM", fleetTool(t), "-work", "-share", "redis://"+r.address)) // which is that of the first
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
