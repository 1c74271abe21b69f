package aimdprom_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/aimdprom"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// gathered are the values by name and labels; a histogram's is its sum, and one observation.
func gathered(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			all[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
			if h := m.GetHistogram(); h.GetSampleCount() > 0 {
				require.EqualValues(t, 1, h.GetSampleCount())
			}
		}
	}
	return all
}

func TestOneLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Reno(t, aimd.Config{Name: "photos", InitialWindow: 2})
		r := registry(t, aimdprom.New(live.Of(l)))
		p := attempttest.Acquire(t, l)
		attempttest.Acquire(t, l)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { _, _ = l.Acquire(ctx) }()
		synctest.Wait()
		want := map[string]float64{
			"aimd_cwnd photos": 2, "aimd_ssthresh photos": 1024, "aimd_in_flight photos": 2, "aimd_queued photos": 1,
			"aimd_gap_seconds photos": 0, "aimd_paused_until_seconds photos": 0,
			"aimd_attempts_total photos success": 0, "aimd_attempts_total photos overload": 0, "aimd_attempts_total photos timeout": 0,
			"aimd_attempts_total photos neutral": 0, "aimd_attempts_total photos client_error": 0,
			"aimd_cuts_total photos": 0, "aimd_pauses_total photos": 0,
			"aimd_too_late_total photos": 0, "aimd_aside_total photos": 0, "aimd_open photos": 0,
		}
		require.Equal(t, want, gathered(t, r))
		cancel()
		synctest.Wait()
		p.End(aimd.Refused(errors.New("busy")))
		got := gathered(t, r)
		require.Equal(t, []float64{1, 1, 0}, []float64{got["aimd_attempts_total photos overload"], got["aimd_cuts_total photos"], got["aimd_queued photos"]})
	})
}

// A limiter that only watches has counters of what it would have held.
func TestShadow(t *testing.T) {
	l := attempttest.Reno(t, aimd.Config{Name: "photos", InitialWindow: 1, Shadow: true})
	attempttest.Acquire(t, l)
	for range 3 {
		attempttest.Acquire(t, l).End(aimd.Refused(errors.New("busy")))
	}
	got := gathered(t, registry(t, aimdprom.New(live.Of(l))))
	for name, want := range map[string]float64{"attempts": 4, "held": 3, "refused": 3, "above": 3, "held_seconds": 0} {
		v, ok := got["aimd_shadow_"+name+"_total photos"]
		require.True(t, ok, name)
		require.Equal(t, want, v, name)
	}
}

// At a window of 1 the gap and the end of a pause change, and not the window.
func TestTheGapAndTheEndOfAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // from 2000-01-01, 946684800
		law := func(window.Settings) window.Law { return paced{} }
		l := attempttest.Limiter(t, aimd.Config{Law: law, Name: "photos", InitialWindow: 2, MinWindow: 2, PauseMax: time.Millisecond, PauseMin: time.Millisecond})
		r := registry(t, aimdprom.New(live.Of(l)))
		for range 2 {
			permit := attempttest.Acquire(t, l)
			time.Sleep(800 * time.Millisecond)
			permit.End(aimd.Refused(errors.New("busy")))
		}
		until := l.Snapshot().PausedUntil
		require.False(t, until.IsZero())
		got := gathered(t, r)
		require.InDelta(t, 0.4, got["aimd_gap_seconds photos"], 0)
		require.InDelta(t, float64(until.UnixMilli())/1000, got["aimd_paused_until_seconds photos"], 0)
		time.Sleep(time.Second)
		require.Zero(t, gathered(t, r)["aimd_paused_until_seconds photos"])
	})
}

// paced is a law that spaces its sends.
type paced struct{}

func (paced) Answered(_ time.Duration, s window.State, _ window.End) window.State {
	s.Cwnd, s.Pace = float64(s.Trip)/float64(400*time.Millisecond), window.Spaced
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
		attempttest.Acquire(t, l).End(nil)
	}
	got := gathered(t, r)
	require.InDelta(t, 100, got["aimd_attempts_total 0 success"]+got["aimd_attempts_total 1 success"]+got["aimd_attempts_total 2 success"], 0)
	n, err := testutil.GatherAndCount(r, "aimd_in_flight")
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestNoNameBreaksAScrape(t *testing.T) {
	a, b, bad := attempttest.Reno(t, aimd.Config{Name: "a"}), attempttest.Reno(t, aimd.Config{Name: "a"}), attempttest.Reno(t, aimd.Config{Name: "\xff\"\n"})
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

func TestHistograms(t *testing.T) {
	r := registry(t)
	observe, err := aimdprom.NewObserver(r)
	require.NoError(t, err)
	_, err = aimdprom.NewObserver(r)
	require.ErrorAs(t, err, &prometheus.AlreadyRegisteredError{}, "one is enough")
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Reno(t, aimd.Config{Name: "a", InitialWindow: 1, Observer: observe})
		p := attempttest.Acquire(t, l)
		go func() {
			p := attempttest.Acquire(t, l)
			time.Sleep(30 * time.Millisecond)
			p.End(&httplimit.StatusError{StatusCode: 404})
		}()
		time.Sleep(2 * time.Second)
		p.End(nil)
		p.End(nil) // counts once
		synctest.Wait()
		time.Sleep(time.Second)
	})
	got := gathered(t, r)
	require.InDelta(t, 2, got["aimd_queue_wait_seconds a"], 1e-9)
	require.InDelta(t, 2, got["aimd_attempt_duration_seconds a success"], 1e-9)
	require.InDelta(t, 0.03, got["aimd_attempt_duration_seconds a client_error"], 1e-9)
}

