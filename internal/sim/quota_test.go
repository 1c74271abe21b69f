package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/internal/sim"
)

// quoted is a service that answers in 100 ms and has these quotas, and clients that ask for more.
func quoted(all ...sim.Quota) sim.Scenario {
	return sim.Scenario{
		Server:  sim.Server{Service: 100 * ms, Refusal: sim.Refusal{Time: 20 * ms}, Quotas: all},
		Clients: sim.Clients{Rate: 20}, Horizon: 10 * time.Minute, WatchFrom: 2 * time.Minute, WatchFor: 8 * time.Minute,
	}
}

// deaf is the default law without the reports.
var deaf = sim.Strategy{Name: "deaf", Window: sim.Window{Law: "probe", NoQuota: true}}

// A quota bounds what is served, whoever asks.
func TestAQuotaBoundsWhatIsServed(t *testing.T) {
	for name, c := range map[string]struct {
		quotas []sim.Quota
		most   float64 // of the quotas
	}{
		"window":  {[]sim.Quota{{Limit: 60, Per: time.Minute}}, 1},
		"bucket":  {[]sim.Quota{{Limit: 60, Per: time.Minute, Bucket: true}}, 1.005},
		"slices":  {[]sim.Quota{{Limit: 600, Per: time.Minute, Slice: sec}}, 1},
		"two":     {[]sim.Quota{{Limit: 60, Per: time.Minute}, {Limit: 200, Per: time.Minute, Bucket: true}}, 1},
		"amounts": {[]sim.Quota{{Limit: 6000, Per: time.Minute, Bucket: true, Cost: 100}}, 1.1},
	} {
		r := run(t, quoted(c.quotas...), deaf)
		share := value(t, r, "quota_share").Value
		assert.LessOrEqual(t, share, c.most, name)
		assert.GreaterOrEqual(t, share, 0.9, name)
		assert.Positive(t, r.Refused, name)
	}
}
