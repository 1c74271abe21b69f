package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	promclient "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/aimdprom"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/proof/e2e/internal/program"
)

// atWork returns a limiter at work on a service that takes four requests at a time, until
// the test ends or calls stop.
func atWork(t *testing.T) (l *aimd.Limiter, metrics *httptest.Server, stop func()) {
	t.Helper()
	registry := promclient.NewPedanticRegistry()
	observe, err := aimdprom.NewObserver(registry)
	require.NoError(t, err)
	l, err = aimd.New(aimd.Config{Law: aimd.Reno(0.5), Name: "photos", InitialWindow: 2, Observer: observe})
	require.NoError(t, err)
	registry.MustRegister(aimdprom.New(live.Of(l)))
	metrics = httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	t.Cleanup(metrics.Close)
	ctx, cancel := context.WithCancel(context.Background())
	var inside atomic.Int64
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for ctx.Err() == nil {
				_ = l.Do(ctx, func(context.Context) error { // it ends with the context
					defer inside.Dec()
					if inside.Inc() > 4 {
						return &httplimit.StatusError{StatusCode: http.StatusServiceUnavailable}
					}
					time.Sleep(2 * time.Millisecond) // the real Prometheus has real time
					return nil
				})
			}
		})
	}
	stop = func() {
		cancel()
		workers.Wait()
	}
	t.Cleanup(stop)
	return l, metrics, stop
}

func TestPromtoolFindsNothingToSay(t *testing.T) {
	beside(t)
	check := exec.Command(program.Path(t, "promtool", "prometheus"), "check", "metrics")
	_, metrics, _ := atWork(t)
	resp, err := http.Get(metrics.URL)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), `aimd_attempts_total{limiter="photos",outcome="overload"} `)
	check.Stdin = bytes.NewReader(text)
	said, err := check.CombinedOutput()
	require.NoError(t, err, string(said))
	require.Empty(t, string(said))
}

// The alerts fire when they should, and stay silent when they should: testdata/alerts.yaml.
func TestAlerts(t *testing.T) {
	promtool := program.Path(t, "promtool", "prometheus")
	for _, args := range [][]string{{"check", "rules", "../../contrib/aimdprom/alerts.yaml"}, {"test", "rules", "testdata/alerts.yaml"}} {
		said, err := exec.Command(promtool, args...).CombinedOutput()
		require.NoError(t, err, string(said))
		require.Contains(t, string(said), "SUCCESS")
	}
}

// A real Prometheus scrapes a limiter at work, and each expression of the dashboard
// finds something there.
func TestEveryExpressionOfTheDashboardFindsData(t *testing.T) {
	beside(t)
	l, metrics, stop := atWork(t)
	p := startPrometheus(t, metrics.Listener.Addr().String())
	expressions, variables := dashboard(t)
	require.GreaterOrEqual(t, len(expressions), 15)
	require.Len(t, variables, 2)
	isNumber := regexp.MustCompile(`^[0-9]`).MatchString // not NaN, nor infinite
	finds := func(expression string) {
		var found []string
		eventually(t, func() bool {
			var err error
			found, err = p.query(grafana.Replace(expression))
			return err == nil && len(found) > 0 && !slices.ContainsFunc(found, func(v string) bool { return !isNumber(v) })
		}, "%s finds no numbers: %v", expression, &found)
	}
	for _, e := range expressions {
		finds(e)
	}
	for _, v := range variables {
		// label_values(metric{...}, label)
		series, label, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v, "label_values("), ")"), ", ")
		require.True(t, ok, v)
		finds("count by (" + label + ") (" + series + ")")
	}
	_, err := p.query("sum(")
	require.ErrorContains(t, err, "parse error", "the test finds an expression that is wrong")
	none, err := p.query("aimd_nothing")
	require.NoError(t, err)
	require.Empty(t, none, "and one that finds nothing")

	stop()
	answered := l.Snapshot().Attempts
	for _, metric := range []string{"aimd_attempts_total", "aimd_attempt_duration_seconds_count"} {
		eventually(t, func() bool {
			found, err := p.query("sum(" + metric + ")")
			return err == nil && len(found) == 1 && found[0] == strconv.FormatUint(answered, 10)
		}, "%s is %d", metric, answered)
	}
}

// grafana puts in what Grafana does.
var grafana = strings.NewReplacer("$__rate_interval", "10s", "$__range", "10s", "$job", ".*", "$limiter", "photos")

// dashboard has the expressions of its panels, and of its variables.
func dashboard(t *testing.T) (expressions, variables []string) {
	t.Helper()
	text, err := os.ReadFile("../../contrib/aimdprom/dashboard.json")
	require.NoError(t, err)
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct {
				Type  string
				Query json.RawMessage
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &d))
	for _, p := range d.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	for _, v := range d.Templating.List {
		var query struct{ Query string }
		if v.Type == "query" {
			require.NoError(t, json.Unmarshal(v.Query, &query))
			variables = append(variables, query.Query)
		}
	}
	return expressions, variables
}

// prometheus is the address of a Prometheus.
type prometheus string

// startPrometheus starts one that scrapes the target, until the test is over.
func startPrometheus(t *testing.T, target string) prometheus {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil,
		"global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- {job_name: aimd, metrics_path: /, static_configs: [{targets: [%q]}]}\n", target), 0o600))
	address := program.Address(t)
	startProcess(t, server("TERM", program.Path(t, "prometheus", "prometheus"),
		"--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address))
	p := prometheus("http://" + address)
	eventually(t, func() bool {
		found, err := p.query("up == 1")
		return err == nil && len(found) == 1
	}, "Prometheus reads nothing")
	return p
}

// query returns the values that an expression has now.
func (p prometheus) query(expression string) (values []string, err error) {
	resp, err := http.Get(string(p) + "/api/v1/query?query=" + url.QueryEscape(expression))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%s: %s", expression, answer.Error)
	}
	for _, r := range answer.Data.Result {
		values = append(values, fmt.Sprint(r.Value[1]))
	}
	return values, nil
}
