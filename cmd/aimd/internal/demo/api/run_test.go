package api

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
)

type watcher struct {
	begun []string
	ended []measure.Result
	// begin is called when a run begins.
	begin func()
}

func (w *watcher) Begin(strategy string, _ *measure.Meter) {
	w.begun = append(w.begun, strategy)
	if w.begin != nil {
		w.begin()
	}
}
func (w *watcher) End(r measure.Result) { w.ended = append(w.ended, r) }

// tiny is a run of no time against an API that refuses nothing.
func tiny() Config {
	return Config{
		Requests: 50, Goroutines: 10, Factor: 0.9, Only: Strategies(), Limit: time.Minute,
		Limits: Limits{Rate: 1e6, Burst: 1000, Service: time.Millisecond, RetryAfter: time.Second},
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

func TestEveryStrategyServesEverything(t *testing.T) {
	var w watcher
	for _, r := range all(t, t.Context(), tiny(), &w) {
		assert.Equal(t, 50, r.Operations, r.Strategy)
		assert.Equal(t, 50, r.Attempts, r.Strategy)
		assert.Zero(t, r.Lost, r.Strategy)
		assert.Equal(t, slices.Contains([]string{"tahoe", "reno"}, r.Strategy), r.Factor == 0.9, r.Strategy)
	}
	assert.Equal(t, []string{"plain", "backoff", "probe", "tahoe", "reno"}, w.begun)
}

func TestThePlainPoolLosesWhatIsRefused(t *testing.T) {
	c := tiny()
	c.Only = []string{"plain"}
	c.Limits.Rate, c.Limits.Burst = 1e-9, 20
	r := all(t, t.Context(), c, &watcher{})[0]
	assert.Equal(t, 50, r.Attempts)
	assert.Equal(t, 30, r.Refused)
	assert.Equal(t, 30, r.Lost)
	assert.Zero(t, r.Silent)
	assert.Contains(t, r.Reason, "429 Too Many Requests")
}

func TestTheOthersLoseNothing(t *testing.T) {
	c := tiny()
	c.Only = []string{"backoff", "probe", "tahoe", "reno"}
	// More than the burst, so that some are refused; nobody is told to wait for a whole second.
	c.Requests, c.Limits.Rate, c.Limits.Burst, c.Limits.RetryAfter = 30, 1000, 5, 0
	for _, r := range all(t, t.Context(), c, &watcher{}) {
		assert.Zero(t, r.Lost, r.Strategy)
		assert.Positive(t, r.Refused, r.Strategy)
		assert.Equal(t, r.Operations+r.Refused, r.Attempts, r.Strategy)
	}
}

func TestInterruption(t *testing.T) {
	c := tiny()
	c.Limits.Service = time.Hour
	for _, name := range Strategies() {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			c.Only = []string{name}
			r := all(t, ctx, c, &watcher{begin: func() { time.AfterFunc(10*time.Millisecond, interrupt) }})[0]
			assert.True(t, r.Interrupted)
			assert.Zero(t, r.Operations)
			assert.Zero(t, r.Lost)
		})
	}
}

func TestOptimum(t *testing.T) {
	c := Config{Limits: Limits{Rate: 100, Burst: 20, Service: 200 * time.Millisecond}}
	assert.Equal(t, 10*time.Second, c.Optimum(1000))
	assert.Equal(t, 200*time.Millisecond, c.Optimum(20))
	assert.Equal(t, 200*time.Millisecond, c.Optimum(1))
	assert.Zero(t, c.Optimum(0))
}
