package aimdprom_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	aimdprom "github.com/aimd-go/aimd/contrib/prometheus"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func reno(t *testing.T, config aimd.Config) *aimd.Limiter {
	t.Helper()
	config.Law = aimd.Reno(0.5)
	l, err := aimd.New(config)
	require.NoError(t, err)
	return l
}

func acquire(t *testing.T, l *aimd.Limiter) aimd.Permit {
	t.Helper()
	p, err := l.Acquire(context.Background())
	require.NoError(t, err)
	return p
}

func registry(t *testing.T, all ...prometheus.Collector) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	for _, c := range all {
		require.NoError(t, r.Register(c))
	}
	problems, err := testutil.GatherAndLint(r)
	require.NoError(t, err)
	require.Empty(t, problems)
	return r
}

// atWork is a limiter of window 2 with two attempts in flight, and one that waits.
const atWork = `
# HELP aimd_attempts_total Attempts that were answered, by outcome.
# TYPE aimd_attempts_total counter
aimd_attempts_total{limiter="photos",outcome="client_error"} 0
aimd_attempts_total{limiter="photos",outcome="neutral"} 0
aimd_attempts_total{limiter="photos",outcome="overload"} 0
aimd_attempts_total{limiter="photos",outcome="success"} 0
aimd_attempts_total{limiter="photos",outcome="timeout"} 0
# HELP aimd_cwnd Congestion window, in attempts.
# TYPE aimd_cwnd gauge
aimd_cwnd{limiter="photos"} 2
# HELP aimd_gap_seconds Shortest time between two sends, 0 for none; below a window of 2 it sets the rate.
# TYPE aimd_gap_seconds gauge
aimd_gap_seconds{limiter="photos"} 0
# HELP aimd_in_flight Attempts sent and not answered.
# TYPE aimd_in_flight gauge
aimd_in_flight{limiter="photos"} 2
# HELP aimd_queued Operations that wait for a slot.
# TYPE aimd_queued gauge
aimd_queued{limiter="photos"} 1
# HELP aimd_ssthresh Slow-start threshold, in attempts.
# TYPE aimd_ssthresh gauge
aimd_ssthresh{limiter="photos"} 1024
`

func TestOneLimiter(t *testing.T) { synctest.Test(t, oneLimiter) }

func oneLimiter(t *testing.T) {
	l := reno(t, aimd.Config{Name: "photos", InitialWindow: 2})
	r := registry(t, aimdprom.New(live.Of(l)))
	p := acquire(t, l)
	acquire(t, l)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _, _ = l.Acquire(ctx) }()
	synctest.Wait()
	time.Sleep(3 * time.Second) // of the bubble's time
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(atWork), "aimd_attempts_total", "aimd_cwnd", "aimd_gap_seconds", "aimd_in_flight", "aimd_queued", "aimd_ssthresh"))

	cancel()
	synctest.Wait()
	p.Done(window.Overload)
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(`
# HELP aimd_attempts_total Attempts that were answered, by outcome.
# TYPE aimd_attempts_total counter
aimd_attempts_total{limiter="photos",outcome="client_error"} 0
aimd_attempts_total{limiter="photos",outcome="neutral"} 0
aimd_attempts_total{limiter="photos",outcome="overload"} 1
aimd_attempts_total{limiter="photos",outcome="success"} 0
aimd_attempts_total{limiter="photos",outcome="timeout"} 0
# HELP aimd_cuts_total Bursts of overloads that narrowed the window.
# TYPE aimd_cuts_total counter
aimd_cuts_total{limiter="photos"} 1
`), "aimd_attempts_total", "aimd_cuts_total"))
}

// At a window of 1 the gap and the end of a pause change, and not the window.
func TestTheGapAndTheEndOfAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // from 2000-01-01, 946684800
		law := func(window.Settings) window.Law { return paced{} }
		l, err := aimd.New(aimd.Config{Law: law, Name: "photos", InitialWindow: 2, Rules: aimd.Rules{MinWindow: 2, PauseMax: time.Millisecond, PauseMin: time.Millisecond}})
		require.NoError(t, err)
		r := registry(t, aimdprom.New(live.Of(l)))
		for range 2 {
			permit := acquire(t, l)
			time.Sleep(800 * time.Millisecond)
			permit.Done(window.Overload)
		}
		until := l.Snapshot().PausedUntil
		require.False(t, until.IsZero())
		const want = `
# HELP aimd_gap_seconds Shortest time between two sends, 0 for none; below a window of 2 it sets the rate.
# TYPE aimd_gap_seconds gauge
aimd_gap_seconds{limiter="photos"} 0.4
# HELP aimd_paused_until_seconds End of the pause for all, in seconds since 1970; 0 for none.
# TYPE aimd_paused_until_seconds gauge
aimd_paused_until_seconds{limiter="photos"} %g
`
		require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(fmt.Sprintf(want, float64(until.UnixMilli())/1000)), "aimd_gap_seconds", "aimd_paused_until_seconds"))
		time.Sleep(time.Second)
		require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(fmt.Sprintf(want, 0.0)), "aimd_gap_seconds", "aimd_paused_until_seconds"))
	})
}

// paced is a law that spaces its sends.
type paced struct{}

