package main

import (
	"context"
	"slices"
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
	aimdotel "github.com/aimd-go/aimd/contrib/otel"
	aimdprom "github.com/aimd-go/aimd/contrib/prometheus"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/window"
)

// over reports the time of one piece of work over the time of another, as the median of pairs. Each goes
// first in every second pair, so that other work on the machine slows both.
func over(b *testing.B, unit string, measured, reference func()) {
	var ratios []float64
	timed := func(work func()) float64 {
		began := time.Now()
		work()
		return float64(time.Since(began))
	}
	for b.Loop() {
		var with, without float64
		if len(ratios)%2 == 0 {
			without, with = timed(reference), timed(measured)
		} else {
			with, without = timed(measured), timed(reference)
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
	for name, law := range map[string]window.NewLaw{"probe": aimd.Probe, "reno": aimd.Reno} {
		b.Run(name, func(b *testing.B) {
			const batch = 1000
			l := bare(b, aimd.WithLaw(law))
			over(b, "slot/Wait", func() { cycles(l, batch) }, func() {
				for range batch {
					must(r.Wait(background))
				}
			})
		})
	}
}

// BenchmarkMetrics is what it costs a limiter at work to be measured: the time of Acquire and
// release over that of a limiter with nothing attached. It is read while it works, every 5 ms or
// so; Prometheus reads every 15 s. "nothing" is the same with nothing attached to either: the noise.
func BenchmarkMetrics(b *testing.B) {
	b.Run("nothing", func(b *testing.B) {
		overhead(b, bare(b), func() {})
	})
	b.Run("prometheus", func(b *testing.B) {
		l, r := bare(b), prometheus.NewRegistry()
		r.MustRegister(aimdprom.New(live.Of(l)))
		overhead(b, l, gather(b, r))
	})
	b.Run("otel", func(b *testing.B) {
		l, reader := bare(b), sdk.NewManualReader()
		_, err := aimdotel.Register(live.Of(l), aimdotel.WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
		require.NoError(b, err)
		overhead(b, l, collect(b, reader))
	})
	b.Run("prometheus-histograms", func(b *testing.B) {
		h, r := aimdprom.NewHistograms(), prometheus.NewRegistry()
		r.MustRegister(h)
		overhead(b, bare(b, aimd.WithObserver(h.Observe)), gather(b, r))
	})
	b.Run("otel-histograms", func(b *testing.B) {
		reader := sdk.NewManualReader()
		observe, err := aimdotel.NewObserver(aimdotel.WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
		require.NoError(b, err)
		overhead(b, bare(b, aimd.WithObserver(observe)), collect(b, reader))
	})
}

// bare is a limiter with Reno, unless the options say otherwise.
func bare(b *testing.B, opts ...aimd.Option) *aimd.Limiter {
	l, err := aimd.New(append([]aimd.Option{aimd.WithLaw(aimd.Reno)}, opts...)...)
	require.NoError(b, err)
	return l
}

func gather(b *testing.B, r *prometheus.Registry) func() {
	return func() {
		_, err := r.Gather()
		assert.NoError(b, err)
	}
}

func collect(b *testing.B, reader sdk.Reader) func() {
	var metrics metricdata.ResourceMetrics
	return func() { assert.NoError(b, reader.Collect(context.Background(), &metrics)) }
}

// overhead reports the ratio for a limiter that is read once in a hundred thousand cycles, some 5 ms.
func overhead(b *testing.B, measured *aimd.Limiter, read func()) {
	work := func(l *aimd.Limiter, read func()) func() {
		return func() {
			var reading sync.WaitGroup
			reading.Go(read)
			cycles(l, 100_000)
			reading.Wait()
		}
	}
	over(b, "ratio", work(measured, read), work(bare(b), func() {}))
}

// cycles acquires and releases n times.
func cycles(l *aimd.Limiter, n int) {
	for range n {
		p, err := l.Acquire(background)
		must(err)
		must(p.Done(aimd.Success))
	}
}
