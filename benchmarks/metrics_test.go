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

	"github.com/aimd-go/aimd"
	aimdotel "github.com/aimd-go/aimd/contrib/otel"
	aimdprom "github.com/aimd-go/aimd/contrib/prometheus"
	"github.com/aimd-go/aimd/live"
)

// BenchmarkMetrics is what it costs a limiter at work to be measured: the time of
// Acquire and release over that of a limiter with nothing attached, as the median of
// pairs that take turns. It is read while it works, every 5 ms or so where Prometheus
// reads every 15 s. "nothing" is the same with nothing attached to either: the noise.
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

func bare(b *testing.B, opts ...aimd.Option) *aimd.Limiter {
	l, err := aimd.NewReno(opts...)
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
	var told metricdata.ResourceMetrics
	return func() { assert.NoError(b, reader.Collect(context.Background(), &told)) }
}

// overhead reports the ratio for a limiter that is read.
func overhead(b *testing.B, measured *aimd.Limiter, read func()) {
	plain := bare(b)
	var ratios []float64
	for b.Loop() {
		var with, without time.Duration
		if len(ratios)%2 == 0 {
			without = cycles(b, plain, func() {})
		}
		with = cycles(b, measured, read)
		if without == 0 {
			without = cycles(b, plain, func() {})
		}
		ratios = append(ratios, float64(with)/float64(without))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}

// cycles is how long a hundred thousand take, some 5 ms, while it is read once.
func cycles(b *testing.B, l *aimd.Limiter, read func()) time.Duration {
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, began := context.Background(), time.Now()
	reading.Go(read)
	for range 100_000 {
		p, err := l.Acquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Done(aimd.Success); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}
