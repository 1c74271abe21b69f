package backoff

import (
	"math"
	"time"
)

// Constant waits the same time before every retry, 0 to MaxDelay: the "fixed time interval" that [Crash]
// warns of ("may not allow the server to rise").
type Constant time.Duration

func (c Constant) check() error {
	var k checks
	d := time.Duration(c)
	k.duration("delay", &d, 0, 0, MaxDelay)
	return k.err
}

// Delay implements Backoff. A delay that is not allowed counts as 100 ms.
func (c Constant) Delay(State, Rand) (time.Duration, bool) {
	if c.check() != nil {
		return defaultMin, true
	}
	return time.Duration(c), true
}

// Fibonacci waits Min times 1, 1, 2, 3, 5, 8 and so on, up to Max: it grows by a factor of 1.6 in the
// end, gentler than doubling. No jitter; WithJitter adds it after the cap. It never ends. The zero value
// goes from 100 ms to 30 s.
type Fibonacci struct {
	// Min is the first delay: 1 ns to Max; 0 means 100 ms, or Max if that is shorter.
	Min time.Duration
	// Max is the cap: Min to MaxDelay; 0 means 30 s, or Min if that is longer.
	Max time.Duration
}

func (f Fibonacci) withDefaults() (Fibonacci, error) {
	var c checks
	c.bounds(&f.Min, &f.Max)
	return f, c.err
}

func (f Fibonacci) check() error { return errorOf(f.withDefaults()) }

// Delay implements Backoff.
func (f Fibonacci) Delay(s State, _ Rand) (time.Duration, bool) {
	f, _ = f.withDefaults()
	// Binet's formula, rounded: exact for as long as a delay has digits.
	number := math.Round(math.Pow(math.Phi, float64(max(s.Retry, 1))) / math.Sqrt(5))
	return min(duration(float64(f.Min)*number), f.Max), true
}