func (paced) Answered(_ time.Duration, s window.State, _ window.Answer) window.State {
	s.Cwnd, s.Spaced = float64(s.Trip)/float64(400*time.Millisecond), true
	return s
}

func (paced) Timed() bool { return true }

// The counters of limiters that come and go between two scrapes stay; package live holds the rest of
// that. Only the present limiter has gauges.
func TestLimitersThatNoScrapeSaw(t *testing.T) {
	var c *aimdprom.Collector
	keyed, err := aimd.NewKeyed(
		func(key string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{Law: aimd.Reno(0.5), Name: key}) },
		aimd.KeyedConfig{Keys: 1, Evicted: func(l *aimd.Limiter) { c.Evicted(l) }})
	require.NoError(t, err)
	c = aimdprom.New(live.Keyed(keyed))
	r := registry(t, c)
	for i := range 100 {
		l, err := keyed.For(fmt.Sprint(i % 3))
		require.NoError(t, err)
		acquire(t, l).Done(window.Success)
	}
	families, err := r.Gather()
	require.NoError(t, err)
	sum := 0.0
	for _, m := range families[0].GetMetric() {
		sum += m.GetCounter().GetValue()
	}
	require.Equal(t, "aimd_attempts_total", families[0].GetName())
	require.InDelta(t, 100, sum, 0)
	require.Len(t, families[0].GetMetric(), 3*5)
	n, err := testutil.GatherAndCount(r, "aimd_in_flight")
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestNoNameBreaksAScrape(t *testing.T) {
	a, b, bad := reno(t, aimd.Config{Name: "a"}), reno(t, aimd.Config{Name: "a"}), reno(t, aimd.Config{Name: "\xff\"\n"})
	none := func() iter.Seq2[string, *aimd.Limiter] {
		return func(yield func(string, *aimd.Limiter) bool) { yield("none", nil) }
	}
	r := registry(t, aimdprom.New(live.Of(a, b, bad, a), live.Of(b), none))
	n, err := testutil.GatherAndCount(r, "aimd_cwnd")
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func TestNilLimitersPanic(t *testing.T) {
	require.Panics(t, func() { aimdprom.New(live.Of(), nil) })
}

// waited is one operation that waited for 2 s.
const waited = `
# HELP aimd_queue_wait_seconds Time that operations waited for a slot, of those that had to.
# TYPE aimd_queue_wait_seconds histogram
aimd_queue_wait_seconds_bucket{limiter="a",le="0.005"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.01"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.025"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.05"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.1"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.25"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.5"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="1"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="2.5"} 1
aimd_queue_wait_seconds_bucket{limiter="a",le="5"} 1
aimd_queue_wait_seconds_bucket{limiter="a",le="10"} 1
aimd_queue_wait_seconds_bucket{limiter="a",le="+Inf"} 1
aimd_queue_wait_seconds_sum{limiter="a"} 2
aimd_queue_wait_seconds_count{limiter="a"} 1
`

func TestHistograms(t *testing.T) {
	r := registry(t)
	observe, err := aimdprom.NewObserver(r)
	require.NoError(t, err)
	_, err = aimdprom.NewObserver(r)
	require.ErrorAs(t, err, &prometheus.AlreadyRegisteredError{}, "one is enough")
	synctest.Test(t, func(t *testing.T) {
		l := reno(t, aimd.Config{Name: "a", InitialWindow: 1, Observer: observe})
		p := acquire(t, l)
		go func() {
			p := acquire(t, l)
			time.Sleep(30 * time.Millisecond)
			p.Done(window.ClientError)
		}()
		time.Sleep(2 * time.Second)
		p.Done(window.Success)
		p.Done(window.Success) // counts once
		synctest.Wait()
		time.Sleep(time.Second)
	})
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(waited), "aimd_queue_wait_seconds"))

	families, err := r.Gather()
	require.NoError(t, err)
	sums := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "aimd_attempt_duration_seconds" && m.GetHistogram().GetSampleCount() > 0 {
				require.EqualValues(t, 1, m.GetHistogram().GetSampleCount())
				sums[m.GetLabel()[1].GetValue()] = m.GetHistogram().GetSampleSum()
			}
		}
	}
	require.InDeltaMapValues(t, map[string]float64{"success": 2, "client_error": 0.03}, sums, 1e-9)
}

// The service reports a quota. Its name is a text of the service: docs/quota.md, rule 10.
func TestAQuotaOfTheService(t *testing.T) {
	l := reno(t, aimd.Config{Name: "photos"})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "60")
		w.Header().Set("X-RateLimit-Remaining", "59")
		w.Header().Set("X-RateLimit-Reset", "30")
		w.Header().Set("X-RateLimit-Resource", "caf\xe9") // Latin-1
	}))
	defer service.Close()
	resp, err := (&http.Client{Transport: httplimit.New(service.Client().Transport, l)}).Get(service.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.NoError(t, testutil.GatherAndCompare(registry(t, aimdprom.New(live.Of(l))), strings.NewReader(`
# HELP aimd_quota_left What is left of the quota.
# TYPE aimd_quota_left gauge
aimd_quota_left{limiter="photos",quota="caf"} 59
# HELP aimd_quota_limit Quota of the service, as its answers report it.
# TYPE aimd_quota_limit gauge
aimd_quota_limit{limiter="photos",quota="caf"} 60
`), "aimd_quota_left", "aimd_quota_limit"))
}
