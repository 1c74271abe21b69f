package pages

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// lastOfABatch runs jobs of 50 to 150 ms at a service of 32 slots. One first attempt in 100 takes so long instead: the server is
// slow, and not the job. It returns the time, of the work over the slots, and the attempts of a job.
func lastOfABatch(t *testing.T, jobs int, slow time.Duration, backup bool, seed uint64) (over, sends float64) {
	l, err := aimd.New(aimd.Config{})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(seed, 77))
	takes := func() time.Duration { return time.Duration((0.5 + r.Float64()) * float64(100*time.Millisecond)) }
	works, sum := make([][]time.Duration, jobs), time.Duration(0)
	for i := range works {
		works[i] = []time.Duration{takes(), takes()}
		sum += works[i][0]
	}
	if slow > 0 {
		for _, i := range r.Perm(jobs)[:jobs/100] {
			works[i][0] = slow
		}
	}
	var mu sync.Mutex
	busy, sent := 0, 0
	fn := func(ctx context.Context, i int) error {
		mu.Lock()
		if sent++; busy == 32 {
			mu.Unlock()
			time.Sleep(5 * time.Millisecond)
			return failing(503)
		}
		busy++
		work := works[i][0]
		works[i][0] = works[i][1] // another attempt is an ordinary one
		mu.Unlock()
		defer func() { mu.Lock(); busy--; mu.Unlock() }()
		select {
		case <-time.After(work):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if backup {
		fn = aimd.Backup(l, fn)
	}
	start := time.Now()
	require.NoError(t, aimd.Each(t.Context(), l, counted(jobs), fn))
	return time.Since(start).Seconds() / sum.Seconds() * 32, float64(sent) / float64(jobs)
}

func counted(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// The last items of a batch waited for the slow answers: 200 jobs took 3.4 times as long as their work, and take 1.3 times.
func TestBackupOfTheLastItems(t *testing.T) {
	for _, jobs := range []int{200, 2000} {
		for _, slow := range []time.Duration{0, 2 * time.Second} {
			var over, more []float64
			var without float64
			for seed := range uint64(9) {
				synctest.Test(t, func(t *testing.T) {
					o, s := lastOfABatch(t, jobs, slow, false, seed)
					b, n := lastOfABatch(t, jobs, slow, true, seed)
					over, more, without = append(over, b), append(more, n-s), o
				})
			}
			slices.Sort(over)
			slices.Sort(more)
			t.Logf("%d jobs, slow %v: %.3f @ +%.4f", jobs, slow, over[4], more[4])
			if slow > 0 {
				assert.LessOrEqual(t, over[4], 1.3, "%d jobs", jobs)
				assert.LessOrEqual(t, more[4], .012, "%d jobs", jobs)
				continue
			}
			assert.InDelta(t, without, over[4], .05, "%d jobs without a slow one", jobs)
			assert.LessOrEqual(t, more[4], .001, "%d jobs without a slow one", jobs)
		}
	}
}
