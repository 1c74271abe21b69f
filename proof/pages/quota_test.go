package pages

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/sim"
)

const ms = time.Millisecond

// value is the measure with that name, of which there is one.
func value(t *testing.T, r sim.Result, name string) sim.Measure {
	t.Helper()
	found := slices.DeleteFunc(r.Measures(), func(m sim.Measure) bool { return m.Name != name })
	require.Len(t, found, 1, name)
	return found[0]
}

// windowed and bucket are the two kinds of quota, and tokens a bucket that a request spends 12 to 228 of.
func windowed(size float64, every time.Duration) sim.Quota { return sim.Quota{Limit: size, Per: every} }

func bucket(size float64, every time.Duration) sim.Quota {
	return sim.Quota{Limit: size, Per: every, Bucket: true}
}

func tokens(size float64, every time.Duration) sim.Quota {
	return sim.Quota{Limit: size, Per: every, Bucket: true, Cost: 120}
}

// reported is a quota whose reports are other than true.
func reported(q sim.Quota, report func(answer.Quota) answer.Quota) sim.Quota {
	q.Reports = func(r answer.Quota, _ bool) (answer.Quota, bool) { return report(r), true }
	return q
}

// upward and downward round the time to the reset to whole seconds.
func upward(q sim.Quota) sim.Quota {
	return reported(q, func(r answer.Quota) answer.Quota {
		r.Reset = time.Duration(math.Ceil(r.Reset.Seconds())) * time.Second
		return r
	})
}

func downward(q sim.Quota) sim.Quota {
	return reported(q, func(r answer.Quota) answer.Quota { r.Reset = r.Reset.Truncate(time.Second); return r })
}

// unknown hides that a bucket is one, as headers of another dialect do.
func unknown(q sim.Quota) sim.Quota {
	return reported(q, func(r answer.Quota) answer.Quota {
		r.Bucket, r.Reset = false, time.Duration(math.Ceil(r.Reset.Seconds()))*time.Second
		return r
	})
}

// service is one with these quotas that answers 25 to 75 ms after a request came, which takes as long.
func service(quotas ...sim.Quota) sim.Scenario {
	const half, spread = 50 * time.Millisecond, "uniform"
	return sim.Scenario{
		Server: sim.Server{
			Connect: half, ConnectSpread: sim.Spread{Kind: spread}, Service: half, Spread: sim.Spread{Kind: spread},
			Refusal: sim.Refusal{Time: half, Spread: sim.Spread{Kind: spread}}, Quotas: quotas,
		},
		Clients: sim.Clients{Count: 1, Stagger: time.Millisecond, Lateness: time.Millisecond}, Horizon: time.Hour, NoTraces: true,
	}
}

func limited(t *testing.T, s sim.Scenario, w sim.Window, seed int) sim.Result {
	w.Law = "probe"
	r, err := sim.Run(s, sim.Strategy{Name: "probe", Window: w}, uint64(seed))
	require.NoError(t, err)
	return r
}

// What clients with more work than the quota allows get of it, and the refusals of an hour and client.
func TestAQuotaIsUsedUpWithoutRefusals(t *testing.T) {
	minute := windowed(60, time.Minute)
	for name, c := range map[string]struct {
		quotas  []sim.Quota
		clients int
		rate    float64 // that the service gives, a second
		refused float64
		jain    float64 // 0: 0.95
	}{
		"60 a minute":               {quotas: []sim.Quota{minute}, rate: 1, refused: 5},
		"60 a minute, rounded up":   {quotas: []sim.Quota{upward(minute)}, rate: 1, refused: 5},
		"60 a minute, rounded down": {quotas: []sim.Quota{downward(minute)}, rate: 1, refused: 5},
		"GitHub":                    {quotas: []sim.Quota{upward(windowed(5000, time.Hour))}, rate: 5000. / 3600, refused: 3},
		"a bucket":                  {quotas: []sim.Quota{bucket(60, time.Minute)}, rate: 1, refused: 5},
		"a bucket, rounded up":      {quotas: []sim.Quota{upward(bucket(60, time.Minute))}, rate: 1, refused: 5},
		"requests and tokens":       {quotas: []sim.Quota{bucket(500, time.Minute), tokens(60_000, time.Minute)}, rate: 500. / 60, refused: 5},
		"many requests, few tokens": {quotas: []sim.Quota{bucket(2000, time.Minute), tokens(60_000, time.Minute)}, rate: 500. / 60, refused: 5},
		"4 clients of 60 a minute":  {quotas: []sim.Quota{minute}, clients: 4, rate: 1, refused: 10},
		"16 clients":                {quotas: []sim.Quota{minute}, clients: 16, rate: 1, refused: 20, jain: 0.8},
		"4 clients of a bucket":     {quotas: []sim.Quota{bucket(60, time.Minute)}, clients: 4, rate: 1, refused: 10},
		"an unknown bucket":         {quotas: []sim.Quota{unknown(bucket(60, time.Minute))}, rate: 1, refused: 5},
		"4 of an unknown bucket":    {quotas: []sim.Quota{unknown(bucket(60, time.Minute))}, clients: 4, rate: 1, refused: 20, jain: 0.85},
		"a hundred in ten seconds":  {quotas: []sim.Quota{upward(windowed(100, 10*time.Second))}, rate: 10, refused: 5},
	} {
		t.Run(name, func(t *testing.T) {
			var refused []float64
			s := service(c.quotas...)
			s.Clients.Count = cmp.Or(c.clients, 1)
			short := c.clients > 1 || len(c.quotas) > 1
			if short { // in the first minute clients learn of each other
				s.Horizon, s.WatchFrom, s.WatchFor = 21*time.Minute, time.Minute, 20*time.Minute
			}
			s.Clients.Operations, s.Optimum = int(2*c.rate*s.Horizon.Seconds()), s.Horizon
			for seed := range 3 {
				r := limited(t, s, sim.Window{}, seed)
				share := float64(r.Done) / (c.rate * s.Horizon.Seconds())
				t.Logf("%.3f of the quota", share)
				assert.GreaterOrEqual(t, share, 0.98)
				assert.GreaterOrEqual(t, value(t, r, "jain").Value, cmp.Or(c.jain, 0.95))
				if short {
					r.Refused = 3 * int(value(t, r, "watch_errors").Value)
				}
				refused = append(refused, float64(r.Refused)/float64(s.Clients.Count))
			}
			t.Logf("refused an hour and client: %v", refused)
			assert.LessOrEqual(t, slices.Sorted(slices.Values(refused))[1], c.refused)
		})
	}
}

