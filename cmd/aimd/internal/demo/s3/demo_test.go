package s3

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/s3/store"
)

// watcher notes what it is told.
type watcher struct {
	begun    []string
	ended    []measure.Result
	warnings []error
	// meter is that of the run that began last.
	meter *measure.Meter
}

func (w *watcher) Begin(strategy string, m *measure.Meter) {
	w.begun, w.meter = append(w.begun, strategy), m
}
func (w *watcher) End(r measure.Result) { w.ended = append(w.ended, r) }
func (w *watcher) Warn(err error)       { w.warnings = append(w.warnings, err) }

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
	assert.Empty(t, w.warnings)
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

// counted is the embedded store, whose own counts are taken right after the uploads.
type counted struct {
	embedded
	served, refused int
}

func (s *counted) open(string) (*place, error) {
	shop, err := store.Start(store.Config{Slots: s.c.Slots, Service: s.c.Service, Bucket: ownBucket})
	if err != nil {
		return nil, err
	}
	p := placeIn(shop)
	p.peak = func() int {
		s.served, s.refused = shop.Served(), shop.Refused()
		return shop.Peak()
	}
	return p, nil
}

func TestClientAndStoreCountTheSame(t *testing.T) {
	c := tiny()
	c.Objects, c.Goroutines, c.Slots = 200, 30, 4
	site := &counted{embedded: embedded{c}}
	r, err := c.run(t.Context(), site, "reno", &watcher{})
	require.NoError(t, err)
	assert.Equal(t, site.refused, r.Refused)
	assert.Equal(t, site.served+site.refused, r.Attempts)
}

func TestInterruption(t *testing.T) {
	for _, name := range Strategies() {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			s, backend := server(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "object-") && !strings.HasSuffix(r.URL.Path, "0") {
					_, _ = io.Copy(io.Discard, r.Body)
					interrupt()
					<-r.Context().Done() // no answer
					return
				}
				next.ServeHTTP(w, r)
			})
			c := remote(s, "mine")
			c.Only = []string{name}
			r := all(t, ctx, c, &watcher{})[0]
			assert.True(t, r.Interrupted)
			assert.Less(t, r.Operations, c.Objects)
			assert.Zero(t, r.Lost, "what had not ended is not lost")
			assert.Empty(t, r.Reason)
			assert.Equal(t, []string{"keep"}, keys(t, backend, "mine"), "tidied up all the same")
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
	assert.Zero(t, Config{Service: time.Second}.Optimum(10), "slots not known")
}

func TestContentIsTheSameForAllStrategiesAndDiffersByObject(t *testing.T) {
	assert.Equal(t, content(7, 1000), content(7, 1000))
	assert.NotEqual(t, content(7, 1000), content(8, 1000))
	assert.Len(t, content(7, 65536), 65536)
}
