package backoff

import "time"

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
