package main

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/queue"
)

// bound is a figure of this library that has a bound instead of peers.
type bound struct {
	name  string
	unit  string
	most  float64
	value func(scale int) (float64, error)
}

// bounds are measured at a scale: a million, unless asked for less.
var bounds = []bound{
	{"heap for a goroutine in Acquire, without its stack", "B", 873, waitingGoroutine},
	{"heap for an operation queued as a closure", "B", 150, queuedClosure},
	{"heap at its peak while Each goes through all items", "B/item", 1, eachItem},
	{"time to cancel one goroutine in Acquire, over that at a tenth of the scale", "ratio", 1.5, cancellation},
}

func heap() int64 {
	// Twice: the first frees what finalizers and pools kept from the one before.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// crowd is a limiter with one slot, taken, and goroutines that wait for it.
type crowd struct {
	l    *aimd.Limiter
	gone chan struct{}
	n    int
}

// newCrowd starts n goroutines that wait; every stride-th gives up when ctx ends.
func newCrowd(ctx context.Context, n, stride int) (*crowd, error) {
	l, err := aimd.NewReno(aimd.WithInitialWindow(1))
	if err != nil {
		return nil, err
	}
	if _, ok := l.TryAcquire(); !ok {
		return nil, fmt.Errorf("the slot is not free")
	}
	c := &crowd{l: l, gone: make(chan struct{}, n), n: n}
	// Made once: a closure for each goroutine would count as the limiter's memory.
	waits := func(ctx context.Context) func() {
		return func() {
			_, _ = l.Acquire(ctx) // it ends by ctx or by Close, as asked
			c.gone <- struct{}{}
		}
	}
	patient, fickle := waits(background), waits(ctx)
	for i := range n {
		if i%stride == 0 {
			go fickle()
		} else {
			go patient()
		}
	}
	for deadline := time.Now().Add(patience); l.Snapshot().Queued < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%d of %d wait after %v", l.Snapshot().Queued, n, patience)
		}
	}
	return c, nil
}

// left waits until n goroutines have gone.
func (c *crowd) left(n int) {
	for range n {
		<-c.gone
	}
	c.n -= n
}

func (c *crowd) disperse() {
	c.l.Close()
	c.left(c.n)
}

func waitingGoroutine(n int) (float64, error) {
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	before := heap()
	c, err := newCrowd(ctx, n, 1)
	if err != nil {
		return 0, err
	}
	used := heap() - before
	c.disperse()
	return float64(used) / float64(n), nil
}

func queuedClosure(n int) (float64, error) {
	core, err := core.New[func()](aimd.Reno, core.Settings{})
	if err != nil {
		return 0, err
	}
	before := heap()
	for i := range n {
		done := 0
		core.Queue.Push(&queue.Item[func()]{Value: func() { done += i }})
	}
	used := heap() - before
	runtime.KeepAlive(&core)
	return float64(used) / float64(n), nil
}

func eachItem(n int) (float64, error) {
	l, err := aimd.NewReno(aimd.WithMaxWindow(256))
	if err != nil {
		return 0, err
	}
	before, peak, done := heap(), int64(0), 0
	for _, err := range aimd.Each(background, l, upTo(n), func(context.Context, int) error { return nil }) {
		if err != nil {
			return 0, err
		}
		if done++; done%(n/10) == 0 {
			peak = max(peak, heap())
		}
	}
	return float64(max(0, peak-before)) / float64(n), nil
}

func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}

// cancellation is how much longer it takes to cancel a waiter among n than
// among n/10; each time a tenth of n are cancelled.
func cancellation(n int) (float64, error) {
	among := func(stride int) (float64, error) {
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		c, err := newCrowd(ctx, n/10*stride, stride)
		if err != nil {
			return 0, err
		}
		defer c.disperse()
		runtime.GC() // so that no collection runs meanwhile
		began := time.Now()
		cancel()
		c.left(n / 10)
		return float64(time.Since(began)), nil
	}
	var ratios []float64
	for range 3 {
		few, err := among(1)
		if err != nil {
			return 0, err
		}
		many, err := among(10)
		if err != nil {
			return 0, err
		}
		ratios = append(ratios, many/few)
	}
	return median(ratios), nil
}
