package sim_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// The recipe of docs/recipes.md for a service that queues and refuses nothing: the batch has a limiter, and the
// interactive calls have none. In the bursts 95 in 100 calls have their first token within 310 to 320 ms without
// a limiter, and the batch takes 6 minutes.
func TestOnlyTheBatchHasALimiter(t *testing.T) {
	for _, c := range []struct {
		maxWindow            float64
		firstToken, together time.Duration
	}{{0, 150 * ms, 7 * time.Minute}, {40, 60 * ms, 9 * time.Minute}} {
		var p95 []time.Duration // of the middle run: in one of forty the window grows past what the engine serves at once
		for seed := range uint64(3) {
			synctest.Test(t, func(t *testing.T) {
				batch, err := aimd.New(aimd.Config{MaxWindow: c.maxWindow, Rand: rand.New(rand.NewPCG(seed, seed))})
				require.NoError(t, err)
				defer batch.Close()
				s := beside(t, seed, 300, batch, nil)
				t.Logf("MaxWindow %g: first token p95 %v; batch %v", c.maxWindow, s.p95(), s.batch)
				p95 = append(p95, s.p95())
				assert.LessOrEqual(t, s.batch, c.together)
			})
		}
		slices.Sort(p95)
		assert.LessOrEqual(t, p95[1], c.firstToken)
	}
}
