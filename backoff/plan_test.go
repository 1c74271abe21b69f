package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
)

func plan(t *testing.T, d backoff.Demand) backoff.Plan {
	t.Helper()
	p, err := backoff.NewPlan(d)
	require.NoError(t, err)
	return p
}

// [Ethernet]: "If you want to handle 1000 clients and have a maximum
// recovery-after-failure time of one second, then you had better make sure that your system can handle
// 1000 failed requests per second at a sustained rate."
func TestTheRuleOfCapacity(t *testing.T) {
	p := plan(t, backoff.Demand{Clients: 1000, Capacity: 1000, Recovery: time.Second})
	assert.True(t, p.Possible)
	assert.Equal(t, time.Second, p.Max)
	assert.Equal(t, time.Second, p.Recovery)
	assert.Equal(t, 1000.0, p.Rate)
	assert.Equal(t, 1000.0, p.CapacityWanted)
	assert.Equal(t, 1000, p.ClientsPossible)
	assert.Equal(t, backoff.Exponential{
		Min: 100 * time.Millisecond, Max: time.Second, Factor: 2, Jitter: backoff.Uniform(1, 2), CapLast: true,
	}, p.Backoff)

	p = plan(t, backoff.Demand{Clients: 1000, Capacity: 999, Recovery: time.Second})
	assert.False(t, p.Possible, "one less is not enough")
	assert.Greater(t, p.Max, time.Second)
	assert.LessOrEqual(t, p.Rate, 999.0)
	assert.Equal(t, 1000.0, p.CapacityWanted)
	assert.Equal(t, 999, p.ClientsPossible)
}

// [Ethernet]: "M should be as low as possible to keep your customers happy, but high
// enough that the system can definitely handle requests from all clients at that sustained rate."
func TestPlanTakesTheLowestMThatTheServiceBears(t *testing.T) {
	p := plan(t, backoff.Demand{Clients: 1000, Capacity: 50, Recovery: time.Minute, First: 10 * time.Millisecond})
	assert.Equal(t, 20*time.Second, p.Max, "not the minute that would do")
	assert.Equal(t, 50.0, p.Rate)

	// "T ... should be set at the outer limits of expected response time".
	p = plan(t, backoff.Demand{Clients: 1, Capacity: 1e6, Recovery: time.Second, First: 200 * time.Millisecond})
	assert.Equal(t, 200*time.Millisecond, p.Max)
	assert.Equal(t, 5.0, p.Rate)
	p = plan(t, backoff.Demand{Clients: 1, Capacity: 1e6, Recovery: time.Millisecond, First: 200 * time.Millisecond})
	assert.False(t, p.Possible, "no recovery is quicker than T")
}

// The plan's numbers hold for clients that follow its Backoff: counted over the second half of a long
// outage, and at its end.
func TestPlanHoldsForItsClients(t *testing.T) {
	const clients = 500
	d := backoff.Demand{Clients: clients, Capacity: 100, Recovery: 10 * time.Second}
	p := plan(t, d)
	const outage = 10 * time.Minute
	r := newRand(5)
	sent, latest, settled, retries := 0, time.Duration(0), time.Duration(0), 0
	for range clients {
		at, s := time.Duration(0), backoff.State{}
		for at <= outage {
			s.Retry++
			s.Last, _ = p.Backoff.Delay(s, r)
			if s.Last < p.Max {
				settled, retries = max(settled, at+s.Last), max(retries, s.Retry)
			}
			at += s.Last
			if at > outage/2 && at <= outage {
				sent++
			}
		}
		latest = max(latest, at-outage)
	}
	rate := float64(sent) / (outage / 2).Seconds()
	assert.InDelta(t, p.Rate, rate, 0.02*p.Rate)
	assert.LessOrEqual(t, latest, p.Recovery)
	assert.Greater(t, latest, p.Recovery*9/10)
	assert.LessOrEqual(t, settled, p.Settled)
	assert.LessOrEqual(t, retries, p.Retries)
	assert.GreaterOrEqual(t, retries, p.Retries-1)
}

// [Ethernet]: backoff "is going to extend the time to recovery after a failure by
// about a factor of two ... If the web server is unavailable for thirty seconds and then recovers, the
// client will not notice right away".
func TestRecoveryAfterAnOutage(t *testing.T) {
	p := plan(t, backoff.Demand{Clients: 1, Capacity: 0.0001, Recovery: backoff.MaxDelay, First: time.Second})
	require.Greater(t, p.Max, 2*time.Hour)
	for _, outage := range []time.Duration{30 * time.Second, 30 * time.Minute} {
		longest := p.RecoveryAfter(outage)
		assert.GreaterOrEqual(t, longest, outage)
		assert.LessOrEqual(t, longest, 2*outage+2*time.Second)

		r := newRand(9)
		seen := time.Duration(0)
		for range 5000 {
			at, s := time.Duration(0), backoff.State{}
			for at <= outage {
				s.Retry++
				s.Last, _ = p.Backoff.Delay(s, r)
				at += s.Last
			}
			seen = max(seen, at-outage)
		}
		assert.LessOrEqual(t, seen, longest, "after %v", outage)
		assert.Greater(t, seen, longest*6/10, "after %v: the bound is not idle", outage)
	}
	assert.Equal(t, 2*time.Second, p.RecoveryAfter(0))
	assert.Equal(t, p.Max, p.RecoveryAfter(backoff.MaxDelay))
}

func TestWrongDemandsAreErrorsThatSaySo(t *testing.T) {
	const most = "876000h0m0s"
	good := backoff.Demand{Clients: 10, Capacity: 10, Recovery: time.Second}
	for _, c := range []struct {
		change func(*backoff.Demand)
		want   string
	}{
		{func(d *backoff.Demand) { d.Clients = 0 }, "clients: 0 is not allowed, want a number from 1 to 1000000000"},
		{func(d *backoff.Demand) { d.Capacity = 0 }, "capacity: 0 per second is not allowed, want a number greater than 0 and at most 1000000000000"},
		{func(d *backoff.Demand) { d.Capacity = math.NaN() }, "capacity: NaN per second is not allowed, want a number greater than 0 and at most 1000000000000"},
		{func(d *backoff.Demand) { d.Capacity = 1e-12 }, "capacity: 1e-12 per second is not allowed, want at least 3.17e-09 for 10 clients"},
		{func(d *backoff.Demand) { d.Recovery = 0 }, "recovery time: 0s is not allowed, want a duration from 1ns to " + most},
		{func(d *backoff.Demand) { d.First = -1 }, "first delay: -1ns is not allowed, want a duration from 1ns to " + most},
		{func(d *backoff.Demand) { d.Factor = 1 }, "factor: 1 is not allowed, want a number from 1.01 to 1000"},
	} {
		d := good
		c.change(&d)
		_, err := backoff.NewPlan(d)
		assert.EqualError(t, err, c.want)
	}
}
