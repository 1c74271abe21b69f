package admission_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Clients with a deadline of 400 ms send as soon as they have an answer. The service answers in 50 ms,
// and above 60 at a time it gets slower at once.
func TestFixedServesMoreThanAdaptive(t *testing.T) {
	const quick, deadline, span = 50 * time.Millisecond, 400 * time.Millisecond, 5 * time.Second
	for _, clients := range []int{150, 300} {
		served := func(l admission.Limit) (rate float64) {
			synctest.Test(t, func(t *testing.T) {
				c, err := admission.New(l, admission.Config{})
				require.NoError(t, err)
				var serving, good atomic.Int64
				var all sync.WaitGroup
				began := time.Now()
				client := func(r *rand.Rand) {
					sent := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), deadline)
					defer cancel()
					p, err := c.Admit(ctx, tag.Tags{})
					if err != nil {
						time.Sleep(time.Duration((50 + 100*r.Float64()) * float64(time.Millisecond)))
						return
					}
					slower := 1 + 3*max(0, float64(serving.Add(1))-60)/60
					took := time.Duration((0.8 + 0.4*r.Float64()) * float64(quick) * slower)
					time.Sleep(took)
					serving.Add(-1)
					o := window.Success
					if took > 5*quick {
						o = window.Timeout
					}
					assert.NoError(t, p.Done(o))
					if time.Since(sent) <= deadline {
						good.Add(1)
					}
				}
				for i := range clients {
					r := rand.New(rand.NewPCG(1, uint64(i)))
					all.Go(func() {
						for time.Since(began) < span {
							client(r)
						}
					})
				}
				all.Wait()
				rate = float64(good.Load()) / span.Seconds()
			})
			return rate
		}
		fixed := served(admission.Fixed(60))
		assert.InDelta(t, 1200, fixed, 30, "%d clients", clients)
		adaptive := served(admission.Adaptive(aimd.Probe, window.Settings{Min: 4, Max: 500})) / fixed
		assert.InDelta(t, 0.75, adaptive, 0.25, "%d clients: the document of Adaptive says 0.5 to 1", clients)
	}
}

// A server has 16 workers and answers in 20 ms, so 800 a second; 1600 come, in eight seconds. Past 16 at
// a time it gets slower and refuses nothing, so what takes over 200 ms counts as a Timeout. What a law
// serves in time of what the best fixed limit serves is in the doc of Adaptive.
func TestWhichLawServes(t *testing.T) {
	const quick, bound = 20 * time.Millisecond, 200 * time.Millisecond
	settings := func(factor float64) window.Settings {
		return window.Settings{Initial: 32, Min: 4, Max: 256, Factor: factor}
	}
	for _, b := range []struct {
		name string
		// slower is how many times as long an answer takes with that many in service.
		slower            func(n float64) float64
		probe, best, half float64
	}{
		{"queues", func(n float64) float64 { return max(1, n/16) }, 1, 0.44, 0.85},
		{"thrashes", func(n float64) float64 { return math.Pow(max(1, n/16), 2) }, 0.55, 0.01, 0.23},
		{"collapses", func(n float64) float64 { return math.Exp2(max(0, n-16) / 8) }, 0.53, 0.01, 0.29},
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
						assert.NoError(t, p.Done(o))
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
		assert.InDelta(t, b.probe, served(admission.Adaptive(aimd.Probe, settings(0)))/fixed, 0.05, "Probe, %s", b.name)
		assert.InDelta(t, b.best, served(admission.Adaptive(aimd.Reno, settings(0.9)))/fixed, 0.05, "Reno 0.9, %s", b.name)
		assert.InDelta(t, b.half, served(admission.Adaptive(aimd.Reno, settings(0.5)))/fixed, 0.05, "Reno 0.5, %s", b.name)
	}
}
