package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"runtime"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

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

// bounds prints the figures of this library that have a bound.
func (p plan) bounds(ctx context.Context, w io.Writer) error {
	var rows []table.Row
	for _, b := range bounds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		progress("%s", b.name)
		v, err := b.value(p.scale)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		rows = append(rows, table.Row{b.name, fmt.Sprintf("%.2f %s", v, b.unit), fmt.Sprintf("%g", b.most)})
	}
	markdown(w, fmt.Sprintf("At a scale of %d", p.scale), table.Row{"", "measured", "at most"}, rows)
	return nil
}

func heap() int64 {
	// Twice: the first frees what finalizers and pools kept from the one before.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// crowd starts n goroutines that wait for the one slot of a limiter; every stride-th gives up when ctx ends.
// gone receives a value for each goroutine that has ended.
func crowd(ctx context.Context, n, stride int) (l *aimd.Limiter, gone <-chan struct{}, err error) {
	if l, err = aimd.NewReno(aimd.WithInitialWindow(1)); err != nil {
		return nil, nil, err
	}
	if _, ok := l.TryAcquire(); !ok {
		return nil, nil, fmt.Errorf("the slot is not free")
	}
	ends := make(chan struct{}, n)
	// Made once: a closure for each goroutine would count as the limiter's memory.
	waits := func(ctx context.Context) func() {
		return func() {
			_, _ = l.Acquire(ctx) // it ends by ctx or by Close, as asked
			ends <- struct{}{}
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
			return nil, nil, fmt.Errorf("%d of %d wait after %v", l.Snapshot().Queued, n, patience)
		}
	}
	return l, ends, nil
}

func await(gone <-chan struct{}, n int) {
	for range n {
		<-gone
	}
}

func waitingGoroutine(n int) (float64, error) {
	before := heap()
	l, gone, err := crowd(background, n, 1)
	if err != nil {
		return 0, err
	}
	used := heap() - before
	l.Close()
	await(gone, n)
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
	among := func(stride int) (time.Duration, error) {
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		l, gone, err := crowd(ctx, n/10*stride, stride)
		if err != nil {
			return 0, err
		}
		runtime.GC() // so that no collection runs meanwhile
		began := time.Now()
		cancel()
		await(gone, n/10)
		took := time.Since(began)
		l.Close()
		await(gone, n/10*(stride-1))
		return took, nil
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
		ratios = append(ratios, float64(many)/float64(few))
	}
	return middle(ratios), nil
}
