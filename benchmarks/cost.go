package main

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// measure is one run of one contender in one case: nanoseconds for each
// operation, and allocations.
type measure struct {
	ns, allocs float64
	// jain is Jain's fairness index of the grants of each goroutine, 1 if all got the same;
	// least is the smallest number of grants. Both are 0 if they were not measured.
	jain  float64
	least int64
	// stranded is true if goroutines still waited when all slots were free.
	stranded bool
}

// patience is how long goroutines may take to come to an end.
const patience = 30 * time.Second

// within reports whether f returned in time.
func within(d time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}

// load is a case: a number of goroutines on a number of slots.
type load struct {
	name              string
	goroutines, slots int
}

var loads = []load{
	{"1 goroutine", 1, 20},
	{"64 goroutines on 16 slots", 64, 16},
	{"10 000 goroutines on 16 slots", 10_000, 16},
}

// run lets the goroutines acquire and release for about the time given.
func (l load) run(c contender, d time.Duration) measure {
	b := c.fixed(l.slots)
	if l.goroutines == 1 {
		return alone(b, d)
	}
	var stop atomic.Bool
	grants := make([]int64, l.goroutines)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range l.goroutines {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			for !stop.Load() {
				// Whoever has a slot lets others run, so that all slots are
				// taken and the rest wait.
				b.cycle(runtime.Gosched)
				grants[i]++
			}
		})
	}
	ready.Wait()
	before, began := mallocs(), time.Now()
	close(start)
	time.Sleep(d)
	stop.Store(true)
	if !within(patience, done.Wait) {
		return measure{stranded: true}
	}
	took, total := time.Since(began), sum(grants)
	return measure{
		ns:     float64(took) / float64(total),
		allocs: float64(mallocs()-before) / float64(total),
		jain:   jain(grants),
		least:  slices.Min(grants),
	}
}

// alone is one goroutine. The clock is read once for many operations.
func alone(b bounder, d time.Duration) measure {
	const batch = 1000
	before, began := mallocs(), time.Now()
	n := 0
	for time.Since(began) < d {
		for range batch {
			b.cycle(nil)
		}
		n += batch
	}
	took := time.Since(began)
	return measure{ns: float64(took) / float64(n), allocs: float64(mallocs()-before) / float64(n)}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func sum(all []int64) (total int64) {
	for _, n := range all {
		total += n
	}
	return total
}

// jain is (sum x)^2 / (n * sum x^2), Jain's fairness index.
func jain(all []int64) float64 {
	var s, squares float64
	for _, n := range all {
		s += float64(n)
		squares += float64(n) * float64(n)
	}
	if squares == 0 {
		return 0
	}
	return s * s / (float64(len(all)) * squares)
}