// Rule 6: a reset of 0 with something left is no reason to wait, and with nothing left one of a second.
func TestAResetThatIsRoundedDownToZero(t *testing.T) {
	s := service(downward(windowed(1000, time.Second)))
	s.Clients.Operations, s.Horizon = 200_000, 90*time.Second
	s.Optimum = s.Horizon
	r := limited(t, s, sim.Window{}, 1)
	t.Logf("%.2f of the quota", float64(r.Done)/90_000)
	assert.Greater(t, r.Done, 49_000, "of 90 000")
}

// Rule 6: a rate of 10 a second whose answers take 0.3 s. Waiting for resets in whole seconds got 0.55 of it.
func TestAQuotaOfASecond(t *testing.T) {
	for _, q := range []sim.Quota{upward(windowed(10, time.Second)), bucket(10, time.Second)} {
		s := service(q)
		s.Server.Service, s.Clients.Operations, s.Horizon, s.Optimum = 300*ms, 10_000, 10*time.Minute, 10*time.Minute
		r := limited(t, s, sim.Window{}, 1)
		t.Logf("%.2f of the quota, %d refused", float64(r.Done)/6000, r.Refused)
		assert.GreaterOrEqual(t, r.Done, 5400)
		assert.LessOrEqual(t, r.Refused, 1400)
	}
}

// Reports that are wrong or missing cost little time against no reports at all.
func TestFalseReportsCostLittle(t *testing.T) {
	wide, minute := windowed(1e9, time.Minute), windowed(60, time.Minute)
	left := func(left float64) func(answer.Quota) answer.Quota {
		return func(r answer.Quota) answer.Quota {
			return answer.Quota{Name: r.Name, Limit: 60, Left: left, Reset: time.Minute}
		}
	}
	refusals := minute
	refusals.Report = "refusals"
	without := map[int]time.Duration{} // by the number of requests: who reads no reports is not told a false one
	n := 0
	named := func(limit float64) func(answer.Quota) answer.Quota {
		return func(answer.Quota) answer.Quota {
			n++
			return answer.Quota{Name: fmt.Sprint("object-", n), Limit: limit, Reset: time.Minute}
		}
	}
	first := func(r answer.Quota) answer.Quota {
		if n++; n%5000 != 1 {
			return answer.Quota{}
		}
		return answer.Quota{Name: r.Name, Limit: 1, InFlight: true}
	}
	for name, c := range map[string]struct {
		requests, slots int
		quota           sim.Quota
		most            float64 // of the time without; 0: 1.05
	}{
		"one left, always":         {requests: 5000, slots: 32, quota: reported(wide, left(1))},
		"none of another object":   {requests: 5000, slots: 32, quota: reported(wide, named(60))},
		"none of 1 of another one": {requests: 5000, slots: 32, quota: reported(wide, named(1))},
		"one at a time, once":      {requests: 5000, slots: 32, quota: reported(wide, first)},
		"never any left":           {requests: 5000, slots: 32, quota: reported(wide, left(0))},
		"a quota too wide":         {requests: 5000, slots: 32, quota: wide},
		"always all left":          {requests: 1800, quota: reported(minute, left(60))},
		"no reset":                 {requests: 1800, quota: reported(minute, func(r answer.Quota) answer.Quota { r.Reset = -1; return r })},
		"rounded to tens":          {requests: 1800, quota: reported(minute, func(r answer.Quota) answer.Quota { r.Left -= math.Mod(r.Left, 10); return r }), most: 1.08},
		"five minutes late":        {requests: 1800, quota: reported(minute, func(r answer.Quota) answer.Quota { r.Reset += 5 * time.Minute; return r }), most: 1.2},
		"only if refused":          {requests: 1800, quota: refusals},
	} {
		t.Run(name, func(t *testing.T) {
			s := service(c.quota)
			s.Clients.Operations, s.Server.Slots, s.Horizon, s.Optimum = c.requests, c.slots, 10*time.Hour, time.Hour
			play := func(w sim.Window) (took time.Duration) {
				for seed := range 8 { // they differ by 4% by chance
					r := limited(t, s, w, seed)
					assert.Equal(t, c.requests, r.Done)
					took += r.Makespan
				}
				return took
			}
			if without[c.requests] == 0 {
				without[c.requests] = play(sim.Window{NoQuota: true})
			}
			ratio := play(sim.Window{}).Seconds() / without[c.requests].Seconds()
			t.Logf("%.3f of the time without", ratio)
			assert.LessOrEqual(t, ratio, cmp.Or(c.most, 1.05))
		})
	}
}
