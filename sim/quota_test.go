package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/sim"
)

// quoted is a service that answers in 100 ms and has these quotas, and clients that ask for more.
func quoted(all ...sim.Quota) sim.Scenario {
	return sim.Scenario{
		Server:  sim.Server{Service: 100 * ms, Refusal: sim.Refusal{Time: 20 * ms}, Quotas: all},
		Clients: sim.Clients{Rate: 20}, Horizon: 10 * time.Minute, Watch: sim.Watch{From: 2 * time.Minute, For: 8 * time.Minute},
	}
}

// deaf is the default law without the reports, and probe with them.
var (
	deaf  = sim.Strategy{Name: "deaf", Window: sim.Window{Law: "probe", NoQuota: true}}
	probe = sim.Strategy{Name: "probe", Window: sim.Window{Law: "probe"}}
)

// A quota bounds what is served, whoever asks.
func TestAQuotaBoundsWhatIsServed(t *testing.T) {
	for name, c := range map[string]struct {
		quotas []sim.Quota
		most   float64 // of the quotas
	}{
		"window":  {[]sim.Quota{{Limit: 60, Per: time.Minute}}, 1},
		"bucket":  {[]sim.Quota{{Limit: 60, Per: time.Minute, Bucket: true}}, 1.001},
		"slices":  {[]sim.Quota{{Limit: 600, Per: time.Minute, Slice: sec}}, 1},
		"two":     {[]sim.Quota{{Limit: 60, Per: time.Minute}, {Limit: 200, Per: time.Minute, Bucket: true}}, 1},
		"amounts": {[]sim.Quota{{Limit: 6000, Per: time.Minute, Bucket: true, Cost: 100}}, 1.1},
	} {
		r := run(t, quoted(c.quotas...), deaf)
		assert.LessOrEqual(t, r.QuotaShare, c.most, name)
		assert.GreaterOrEqual(t, r.QuotaShare, 0.9, name)
		assert.Positive(t, r.Refused, name)
	}
}

// Without a report, or with one that always says that all is left, nothing changes.
func TestAnEmptyReportChangesNothing(t *testing.T) {
	for _, report := range []string{"none", "full"} {
		s := quoted(sim.Quota{Limit: 60, Per: time.Minute, Report: report})
		r, without := run(t, s, probe), run(t, s, deaf)
		assert.Equal(t, without.Attempts, r.Attempts, report)
	}
}

// The clairvoyant sends each request as soon as the quotas have room for it.
func TestTheOptimumUnderAQuota(t *testing.T) {
	for _, c := range []struct {
		quota sim.Quota
		want  time.Duration
	}{
		{sim.Quota{Limit: 60, Per: time.Minute}, 2*time.Minute + 100*ms},
		{sim.Quota{Limit: 60, Per: time.Minute, Bucket: true}, 90*sec + 100*ms},
		{sim.Quota{Limit: 600, Per: time.Minute, Slice: sec}, 14*sec + 100*ms},
	} {
		s := quoted(c.quota)
		s.Clients, s.Watch = sim.Clients{Operations: 150}, sim.Watch{}
		assert.InDelta(t, c.want, run(t, s, probe).Optimum, float64(ms), c.quota)
	}
}