// The service reports a quota. Its name is a text of the service: docs/quota.md, rule 10.
func TestAQuotaOfTheService(t *testing.T) {
	l := attempttest.Reno(t, aimd.Config{Name: "photos"})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "60")
		w.Header().Set("X-RateLimit-Remaining", "59")
		w.Header().Set("X-RateLimit-Reset", "30")
		w.Header().Set("X-RateLimit-Resource", "caf\xe9") // Latin-1
	}))
	defer service.Close()
	resp, err := (&http.Client{Transport: &httplimit.Transport{Base: service.Client().Transport, Limiter: l}}).Get(service.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	got := gathered(t, registry(t, aimdprom.New(live.Of(l))))
	require.Equal(t, []float64{59, 60}, []float64{got["aimd_quota_left photos caf"], got["aimd_quota_limit photos caf"]})
}

// A limiter of a fleet has a share, the number of processes, who leads, and when the store was heard; 0 for never.
func TestAShare(t *testing.T) {
	l := attempttest.Reno(t, aimd.Config{Name: "photos"})
	r := registry(t, aimdprom.New(live.Of(l)))
	shares := func() (values []float64) {
		got := gathered(t, r)
		for _, name := range []string{"", "_processes", "_leads", "_heard_seconds"} {
			if v, ok := got["aimd_share"+name+" photos"]; ok {
				values = append(values, v)
			}
		}
		return values
	}
	require.Empty(t, shares())
	require.NoError(t, l.Follow(aimd.Share{Mode: "alone", Processes: 1}, window.State{}, limiter.Part{}, nil))
	require.Equal(t, []float64{0, 1, 0, 0}, shares())
	require.NoError(t, l.Follow(aimd.Share{
		Mode: "silent", Window: 2.5, Processes: 30, Leads: true, Heard: time.UnixMilli(946_684_800_500),
	}, window.State{}, limiter.Part{}, nil))
	require.Equal(t, []float64{2.5, 30, 1, 946_684_800.5}, shares())
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
		source := &file{}
		c := remote.New(source)
		require.NoError(t, c.Refresh(t.Context()))
		source.err = errors.New("no route")
		require.Error(t, c.Refresh(t.Context()))
		require.NoError(t, testutil.CollectAndCompare(aimdprom.Remote(c.Snapshot), strings.NewReader(`
# HELP aimd_remote_confirmed_seconds Time of the last look that found the document in force, in seconds since 1970; 0 for none.
# TYPE aimd_remote_confirmed_seconds gauge
aimd_remote_confirmed_seconds{source="rules.json"} 9.466848e+08
# HELP aimd_remote_failures_total Looks that failed, or found a document that was refused.
# TYPE aimd_remote_failures_total counter
aimd_remote_failures_total{source="rules.json"} 1
# HELP aimd_remote_looks_total Looks at the source of documents.
# TYPE aimd_remote_looks_total counter
aimd_remote_looks_total{source="rules.json"} 2
# HELP aimd_remote_version Version of the document in force, 0 for none.
# TYPE aimd_remote_version gauge
aimd_remote_version{source="rules.json"} 7
`)))
	})
}

var (
	metricName = regexp.MustCompile(`\baimd_[a-z_]+`)
	outcomes   = regexp.MustCompile(`outcome=~?"([^"]*)"`)
	descName   = regexp.MustCompile(`fqName: "([^"]*)"`)
)

// Each metric and each outcome that an alert names is one of the collector's. proof/e2e has promtool look at the file.
func TestAlertsNameMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile("alerts.yaml")
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	known := map[string]bool{}
	descs := make(chan *prometheus.Desc, 100)
	aimdprom.New(live.Of(attempttest.Reno(t, aimd.Config{}))).Describe(descs)
	_, err = aimdprom.NewObserver(describes{descs})
	require.NoError(t, err)
	close(descs)
	for d := range descs {
		known[descName.FindStringSubmatch(d.String())[1]] = true
	}
	labels := map[string]bool{}
	for o := window.Success; o.Valid(); o++ {
		labels[live.Label(o)] = true
	}
	alerts := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			alerts[r.Alert] = true
			names := metricName.FindAllString(r.Expr, -1)
			require.NotEmpty(t, names, r.Alert)
			for _, n := range names {
				require.True(t, known[n], "%s: there is no metric %s, want one of %v", r.Alert, n, slices.Sorted(maps.Keys(known)))
			}
			for _, m := range outcomes.FindAllStringSubmatch(r.Expr, -1) {
				for _, o := range strings.Split(m[1], "|") {
					require.True(t, labels[o], "%s: there is no outcome %s", r.Alert, o)
				}
			}
			require.NotEmpty(t, r.Labels["severity"], r.Alert)
			require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		}
	}
	require.Len(t, alerts, 6)
}

// describes is a registerer that only asks what is registered.
type describes struct{ to chan<- *prometheus.Desc }

func (d describes) Register(c prometheus.Collector) error { c.Describe(d.to); return nil }
func (describes) MustRegister(...prometheus.Collector)    {}
func (describes) Unregister(prometheus.Collector) bool    { return false }
