package aimdotel

import (
	"context"
	"errors"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// instrument is what a reader is told of one.
type instrument struct {
	kind, unit string
	// points are by the values of the attributes, the outcome after the name.
	points map[string]float64
}

func collect(t *testing.T, r sdk.Reader) map[string]instrument {
	t.Helper()
	var told metricdata.ResourceMetrics
	require.NoError(t, r.Collect(context.Background(), &told))
	all := map[string]instrument{}
	for _, scope := range told.ScopeMetrics {
		require.Equal(t, "github.com/aimd-go/aimd/contrib/aimdotel", scope.Scope.Name)
		require.Equal(t, version(), scope.Scope.Version)
		for _, m := range scope.Metrics {
			require.NotEmpty(t, m.Description)
			i := instrument{unit: m.Unit, points: map[string]float64{}}
			switch d := m.Data.(type) {
			case metricdata.Gauge[float64]:
				i.kind = "gauge"
				for _, p := range d.DataPoints {
					i.points[key(t, p.Attributes)] = p.Value
				}
			case metricdata.Gauge[int64]:
				i.kind = "gauge"
				for _, p := range d.DataPoints {
					i.points[key(t, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Sum[int64]:
				i.kind = map[bool]string{true: "counter", false: "up-down counter"}[d.IsMonotonic]
				for _, p := range d.DataPoints {
					i.points[key(t, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Sum[float64]:
				i.kind = map[bool]string{true: "counter", false: "up-down counter"}[d.IsMonotonic]
				for _, p := range d.DataPoints {
					i.points[key(t, p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				i.kind = "histogram"
				for _, p := range d.DataPoints {
					require.Equal(t, []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}, p.Bounds)
					require.EqualValues(t, 1, p.Count)
					i.points[key(t, p.Attributes)] = p.Sum
				}
			}
			all[m.Name] = i
		}
	}
	return all
}

func key(t *testing.T, a attribute.Set) string {
	if source, ok := a.Value("aimd.remote.source"); ok {
		return source.AsString()
	}
	name, ok := a.Value("aimd.limiter.name")
	require.True(t, ok)
	if outcome, ok := a.Value("aimd.outcome"); ok {
		return name.AsString() + " " + outcome.AsString()
	}
	return name.AsString()
}

func TestInstruments(t *testing.T) { synctest.Test(t, testInstruments) }

func testInstruments(t *testing.T) {
	reader := sdk.NewManualReader()
	l := attempttest.Reno(t, aimd.Config{Name: "photos", InitialWindow: 2})
	registered, err := Register(live.Of(l), WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
	require.NoError(t, err)
	attempttest.Acquire(t, l).End(aimd.Refused(errors.New("busy")))
	held := attempttest.Acquire(t, l)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _, _ = l.Acquire(ctx) }()
	time.Sleep(3 * time.Second) // of the bubble's time

	one := func(v float64) map[string]float64 { return map[string]float64{"photos": v} }
	require.Equal(t, map[string]instrument{
		"aimd.cwnd":         {"gauge", "{attempt}", one(1)},
		"aimd.ssthresh":     {"gauge", "{attempt}", one(l.Snapshot().Ssthresh)},
		"aimd.gap":          {"gauge", "s", one(0)},
		"aimd.paused_until": {"gauge", "s", one(0)},
		"aimd.in_flight":    {"up-down counter", "{attempt}", one(1)},
		"aimd.queued":       {"up-down counter", "{operation}", one(1)},
		"aimd.attempts": {"counter", "{attempt}", map[string]float64{
			"photos success": 0, "photos overload": 1, "photos timeout": 0, "photos neutral": 0, "photos client_error": 0}},
		"aimd.cuts":     {"counter", "{cut}", one(1)},
		"aimd.pauses":   {"counter", "{pause}", one(float64(l.Snapshot().Pauses))},
		"aimd.too_late": {"counter", "{operation}", one(0)},
		"aimd.aside":    {"counter", "{operation}", one(0)},
		"aimd.open":     {"up-down counter", "{answer}", one(0)},
	}, collect(t, reader))
	cancel()
	synctest.Wait()
	held.End(aimd.Refused(errors.New("busy")))
	until := l.Snapshot().PausedUntil
	require.False(t, until.IsZero())
	require.InDelta(t, float64(until.UnixMilli())/1000, collect(t, reader)["aimd.paused_until"].points["photos"], 0)
	require.NoError(t, registered.Unregister())
	require.Empty(t, collect(t, reader))
}

// A limiter that only watches has counters of what it would have held.
func TestShadow(t *testing.T) {
	reader := sdk.NewManualReader()
	l := attempttest.Reno(t, aimd.Config{Name: "photos", InitialWindow: 1, Shadow: true})
	_, err := Register(live.Of(l), WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
	require.NoError(t, err)
	attempttest.Acquire(t, l)
	for range 3 {
		attempttest.Acquire(t, l).End(aimd.Refused(errors.New("busy")))
	}
	got := collect(t, reader)
	for name, want := range map[string]float64{"attempts": 4, "held": 3, "refused": 3, "above": 3, "held_time": 0} {
		require.Equal(t, map[string]float64{"photos": want}, got["aimd.shadow."+name].points, name)
	}
}

// A limiter of a fleet has a share, the number of processes, who leads, and when the store was heard; 0 for never.
func TestAShare(t *testing.T) {
	reader := sdk.NewManualReader()
	l := attempttest.Reno(t, aimd.Config{Name: "photos"})
	_, err := Register(live.Of(l), WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
	require.NoError(t, err)
	require.NotContains(t, collect(t, reader), "aimd.share")
	for share, want := range map[aimd.Share][]float64{
		{Mode: "alone", Processes: 1}: {0, 1, 0, 0},
		{Mode: "silent", Window: 2.5, Processes: 30, Leads: true, Heard: time.UnixMilli(946_684_800_500)}: {2.5, 30, 1, 946_684_800.5},
	} {
		require.NoError(t, l.Follow(share, window.State{}, limiter.Part{}, nil))
		got := collect(t, reader)
		for i, of := range []instrument{{unit: "{attempt}"}, {unit: "{process}"}, {unit: "1"}, {unit: "s"}} {
			of.kind, of.points = "gauge", map[string]float64{"photos": want[i]}
			require.Equal(t, of, got["aimd.share"+[]string{"", ".processes", ".leads", ".heard"}[i]])
		}
	}
}

func TestCountersOfEvictedLimitersAreNotLost(t *testing.T) {
	var registered *Registration
	keyed, err := aimd.NewKeyed(
		func(key string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{Law: aimd.Reno(0.5), Name: key}) },
		aimd.KeyedConfig{Keys: 1, Evicted: func(l *aimd.Limiter) { registered.Evicted(l) }})
	require.NoError(t, err)
	reader := sdk.NewManualReader()
	registered, err = Register(live.Keyed(keyed), WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
	require.NoError(t, err)
	for i := range 3 {
		for _, key := range []string{"a", "b"} { // each evicts the other
			l, err := keyed.For(key)
			require.NoError(t, err)
			if i == 1 {
				collect(t, reader)
			}
			attempttest.Acquire(t, l).End(nil)
		}
	}
	all := collect(t, reader)
	require.InDelta(t, 3, all["aimd.attempts"].points["a success"], 0)
	require.InDelta(t, 3, all["aimd.attempts"].points["b success"], 0)
	require.Equal(t, map[string]float64{"b": 0}, all["aimd.in_flight"].points, "there is but one")
}

func TestHistograms(t *testing.T) {
	reader := sdk.NewManualReader()
	observe, err := NewObserver(WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Reno(t, aimd.Config{Name: "a", InitialWindow: 1, Observer: observe})
		p := attempttest.Acquire(t, l)
		go func() {
			p := attempttest.Acquire(t, l)
			time.Sleep(500 * time.Millisecond)
			p.End(&httplimit.StatusError{StatusCode: 404})
		}()
		time.Sleep(2 * time.Second)
		p.End(nil)
		p.End(nil) // counts once
		time.Sleep(time.Second)
	})
	require.Equal(t, map[string]instrument{
		"aimd.queue.wait":       {"histogram", "s", map[string]float64{"a": 2}},
		"aimd.attempt.duration": {"histogram", "s", map[string]float64{"a success": 2, "a client_error": 0.5}},
	}, collect(t, reader))
}

func TestTheGlobalProviderIsTheDefault(t *testing.T) {
	reader := sdk.NewManualReader()
	otel.SetMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader)))
	defer otel.SetMeterProvider(noop.NewMeterProvider())
	_, err := Register(live.Of(attempttest.Reno(t, aimd.Config{})), WithMeterProvider(nil))
	require.NoError(t, err)
	require.Len(t, collect(t, reader), 12)
}

// broken is a meter that makes no instrument.
type broken struct{ noop.MeterProvider }
type brokenMeter struct{ noop.Meter }

var errBroken = errors.New("broken")

func (broken) Meter(string, ...metric.MeterOption) metric.Meter { return brokenMeter{} }
func (brokenMeter) Int64ObservableCounter(string, ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	return nil, errBroken
}
func (brokenMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return nil, errBroken
}

func TestErrorsOfTheMeterAreTold(t *testing.T) {
	_, err := Register(live.Of(), WithMeterProvider(broken{}))
	require.ErrorIs(t, err, errBroken)
	_, err = NewObserver(WithMeterProvider(broken{}))
	require.ErrorIs(t, err, errBroken)
	require.Panics(t, func() { _, _ = Register(nil) })
}

func TestVersionIsThatOfTheModule(t *testing.T) {
	require.Equal(t, "v1.2.3", versionIn(&debug.BuildInfo{Deps: []*debug.Module{{Path: "other", Version: "v9"}, {Path: scopeName, Version: "v1.2.3"}}}))
	require.Equal(t, "(devel)", versionIn(&debug.BuildInfo{Main: debug.Module{Path: scopeName, Version: "(devel)"}}))
	require.Empty(t, versionIn(&debug.BuildInfo{}))
	require.Empty(t, versionIn(nil))
}

// file is a source whose document comes or does not.
type file struct{ err error }

func (f *file) Fetch(context.Context) ([]byte, error) {
	return []byte(`{"format": 1, "version": 7}`), f.err
}
func (*file) String() string { return "rules.json" }

// An operator sees that no document has come: the looks, those that failed, the version, and when it was last confirmed.
func TestRemote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, reader := &file{}, sdk.NewManualReader()
		c := remote.New(source)
		of := WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader)))
		registered, err := RegisterRemote(c.Snapshot, of)
		require.NoError(t, err)
		require.Zero(t, collect(t, reader)["aimd.remote.confirmed"].points["rules.json"])
		require.NoError(t, c.Refresh(t.Context()))
		source.err = errors.New("no route")
		require.Error(t, c.Refresh(t.Context()))
		one := func(v float64) map[string]float64 { return map[string]float64{"rules.json": v} }
		require.Equal(t, map[string]instrument{
			"aimd.remote.looks":     {"counter", "{look}", one(2)},
			"aimd.remote.failures":  {"counter", "{look}", one(1)},
			"aimd.remote.version":   {"gauge", "", one(7)},
			"aimd.remote.confirmed": {"gauge", "s", one(946684800)},
		}, collect(t, reader))
		require.NoError(t, registered.Unregister())
		require.Empty(t, collect(t, reader))
		_, err = RegisterRemote(c.Snapshot, WithMeterProvider(broken{}))
		require.ErrorIs(t, err, errBroken)
		require.Panics(t, func() { _, _ = RegisterRemote(nil) })
	})
}
