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

// desk is a service of 64 slots, which refuses the rest or lets it queue.
type desk struct {
	queues bool
	mu     sync.Mutex
	busy   int
	line   []chan struct{}
}

func (d *desk) serve(work time.Duration) error {
	d.mu.Lock()
	if d.busy == 64 && !d.queues {
		d.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		return failing(503)
	}
	if d.busy == 64 {
		turn := make(chan struct{})
		d.line = append(d.line, turn)
		d.mu.Unlock()
		<-turn // with the slot
		d.mu.Lock()
	} else {
		d.busy++
	}
	d.mu.Unlock()
	time.Sleep(work)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.line) > 0 {
		close(d.line[0])
		d.line = d.line[1:]
	} else {
		d.busy--
	}
	return nil
}

// besideABatch runs 3000 jobs of 1 to 3 s by 300 workers, and so many calls of .25 to .75 s a second. It returns the sorted waits
// of the calls beyond their own work, and the time of the batch.
func besideABatch(t *testing.T, d *desk, rate float64, from, to time.Duration, called context.Context) (waits []time.Duration, batch time.Duration) {
	l, err := aimd.New(aimd.Config{})
	require.NoError(t, err)
	jobs := make(chan time.Duration, 3000)
	r, start := rand.New(rand.NewPCG(15, 5)), time.Now()
	for range cap(jobs) {
		jobs <- time.Second + time.Duration(r.Float64()*float64(2*time.Second))
	}
	close(jobs)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 300 {
		all.Go(func() {
			for work := range jobs {
				assert.NoError(t, l.Do(t.Context(), func(context.Context) error { return d.serve(work) }))
			}
			mu.Lock()
			batch = max(batch, time.Since(start))
			mu.Unlock()
		})
	}
	for time.Sleep(from); time.Since(start) < to; time.Sleep(time.Duration(r.ExpFloat64() / rate * float64(time.Second))) {
		work := 250*time.Millisecond + time.Duration(r.Float64()*float64(500*time.Millisecond))
		all.Go(func() {
			began := time.Now()
			assert.NoError(t, l.Do(called, func(context.Context) error { return d.serve(work) }))
			mu.Lock()
			waits = append(waits, time.Since(began)-work)
			mu.Unlock()
		})
	}
	all.Wait()
	slices.Sort(waits)
	return waits, batch
}

// A call in one limiter with a batch waited behind the whole batch, 8.4 s. With Urgent it goes first, and the batch is as fast.
func TestUrgentCallsBesideABatch(t *testing.T) {
	for name, c := range map[string]struct {
		queues   bool
		rate     float64
		from, to time.Duration
		// p95 is a bound; 0: none but that no percentile is worse than with one queue. batch bounds the batch's time, of one queue's.
		p95   time.Duration
		batch float64
	}{
		"refuses": {rate: 12, from: 10 * time.Second, to: 70 * time.Second, p95: 150 * time.Millisecond, batch: 1.02},
		"queues":  {queues: true, rate: 12, from: 10 * time.Second, to: 70 * time.Second, batch: 1.02},
		// 1.25 times all slots for 20 s. With a quarter of the turns in place of the slots the p95 is 37 s.
		"refuses, too many": {rate: 160, from: 10 * time.Second, to: 30 * time.Second, p95: 16 * time.Second, batch: 1.02},
	} {
		var batches []float64
		for range 3 { // the order of goroutines is chance: one batch in forty is .027 longer
			var ones, firsts []time.Duration
			var one, urgent time.Duration
			synctest.Test(t, func(t *testing.T) {
				ones, one = besideABatch(t, &desk{queues: c.queues}, c.rate, c.from, c.to, t.Context())
			})
			synctest.Test(t, func(t *testing.T) {
				firsts, urgent = besideABatch(t, &desk{queues: c.queues}, c.rate, c.from, c.to, aimd.Urgent(t.Context()))
			})
			at := func(waits []time.Duration, p int) time.Duration { return waits[(len(waits)-1)*p/100] }
			t.Logf("%s: one queue p50 %v, p95 %v, batch %v; urgent p50 %v, p95 %v, batch %v", name,
				at(ones, 50), at(ones, 95), one, at(firsts, 50), at(firsts, 95), urgent)
			for p := range 101 {
				assert.LessOrEqual(t, at(firsts, p), at(ones, p)+5*time.Millisecond, "%s, %d%%", name, p) // a refusal takes 5 ms
			}
			if c.p95 > 0 {
				assert.LessOrEqual(t, at(firsts, 95), c.p95, name)
			}
			batches = append(batches, urgent.Seconds()/one.Seconds())
		}
		slices.Sort(batches)
		assert.LessOrEqual(t, batches[1], c.batch, name)
	}
}
