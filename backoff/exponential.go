package backoff

import (
	"math"
	"time"
)

// Exponential multiplies the delay by a factor at each retry: Min, Min*Factor, Min*Factor^2 and so on, up
// to Max. It is what most callers want, best with Jitter: Full(). The zero value doubles from 100 ms to
// 30 s without jitter.
//
// "delay = MIN( R * T * F ^ N , M )" of [Ethernet] is {Min: T, Factor: F, Max: M, Jitter: Uniform(1, 2),
// CapLast: true}. [Syncmusings] publishes 50 ms, 2 and 30 s, and says "add some jitter":
// Proportional(0.6) with CapLast is our reading, which comes nearest to its figures.
type Exponential struct {
	// Min is the delay before the first retry: 1 ns to Max; 0 means 100 ms, or Max if that is shorter.
	// [Ethernet]: it "should be set at the outer limits of expected response time for the service".
	Min time.Duration
	// Max is the cap: Min to MaxDelay; 0 means 30 s, or Min if that is longer. [Plan] computes it.
	Max time.Duration
	// Factor is by how much each delay is longer: 1 to 1000; 0 means 2.
	Factor float64
	// Jitter is the random part.
	Jitter Jitter
	// CapLast adds the jitter, then caps: no delay exceeds the cap, and at the cap many are exactly
	// equal. Without it the cap comes first: delays at the cap stay spread, and may exceed it by a jitter
	// that lengthens.
	CapLast bool
}

func (e Exponential) withDefaults() (Exponential, error) {
	var c checks
	c.bounds(&e.Min, &e.Max)
	c.number("factor", &e.Factor, defaultFactor, 1, maxFactor)
	c.fail(e.Jitter.check())
	return e, c.err
}

func (e Exponential) check() error { return errorOf(e.withDefaults()) }

// Delay implements Backoff; it never ends.
func (e Exponential) Delay(s State, r Rand) (time.Duration, bool) {
	e, _ = e.withDefaults()
	d := grown(e.Min, e.Factor, s)
	if e.CapLast {
		return min(e.Jitter.apply(d, r), e.Max), true
	}
	return e.Jitter.apply(min(d, e.Max), r), true
}

// grown is first * factor^N, N retries having been made before. The power is +Inf at a high number;
// duration bounds it.
func grown(first time.Duration, factor float64, s State) time.Duration {
	return duration(float64(first) * math.Pow(factor, float64(max(s.Retry, 1)-1)))
}
