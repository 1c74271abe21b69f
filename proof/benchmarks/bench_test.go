package main

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"golang.org/x/time/rate"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/aimdotel"
	"github.com/aimd-go/aimd/contrib/aimdprom"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/window"
)

// background never ends, so waiting for a slot cannot fail.
var background = context.Background()

// over reports the cost of one piece of work over the cost of another, as the median of pairs. Each goes
// first in every second pair, so that other work on the machine slows both.
func over(b *testing.B, unit string, measured, reference func() float64) {
	var ratios []float64
	for b.Loop() {
		var with, without float64
		if len(ratios)%2 == 0 {
			without, with = reference(), measured()
		} else {
			with, without = measured(), reference()
		}
		ratios = append(ratios, with/without)
	}
	slices.Sort(ratios)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ratios[len(ratios)/2], unit)
}

// BenchmarkUncontended is the cost of a request if the service refuses nothing and no request
// waits: a slot under each law, over x/time's Wait for a rate.
func BenchmarkUncontended(b *testing.B) {
	r := rate.NewLimiter(1e9, 1e9)
	for name, law := range map[string]window.NewLaw{"probe": aimd.Probe(), "reno": aimd.Reno(0.5)} {
		b.Run(name, func(b *testing.B) {
			const batch = 1000
			l := bare(b, aimd.Config{Law: law})
			over(b, "slot/Wait", func() float64 { return cycles(l, batch) }, func() float64 {
				began := time.Now()
				for range batch {
					_ = r.Wait(background) // it never ends
				}
				return float64(time.Since(began))
			})
		})
	}
}

// BenchmarkWaiters is a crowd of thirty thousand goroutines in Acquire: the heap for each without its
// stack, and the time to cancel one of them over that in a crowd of a tenth.
func BenchmarkWaiters(b *testing.B) {
	const few = 3_000
	cancel := func(stride int) func() float64 {
		return func() float64 {
			_, cancel := crowd(b, few, stride)
			return cancel
		}
	}
	heap, _ := crowd(b, few, 10) // the first, since Go keeps what it allocates for a goroutine
	over(b, "cancel/few", cancel(10), cancel(1))
	b.ReportMetric(heap, "B/waiter")
}

// crowd starts goroutines that wait for the one slot of a limiter. It returns the heap for each of them, and
// the nanoseconds to cancel one, if one in stride is cancelled.
func crowd(b *testing.B, cancelled, stride int) (heap, cancel float64) {
	l := bare(b, aimd.Config{InitialWindow: 1})
	_, ok := l.TryAcquire()
	require.True(b, ok)
	ctx, end := context.WithCancel(background)
	ends := make(chan struct{}, cancelled*stride)
	// Made once: a closure for each goroutine would count as the limiter's memory.
	waits := func(ctx context.Context) func() {
		return func() {
			_, _ = l.Acquire(ctx) // it ends by ctx or by Close
			ends <- struct{}{}
		}
	}
	patient, fickle := waits(background), waits(ctx)
	before := inUse()
	for i := range cancelled * stride {
		if i%stride == 0 {
			go fickle()
		} else {
			go patient()
		}
	}
	for l.Snapshot().Queued < cancelled*stride {
		time.Sleep(time.Millisecond)
	}
	heap = float64(inUse()-before) / float64(cancelled*stride)
	began := time.Now()
	end()
	for range cancelled {
		<-ends
	}
	cancel = float64(time.Since(began)) / float64(cancelled)
	require.NoError(b, l.Close())
	for range cancelled * (stride - 1) {
		<-ends
	}
	return heap, cancel
}

// inUse is the heap after two collections: the first frees what finalizers and pools keep.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkMetrics is what it costs a limiter at work to be measured: the time of Acquire and
// release over that of a limiter with nothing attached. It is read while it works, every 5 ms or
// so; Prometheus reads every 15 s. "nothing" is the same with nothing attached to either: the noise.
func BenchmarkMetrics(b *testing.B) {
	b.Run("nothing", func(b *testing.B) {
		overhead(b, bare(b, aimd.Config{}), idle)
	})
	b.Run("prometheus", func(b *testing.B) {
		l, r := bare(b, aimd.Config{}), prometheus.NewRegistry()
		r.MustRegister(aimdprom.New(live.Of(l)))
		overhead(b, l, gather(r))
	})
	b.Run("otel", func(b *testing.B) {
		l, reader := bare(b, aimd.Config{}), sdk.NewManualReader()
		_, err := aimdotel.Register(live.Of(l), aimdotel.WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
		require.NoError(b, err)
		overhead(b, l, collect(reader))
	})
	b.Run("prometheus-histograms", func(b *testing.B) {
		r := prometheus.NewRegistry()
		observe, err := aimdprom.NewObserver(r)
		require.NoError(b, err)
		overhead(b, bare(b, aimd.Config{Observer: observe}), gather(r))
	})
	b.Run("otel-histograms", func(b *testing.B) {
		reader := sdk.NewManualReader()
		observe, err := aimdotel.NewObserver(aimdotel.WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
		require.NoError(b, err)
		overhead(b, bare(b, aimd.Config{Observer: observe}), collect(reader))
	})
}

// bare is a limiter with Reno, unless the options say otherwise.
func bare(b *testing.B, config aimd.Config) *aimd.Limiter {
	if config.Law == nil {
		config.Law = aimd.Reno(0.5)
	}
	l, err := aimd.New(config)
	require.NoError(b, err)
	return l
}

func gather(r *prometheus.Registry) func() error {
	return func() error {
		_, err := r.Gather()
		return err
	}
}

func collect(reader sdk.Reader) func() error {
	var metrics metricdata.ResourceMetrics
	return func() error { return reader.Collect(background, &metrics) }
}

// overhead reports the ratio for a limiter that is read once in a hundred thousand cycles, some 5 ms.
func overhead(b *testing.B, measured *aimd.Limiter, read func() error) {
	work := func(l *aimd.Limiter, read func() error) func() float64 {
		return func() float64 {
			var reading sync.WaitGroup
			defer reading.Wait()
			reading.Go(func() { assert.NoError(b, read()) })
			return cycles(l, 100_000)
		}
	}
	over(b, "ratio", work(measured, read), work(bare(b, aimd.Config{}), idle))
}

func idle() error { return nil }

func cycles(l *aimd.Limiter, n int) float64 {
	began := time.Now()
	for range n {
		if p, err := l.Acquire(background); err == nil { // always: it never ends
			p.End(nil)
		}
	}
	return float64(time.Since(began))
}

// The whole command on a small scale: every contender comes to an end in every case and loses nothing,
// and every table has its rows.
func TestEverythingRuns(t *testing.T) {
	var out strings.Builder
	p := plan{
		rounds: 1, turn: 5 * time.Millisecond, uploads: 1, out: &out,
		task: task{objects: 60, size: 1 << 10, goroutines: 16, slots: 4, service: 5 * time.Millisecond},
	}
	require.NoError(t, p.run(t.Context()))
	for _, c := range contenders {
		require.GreaterOrEqual(t, strings.Count(out.String(), c.name), len(loads)+1, c.name)
	}
	require.Contains(t, out.String(), "| "+plain.name+" |")
}

func TestJain(t *testing.T) {
	require.InDelta(t, 1, jain([]float64{3, 3, 3}), 1e-9)
	require.InDelta(t, 1.0/3, jain([]float64{3, 0, 0}), 1e-9)
}
