package pages

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// A server has 16 workers and answers in 20 ms, so 800 a second; 1600 come, in eight seconds. Past 16 at
// a time it gets slower and refuses nothing, so what takes over 200 ms counts as a Timeout. What a law
// serves in time of what the best fixed limit serves is in the doc of Adaptive.
func TestWhichLawServes(t *testing.T) {
	const quick, bound = 20 * time.Millisecond, 200 * time.Millisecond
	settings := window.Settings{Initial: 32, Min: 4, Max: 256}
	for _, b := range []struct {
		name string
		// slower is how many times as long an answer takes with that many in service.
		slower            func(n float64) float64
		probe, best, half float64
		// most is the most of Probe, if the order in which goroutines run decides between two ends; 0: it does not.
		most float64
	}{
		{"queues", func(n float64) float64 { return max(1, n/16) }, 1, 0.44, 0.85, 0},
		{"thrashes", func(n float64) float64 { return math.Pow(max(1, n/16), 2) }, 0.29, 0.01, 0.23, 0.63},
		{"collapses", func(n float64) float64 { return math.Exp2(max(0, n-16) / 8) }, 0.3, 0.01, 0.29, 0.6},
	} {
		served := func(l admission.Limit) (inTime float64) {
			synctest.Test(t, func(t *testing.T) {
				c, err := admission.New(l, admission.Config{QueueBound: 32, QueueTime: bound / 2})
				require.NoError(t, err)
				var serving, good atomic.Int64
				var all sync.WaitGroup
				r := rand.New(rand.NewPCG(1, 2))
				for began := time.Now(); time.Since(began) < 8*time.Second; time.Sleep(time.Duration(r.ExpFloat64() * float64(time.Second/1600))) {
					spread := 0.8 + 0.4*r.Float64()
					all.Go(func() {
						p, err := c.Admit(t.Context(), tag.Tags{})
						if err != nil {
							return
						}
						took := time.Duration(float64(quick) * spread * b.slower(float64(serving.Add(1))))
						time.Sleep(min(took, time.Second))
						serving.Add(-1)
						o := window.Success
						if took > bound {
							o = window.Timeout
						}
						p.Done(o)
						if p.Waited()+took <= bound {
							good.Add(1)
						}
					})
				}
				all.Wait()
				inTime = float64(good.Load())
			})
			return inTime
		}
		fixed := served(admission.Fixed(16))
		assert.InDelta(t, 6400, fixed, 100, b.name)
		probe := served(admission.Adaptive(aimd.Probe(), settings)) / fixed
		assert.GreaterOrEqual(t, probe, b.probe-0.1, "Probe, %s", b.name)
		assert.LessOrEqual(t, probe, max(b.probe, b.most)+0.1, "Probe, %s", b.name)
		assert.InDelta(t, b.best, served(admission.Adaptive(aimd.Reno(0.9), settings))/fixed, 0.05, "Reno 0.9, %s", b.name)
		assert.InDelta(t, b.half, served(admission.Adaptive(aimd.Reno(0.5), settings))/fixed, 0.05, "Reno 0.5, %s", b.name)
	}
}
