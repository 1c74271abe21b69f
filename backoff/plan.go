package backoff

import (
	"cmp"
	"math"
	"time"

	"github.com/aimd-go/aimd/internal/check"
)

// Demand decides the choice of M, the longest delay, by the rule of [Ethernet]: M "should be as low as
// possible to keep your customers happy, but high enough that the system can definitely handle requests
// from all clients at that sustained rate".
type Demand struct {
	// Clients is the number of clients: 1 to 1 000 000 000.
	Clients int
	// Capacity is the number of requests per second that the service can fail without harm, all day long: from one
	// request of each client in MaxDelay to 1e12.
	Capacity float64
	// Recovery is the wanted "maximum recovery-after-failure time": how long after the service is back
	// its last client may still be waiting. 1 ns to MaxDelay.
	Recovery time.Duration
	// First is the text's T, the initial timeout, as Exponential.Min: 1 ns to MaxDelay; 0 means 100 ms.
	First time.Duration
	// Factor is the text's F: 1.01 to 1000; 0 means 2.
	Factor float64
}

// Plan is the answer to a Demand. While the service is down, all clients come to wait M between attempts. When it
// is back, the last client notices within M. So M decides both the rate that the service must bear and the time to
// recovery.
type Plan struct {
	// Possible reports whether the wanted recovery time fits the capacity. If not, the service must bear
	// Clients/Recovery requests per second, or there may be at most Capacity*Recovery clients.
	Possible bool
	// Max is M, the shortest delay at which all clients together stay within the capacity, Clients/Capacity,
	// but not less than T. It is the longest time from the service's return until the last client's next attempt.
	Max time.Duration
	// Rate is the number of requests per second of all clients at M, if each request fails at once.
	Rate float64
	// Backoff is [Ethernet]'s min(R*T*F^N, M) with these numbers.
	Backoff Exponential
}

// mostClients is more than there are; it fits in 32 bits.
const mostClients = 1_000_000_000

// NewPlan chooses M, or returns an error that names the first part of the demand that is wrong. It leaves out
// the time of the attempts themselves, so the true rate is lower. If M is below 2*T, it cuts R*T, and R does
// not spread the clients as it should.
func NewPlan(d Demand) (Plan, error) {
	clients := float64(d.Clients)
	if err := cmp.Or(
		check.Count("Clients", &d.Clients, 0, 1, mostClients),
		check.Number("Capacity", &d.Capacity, 0, clients/MaxDelay.Seconds(), 1e12),
		check.Duration("Recovery", &d.Recovery, 0, 1, MaxDelay),
		check.Duration("First", &d.First, defaultMin, 1, MaxDelay),
		check.Number("Factor", &d.Factor, defaultFactor, 1.01, maxFactor),
	); err != nil {
		return Plan{}, err
	}
	m := max(duration(math.Ceil(clients/d.Capacity*1e9)), d.First)
	return Plan{
		Possible: m <= d.Recovery, Max: m, Rate: clients / m.Seconds(),
		Backoff: Exponential{Min: d.First, Max: m, Factor: d.Factor, Jitter: Uniform(1, 2), CapLast: true},
	}, nil
}
