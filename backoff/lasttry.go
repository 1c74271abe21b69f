package backoff

import "time"

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
	var c checks
	c.duration("time", &b.Time, time.Second, 1, MaxDelay)
	c.number("rate", &b.Rate, 2, 1, maxFactor)
	c.duration("max", &b.Max, 10*time.Second, 1, MaxDelay)
	return b, c.err
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
