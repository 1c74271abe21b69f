package backoff

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
)

// Demand decides the choice of M, the longest delay, by the rule of [Ethernet]: M "should be as low as
// possible to keep your customers happy, but high enough that the system can definitely handle requests
// from all clients at that sustained rate".
type Demand struct {
	// Clients is the number of clients: 1 to 1 000 000 000.
	Clients int
	// Capacity is the number of requests per second that the service can fail without harm, all day long: more than
	// 0, at most 1e12.
	Capacity float64
	// Recovery is the wanted "maximum recovery-after-failure time": how long after the service is back
	// its last client may still be waiting. 1 ns to MaxDelay.
	Recovery time.Duration
	// First is T there, the initial timeout, as Exponential.Min: 1 ns to MaxDelay; 0 means 100 ms.
	First time.Duration
	// Factor is F there: 1.01 to 1000; 0 means 2.
	Factor float64
	// Max is the M that clients have, First to MaxDelay, for a plan that judges it; 0: the plan chooses M.
	Max time.Duration
}

// Plan is the answer to a Demand. While the service is away, all clients come to wait M between attempts;
// when it is back, the last client notices after M. So M settles both the rate that the service must bear
// and the time to recovery.
type Plan struct {
	// Possible reports whether the wanted recovery time can be had within the capacity.
	Possible bool
	// Max is M: Demand.Max, or Least.
	Max time.Duration
	// Least is the shortest delay at which all clients together stay within the capacity, Clients/Capacity,
	// but not less than T.
	Least time.Duration
	// Rate is the requests per second of all clients at M, each failed at once: more than the capacity if
	// Max is less than Least.
	Rate float64
	// Recovery is the longest time from the service's return until the last client's next attempt: M.
	Recovery time.Duration
	// Retries is the most retries that a client has made when it comes to wait M.
	Retries int
	// Settled is the longest time until then. Before, the clients send more than Rate.
	Settled time.Duration
	// CapacityWanted is the capacity that the wanted recovery time takes, Clients/Recovery, in requests
	// per second; ClientsPossible is the number of clients that the given capacity allows for it, at most a billion.
	CapacityWanted  float64
	ClientsPossible int
	// Backoff is [Ethernet]'s min(R*T*F^N, M) with these numbers.
	Backoff Exponential
}

// mostClients is more than there are; it fits in 32 bits.
const mostClients = 1_000_000_000

// NewPlan chooses M, or judges Demand.Max, or returns an error that names the first part of the demand that is wrong. It leaves out
// the time of the attempts themselves, so the true rate is lower. If M is below 2*T, it cuts R*T, and R does
// not spread the clients as it should.
func NewPlan(d Demand) (Plan, error) {
	d, err := d.withDefaults()
	if err != nil {
		return Plan{}, err
	}
	clients := float64(d.Clients)
	least := max(duration(math.Ceil(clients/d.Capacity*1e9)), d.First)
	m := cmp.Or(d.Max, least)
	p := Plan{
		Possible: least <= m && m <= d.Recovery, Max: m, Least: least, Recovery: m,
		Rate:            clients / m.Seconds(),
		CapacityWanted:  clients / d.Recovery.Seconds(),
		ClientsPossible: int(min(d.Capacity*d.Recovery.Seconds(), mostClients)),
		Backoff:         Exponential{Min: d.First, Max: m, Factor: d.Factor, Jitter: Uniform(1, 2), CapLast: true},
	}
	p.settle()
	return p, nil
}

// settle counts the delays shorter than M: there are most at R = 1, which grows slowest, and each lasts
// longest at R = 2.
func (p *Plan) settle() {
	b := p.Backoff
	for x := float64(b.Min); x < float64(p.Max); x *= b.Factor {
		p.Retries++
		p.Settled = duration(float64(p.Settled) + min(2*x, float64(p.Max)))
	}
}

// RecoveryAfter is the longest time from the end of an outage, which lasted that long, until a client's
// next attempt. A short outage ends before the delays are at M.
func (p Plan) RecoveryAfter(outage time.Duration) time.Duration {
	b := p.Backoff
	// Slow growth at R = 1, so that the waits before it end within the outage, then one long wait at R =
	// 2.
	longest, waited := time.Duration(0), 0.0
	for x := float64(b.Min); waited <= float64(outage) && longest < p.Max; x *= b.Factor {
		longest = min(duration(2*x), p.Max)
		waited += x
	}
	return longest
}

func (d Demand) withDefaults() (Demand, error) {
	err := cmp.Or(
		setting.Count("Clients", &d.Clients, 0, 1, mostClients),
		d.checkCapacity(),
		setting.Duration("Recovery", &d.Recovery, 0, 1, MaxDelay),
		setting.Duration("First", &d.First, defaultMin, 1, MaxDelay),
		setting.Number("Factor", &d.Factor, defaultFactor, 1.01, maxFactor),
	)
	if err == nil && d.Max != 0 {
		err = setting.Duration("Max", &d.Max, 0, d.First, MaxDelay)
	}
	return d, err
}

func (d Demand) checkCapacity() error {
	const most = 1e12
	capacity, least := fmt.Sprint(d.Capacity, " per second"), float64(d.Clients)/MaxDelay.Seconds()
	switch {
	case !(d.Capacity > 0 && d.Capacity <= most):
		return setting.Wrong("Capacity", capacity, "a number greater than 0 and at most %s", setting.Plain(most))
	case d.Capacity < least:
		return setting.Wrong("Capacity", capacity, "at least %.3g for %d clients", least, d.Clients)
	}
	return nil
}
