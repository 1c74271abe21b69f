package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sharing is for how long each of two processes starts new uploads. Two windows
// draw near each other with each cut, some two seconds here. unfair is how far from
// half of all a share may be.
var (
	sharing = amount(15*time.Second, 6*time.Second)
	unfair  = amount(0.05, 0.15)
)

// Two processes that know nothing of each other, each with a limiter, under one
// cap: they share it fairly, and use all of it.
func TestTwoProcesses(t *testing.T) {
	attempt(t, func(t *testing.T) bool {
		ctx := begin(t)
		g := startGateway(t, slots)
		store := steward(ctx, t, g.address)
		a, b := startUploader(ctx, t, g.address, "a"), startUploader(ctx, t, g.address, "b")
		began := time.Now()
		a.begin(t)
		b.begin(t)
		shares := [2]share{a.end(t), b.end(t)}

		all := map[string]string{}
		for _, s := range shares {
			require.Empty(t, s.Failed)
			require.Zero(t, s.State.InFlight, "in flight: %v", s.State)
			require.Zero(t, s.State.Late, "second releases: %v", s.State)
			maps.Copy(all, s.Objects)
		}
		require.Equal(t, all, stored(ctx, t, g, store))
		return fair(t, shares, began, g.counts(t))
	})
}

// fair logs how two processes shared a cap, and reports whether it is as it should be.
func fair(t *testing.T, shares [2]share, began time.Time, c counts) bool {
	t.Helper()
	require.LessOrEqual(t, c.Most, slots)
	a, b := shares[0], shares[1]
	objects := len(a.Objects) + len(b.Objects)
	first := float64(len(a.Objects)) / float64(objects)
	times := ratio(later(a.Ended, b.Ended).Sub(began), c.optimum(objects, slots))
	attempts := float64(a.State.Attempts()+b.State.Attempts()) / float64(objects)
	figures.log(t, "%d + %d objects: %.1f%% and %.1f%%, together %.2f x optimum, %.4f attempts per object, cwnd %.1f and %.1f",
		len(a.Objects), len(b.Objects), 100*first, 100*(1-first), times, attempts, a.State.Cwnd, b.State.Cwnd)
	return math.Abs(first-0.5) <= unfair && times <= mostOptimum
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// child is the test binary as an uploader.
type child struct {
	process *process
	stdin   io.Writer
	out     *bufio.Reader
}

// startUploader starts an uploader, and returns once it is ready to begin.
func startUploader(ctx context.Context, t *testing.T, address, name string) *child {
	t.Helper()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+uploaderRole, uploaderAddress+"="+address, uploaderName+"="+name)
	stdout, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { stdout.Close() })
	c := &child{out: bufio.NewReader(stdout)}
	c.process = startProcessTo(t, cmd, w)
	require.NoError(t, w.Close())
	c.stdin = c.process.stdin
	require.Equal(t, "ready", c.line(t))
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	line, _, err := c.out.ReadLine()
	require.NoError(t, err)
	return string(line)
}

func (c *child) begin(t *testing.T) {
	t.Helper()
	_, err := io.WriteString(c.stdin, "go\n")
	require.NoError(t, err)
}

// end waits for what the uploader did.
func (c *child) end(t *testing.T) share {
	t.Helper()
	var s share
	require.NoError(t, json.NewDecoder(c.out).Decode(&s))
	return s
}
