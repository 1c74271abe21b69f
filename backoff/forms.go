package backoff

import (
	"cmp"
	"math"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
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
	err := cmp.Or(settleBounds(&e.Min, &e.Max), settleFactor("Factor", &e.Factor, 1), e.Jitter.check())
	return e, err
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

// Compound is the loop of [Crash] to the letter: each delay is grown from the one before, its jitter
// included, so that clients that began together drift apart more and more:
//
//	delay = MinDelay
//	...
//	delay = min(delay * Factor, MaxDelay)
//	delay = delay + norm_variate(delay * Jitter)
//
// The first delay is exactly Min, without jitter; the cap comes before the jitter ("excluding Jitter").
// No delay grows from less than Min: after a delay of 0 all would be 0. It needs State.Last.
//
// Jitter should be 1 on average: Normal, as in [Crash], or Proportional. With Full the delays do not grow.
//
// The zero value is {100 ms, 30 s, 2} without jitter. The package comment has the two published sets of
// settings, blue and green.
type Compound struct {
	// Min and Max are the first delay and the cap, with the bounds and the defaults of Exponential.
	Min, Max time.Duration
	// Factor is the growth: 1 to 1000; 0 means 2.
	Factor float64
	Jitter Jitter
}

func (c Compound) withDefaults() (Compound, error) {
	err := cmp.Or(settleBounds(&c.Min, &c.Max), settleFactor("Factor", &c.Factor, 1), c.Jitter.check())
	return c, err
}

func (c Compound) check() error { return errorOf(c.withDefaults()) }

// Delay implements Backoff; it never ends.
func (c Compound) Delay(s State, r Rand) (time.Duration, bool) {
	c, _ = c.withDefaults()
	if s.first() {
		return c.Min, true
	}
	d := duration(float64(max(s.Last, c.Min)) * c.Factor)
	return c.Jitter.apply(min(d, c.Max), r), true
}

// Constant waits the same time before every retry, 0 to MaxDelay: the "fixed time interval" that [Crash]
// warns of: it may keep the server down.
type Constant time.Duration

func (c Constant) check() error {
	d := time.Duration(c)
	return setting.Duration("Constant", &d, 0, 0, MaxDelay)
}

// Delay implements Backoff. A delay that is not allowed counts as 100 ms.
func (c Constant) Delay(State, Rand) (time.Duration, bool) {
	if c.check() != nil {
		return defaultMin, true
	}
	return time.Duration(c), true
}

// LastTry is exponential-backoff of [Clojure]: the waits are Time, Time*Rate, Time*Rate^2 and so on, as
// long as they are shorter than Max. After the last wait comes one last try:
//
//	(if (>= time max) ;; we're over budget, just call f
//
// With its 1000 2 10000 the waits are 1 s, 2 s, 4 s and 8 s, which makes five calls. The fifth is the
// last try: its failure is final.
//
// There is no jitter; WithJitter adds it after the check of the bound. The loop of [SafeClients] runs "while
// not success && delay <= period" and waits "delay * random(.5, 1.5)", also a delay equal to the bound:
//
//	WithJitter(LastTry{Time: 10s, Rate: 2, Max: 300s + 1ns}, Proportional(0.5))
//
// The zero value has the defaults of the macro there: {1 s, 2, 10 s}.
type LastTry struct {
	// Time is the first wait: 1 ns to MaxDelay; 0 means 1 s.
	Time time.Duration
	// Rate is by how much each wait is longer: 1 to 1000; 0 means 2. At 1 the waits never end, unless
	// Time >= Max.
	Rate float64
	// Max is longer than every wait: 1 ns to MaxDelay; 0 means 10 s.
	Max time.Duration
}

func (b LastTry) withDefaults() (LastTry, error) {
	err := cmp.Or(
		settle("Time", &b.Time, time.Second, 1, MaxDelay), settleFactor("Rate", &b.Rate, 1), settle("Max", &b.Max, 10*time.Second, 1, MaxDelay),
	)
	return b, err
}

func (b LastTry) check() error { return errorOf(b.withDefaults()) }

// Delay implements Backoff.
func (b LastTry) Delay(s State, _ Rand) (time.Duration, bool) {
	b, _ = b.withDefaults()
	d := grown(b.Time, b.Rate, s)
	if d >= b.Max {
		return 0, false
	}
	return d, true
}
