package e2e

import (
	"cmp"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// manyProcesses, in the environment, is the number of processes of TestAFleetOfMany: 10 to 1000, 100 without it.
const manyProcesses = "E2E_PROCESSES"

// A hundred processes share one window through a Redis for a minute. No task is lost or done twice, all have equal parts, and
// the store gets a thousand calls a second.
func TestAFleetOfMany(t *testing.T) {
	processes, err := strconv.Atoi(cmp.Or(os.Getenv(manyProcesses), "100"))
	require.NoError(t, err, manyProcesses)
	require.True(t, 10 <= processes && processes <= 1000, "%s is %d; want 10 to 1000", manyProcesses, processes)
	attempt(t, func(t *testing.T) bool { return many(t, processes) })
}

func many(t *testing.T, processes int) (good bool) {
	// Two cores start some twenty processes a second.
	long, started := amount(2*time.Minute, time.Minute), time.Duration(processes)*50*time.Millisecond+5*time.Second
	n := int((started+long)/sharedService) * sharedSlots
	e, r := newErrands(n, processes), startRedis(t)
	api, all := e.start(t, "redis", r.address)
	time.Sleep(time.Until(e.began.Add(started)))
	api.mu.Lock()
	requests := api.requests
	api.mu.Unlock()
	e.mu.Lock()
	from, before := int(time.Since(e.began)/slice)+1, len(e.done)
	e.mu.Unlock()
	store := redisRates(t, r)
	for _, p := range all {
		require.NoError(t, p.cmd.Wait(), "%v", &p.output)
	}

	e.mu.Lock()
	defer e.mu.Unlock()
	e.once(t, n)
	until := int(e.empty / slice)
	require.Greater(t, until, from, "the job ends before it is watched")
	did, done := make([]float64, processes), 0.
	for _, by := range e.by[from:until] {
		for i, x := range by {
			did[i] += x
			done += x
		}
	}
	use := done * sharedService.Seconds() / (slice.Seconds() * float64(until-from)) / sharedSlots
	attempts, fair := float64(api.requests-requests)/float64(n-before), jain(did)
	figures.log(t, "%d processes for %v: %.3f of the slots @ %.3f attempts, Jain %.3f; %.0f calls a second, %.0f KB/s in, %.0f KB/s out; %.1f%% of a core",
		processes, slice*time.Duration(until-from), use, attempts, fair, store["calls"], store["in"]/1e3, store["out"]/1e3, 100*store["cpu"])
	require.LessOrEqual(t, store["calls"], 1200.0)
	// 300 processes and what else is at work on two cores may leave a third of the slots empty.
	return use >= amount(0.6, 0.5) && attempts <= amount(1.1, 1.3) && fair >= amount(0.97, 0.85)
}
