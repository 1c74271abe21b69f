package s3

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
)

// watcher keeps its calls.
type watcher struct {
	begun []string
	ended []measure.Result
	// begin is called at the begin of a run, if it is not nil.
	begin func()
}

func (w *watcher) Begin(strategy string, _ *measure.Meter) {
	w.begun = append(w.begun, strategy)
	if w.begin != nil {
		w.begin()
	}
}
func (w *watcher) End(r measure.Result) { w.ended = append(w.ended, r) }

// tiny is a run of no time. Without refusals, since the SDK's own strategies then wait for seconds.
func tiny() Config {
	return Config{
		Objects: 40, Size: 1000, Goroutines: 8, Slots: 8, Service: time.Millisecond,
		Factor: 0.9, Only: Strategies(), Limit: time.Minute,
	}
}

func all(t *testing.T, ctx context.Context, c Config, w *watcher) []measure.Result {
	t.Helper()
	var results []measure.Result
	for r, err := range Run(ctx, c, w) {
		require.NoError(t, err)
		results = append(results, r)
	}
	assert.Equal(t, results, w.ended)
	return results
}

func TestEveryStrategyStoresEverything(t *testing.T) {
	var w watcher
	results := all(t, t.Context(), tiny(), &w)
	assert.Equal(t, []string{"sdk-default", "backoff", "sdk-adaptive", "probe", "tahoe", "reno"}, w.begun)
	for _, r := range results {
		assert.Equal(t, 40, r.Operations, r.Strategy)
		assert.Equal(t, 40, r.Attempts, r.Strategy)
		assert.Zero(t, r.Lost, r.Strategy)
		assert.Zero(t, r.Refused, r.Strategy)
		assert.Equal(t, 0.005, r.OptimumS, r.Strategy)
		assert.Positive(t, r.P99S, r.Strategy)
		assert.Equal(t, slices.Contains([]string{"tahoe", "reno"}, r.Strategy), r.Factor == 0.9, r.Strategy)
		assert.Equal(t, slices.Contains([]string{"probe", "tahoe", "reno"}, r.Strategy), r.Samples[0].Cwnd == 20, r.Strategy)
	}
}

func TestRefusedUploadsAreNotLost(t *testing.T) {
	c := tiny()
	c.Objects, c.Goroutines, c.Slots = 100, 20, 4
	c.Only = []string{"reno", "tahoe", "probe", "backoff"} // and in this order
	var w watcher
	for _, r := range all(t, t.Context(), c, &w) {
		assert.Zero(t, r.Lost, r.Strategy)
		assert.Positive(t, r.Refused, r.Strategy)
		assert.Equal(t, r.Operations+r.Refused, r.Attempts, r.Strategy)
		assert.LessOrEqual(t, r.Peak, 4, r.Strategy)
	}
	assert.Equal(t, []string{"reno", "tahoe", "probe", "backoff"}, w.begun)
}

func TestClientAndStoreCountTheSame(t *testing.T) {
	c := tiny()
	c.Objects, c.Goroutines, c.Slots = 200, 30, 4
	to, err := open(c)
	require.NoError(t, err)
	defer to.close()
	r, err := c.run(t.Context(), to, "reno", &watcher{})
	require.NoError(t, err)
	requests, refused := to.Counts()
	peak, served := to.counts()
	assert.Equal(t, refused, r.Refused)
	assert.Equal(t, requests, r.Attempts)
	assert.Equal(t, requests, served+refused)
	assert.LessOrEqual(t, peak, 4)
	assert.True(t, to.holds(key(7), content(7, 1000)))
	assert.False(t, to.holds(key(7), content(8, 1000)))
	assert.False(t, to.holds("else", nil))
}

func TestInterruption(t *testing.T) {
	for _, name := range Strategies() {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			c := tiny()
			c.Only, c.Service = []string{name}, time.Hour // that ends when the store closes
			r := all(t, ctx, c, &watcher{begin: func() { time.AfterFunc(10*time.Millisecond, interrupt) }})[0]
			assert.True(t, r.Interrupted)
			assert.Zero(t, r.Operations)
			assert.Zero(t, r.Lost, "an operation that has not ended is not lost")
			assert.Empty(t, r.Reason)
		})
	}
}

func TestNoStrategyAfterAnInterruption(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var w watcher
	for _, err := range Run(ctx, tiny(), &w) {
		require.NoError(t, err)
		cancel()
	}
	assert.Equal(t, []string{"sdk-default"}, w.begun)
}

func TestOptimum(t *testing.T) {
	c := Config{Slots: 32, Service: 100 * time.Millisecond}
	assert.Equal(t, 6250*time.Millisecond, c.Optimum(2000))
	assert.Equal(t, 100*time.Millisecond, c.Optimum(1), "one takes its service time")
	assert.Zero(t, c.Optimum(0))
}

func TestContentIsTheSameForAllStrategiesAndDiffersByObject(t *testing.T) {
	assert.Equal(t, content(7, 1000), content(7, 1000))
	assert.NotEqual(t, content(7, 1000), content(8, 1000))
	assert.Len(t, content(7, 65536), 65536)
}
