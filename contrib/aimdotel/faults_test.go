package aimdotel

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/live"
)

// hanging is an exporter whose endpoint takes a connection and never answers.
type hanging struct{ exports int }

func (*hanging) Temporality(k sdk.InstrumentKind) metricdata.Temporality {
	return sdk.DefaultTemporalitySelector(k)
}
func (*hanging) Aggregation(k sdk.InstrumentKind) sdk.Aggregation {
	return sdk.DefaultAggregationSelector(k)
}
func (*hanging) ForceFlush(context.Context) error { return nil }
func (*hanging) Shutdown(context.Context) error   { return nil }
func (h *hanging) Export(ctx context.Context, _ *metricdata.ResourceMetrics) error {
	h.exports++
	<-ctx.Done()
	return ctx.Err()
}

// An endpoint that hangs holds the exporter alone: no operation is lost or late, nothing is held, and the end of the
// provider has the bound of its context.
func TestAnEndpointThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exporter := &hanging{}
		provider := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(exporter, sdk.WithInterval(time.Second), sdk.WithTimeout(30*time.Second))))
		observe, err := NewObserver(WithMeterProvider(provider))
		require.NoError(t, err)
		l := attempttest.Reno(t, aimd.Config{InitialWindow: 10, MaxWindow: 10, Observer: observe})
		_, err = Register(live.Of(l), WithMeterProvider(provider))
		require.NoError(t, err)
		began := time.Now()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				for range 600 {
					if l.Do(t.Context(), func(context.Context) error { time.Sleep(time.Second); return nil }) != nil {
						t.Error("lost")
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, 10*time.Minute, time.Since(began))
		s := l.Snapshot()
		require.EqualValues(t, 6000, s.Successes)
		require.Zero(t, s.InFlight+s.Queued)
		require.GreaterOrEqual(t, exporter.exports, 10)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began = time.Now()
		require.Error(t, provider.Shutdown(ctx))
		require.LessOrEqual(t, time.Since(began), 5*time.Second)
	})
}
