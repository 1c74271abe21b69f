package aimdprom_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/aimdprom"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/window"
)

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
	aimdprom.New(live.Of(reno(t, aimd.Config{}))).Describe(descs)
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
