package admission

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
		served := func(l Limit) (inTime float64) {
			synctest.Test(t, func(t *testing.T) {
				c, err := New(l, Config{QueueBound: 32, QueueTime: bound / 2})
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
		fixed := served(Fixed(16))
		assert.InDelta(t, 6400, fixed, 100, b.name)
		probe := served(Adaptive(aimd.Probe(), settings)) / fixed
		assert.GreaterOrEqual(t, probe, b.probe-0.1, "Probe, %s", b.name)
		assert.LessOrEqual(t, probe, max(b.probe, b.most)+0.1, "Probe, %s", b.name)
		assert.InDelta(t, b.best, served(Adaptive(aimd.Reno(0.9), settings))/fixed, 0.05, "Reno 0.9, %s", b.name)
		assert.InDelta(t, b.half, served(Adaptive(aimd.Reno(0.5), settings))/fixed, 0.05, "Reno 0.5, %s", b.name)
	}
}

// half is a source of random numbers whose Float64 is always the same.
type half float64

func (u half) Uint64() uint64 { return uint64(u * (1 << 53)) }

// booking is a core that only books Retry-After.
func booking(shortest, longest time.Duration, random rand.Source) *core {
	return &core{config: Config{RetryAfterMin: shortest, RetryAfterMax: longest, Rand: rand.New(random)}}
}

// "Make sure to jitter retry periods on the server side": "period * random(.5, 1.5)" (Safe Client Behaviour).
func TestRetryAfterIsJittered(t *testing.T) {
	for u, want := range map[half]time.Duration{0: 5 * time.Second, 0.5: 10 * time.Second, 0.75: 12500 * time.Millisecond} {
		assert.Equal(t, want, booking(10*time.Second, 10*time.Second, u).back(0))
	}
}

// Few who are shed come back soon, many over as long as they take.
func TestReturnsBookTheTimeAhead(t *testing.T) {
	r := booking(time.Second, 30*time.Second, half(0.5))
	const each = 10 * time.Millisecond
	for range 100 {
		assert.Equal(t, time.Second, r.back(each))
	}
	assert.Equal(t, 1010*time.Millisecond, r.back(each))
	r.now += time.Second
	assert.Equal(t, time.Second, r.back(each), "time goes by")
	for range 10_000 {
		r.back(each)
	}
	assert.Equal(t, 30*time.Second, r.back(each))
	r.now += time.Hour
	assert.Equal(t, time.Second, r.back(each), "and nothing is saved up")
}

// Of those who are shed in one moment, no second sees more than twice what it would see if they came back
// evenly.
func TestWhoIsShedInOneMomentComesBackEvenly(t *testing.T) {
	for _, n := range []int{100, 1000, 3000} {
		r := booking(time.Second, 30*time.Second, rand.NewPCG(1, uint64(n)))
		const perSecond = 100
		seconds := map[int]int{}
		for range n {
			seconds[int(r.back(time.Second/perSecond)/time.Second)]++
		}
		for s, got := range seconds {
			assert.LessOrEqual(t, got, 2*perSecond, "%d shed: second %d", n, s)
		}
	}
}
