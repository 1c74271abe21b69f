package backoff

import (
	"cmp"
	"math"
	"time"

	"github.com/aimd-go/aimd/internal/check"
)

// Exponential multiplies the delay by a factor at each retry: Min, Min*Factor, Min*Factor^2 and so on, up to Max.
// Most callers want Exponential{Jitter: Full()}. The zero value doubles from 100 ms to 30 s without jitter; with a
// Factor of 1 the delay is always Min. It is a value, for any number of goroutines; each needs its own Rand.
//
// CapLast, Compound and LastTry make the forms of the texts. The package comment has their settings.
type Exponential struct {
	// Min is the delay before the first retry: 1 ns to Max; 0 means 100 ms, or Max if that is shorter.
	// [Ethernet]: it "should be set at the outer limits of expected response time for the service".
	Min time.Duration
	// Max is the cap: Min to MaxDelay; 0 means 30 s, or Min if that is longer. [Plan] computes it.
	Max time.Duration
	// Factor is the ratio of a delay to the delay before: 1 to 1000; 0 means 2.
	Factor float64
	// Jitter is the random part.
	Jitter Jitter
	// CapLast adds the jitter, then caps: no delay exceeds the cap, and many delays are equal to the cap. Without
	// CapLast the cap comes first: delays at the cap stay spread, and may exceed the cap by their jitter.
	CapLast bool
	// Compound grows each delay from the delay before, its jitter included, so that clients that began together
	// drift apart more and more. It is the loop of [Crash] to the letter:
	//
	//	delay = MinDelay
	//	...
	//	delay = min(delay * Factor, MaxDelay)
	//	delay = delay + norm_variate(delay * Jitter)
	//
	// The first delay is exactly Min, and no delay grows from less. It needs State.Last, and a jitter that is
	// 1 on average, such as Normal: with Full the delays do not grow.
	Compound bool
	// LastTry ends the retries if the delay, before its jitter, would be Max or more, as the function of [Clojure]
	// does: "(if (>= time max) ;; we're over budget, just call f". With its 1000 2 10000 the waits are 1 s, 2 s, 4
	// s and 8 s. The try after the last wait is the last one.
	LastTry bool
}

const (
	// defaultMin: "minimum (initial) retry interval (e.g. 100 ms)" ([Crash]).
	defaultMin = 100 * time.Millisecond
	// defaultMax: "unfortunate" operations "maxed out the retry period to 30s" ([Syncmusings]).
	defaultMax = 30 * time.Second
	// defaultFactor: "F doesn't matter much, so choose 2 as a nice round number" ([Ethernet]).
	defaultFactor = 2
	// maxFactor is the largest factor of growth. Our choice.
	maxFactor = 1000
)

func (e Exponential) withDefaults() (Exponential, error) {
	err := cmp.Or(
		check.Duration("Max", &e.Max, max(defaultMax, min(e.Min, MaxDelay)), 1, MaxDelay),
		check.Duration("Min", &e.Min, min(defaultMin, e.Max), 1, e.Max),
		check.Number("Factor", &e.Factor, defaultFactor, 1, maxFactor),
		e.Jitter.check(),
	)
	return e, err
}

func (e Exponential) check() error {
	_, err := e.withDefaults()
	return err
}

// Delay implements Backoff. If a setting is wrong, it returns the delay of Exponential{Jitter: Full()}.
func (e Exponential) Delay(s State, r Rand) (time.Duration, bool) {
	e, err := e.withDefaults()
	if err != nil {
		e, _ = Exponential{Jitter: Full()}.withDefaults()
	}
	// The power is +Inf at a high number; duration bounds it.
	d := duration(float64(e.Min) * math.Pow(e.Factor, float64(max(s.Retry, 1)-1)))
	if e.Compound && s.Retry <= 1 {
		e.Jitter = Jitter{}
	} else if e.Compound {
		d = duration(float64(max(s.Last, e.Min)) * e.Factor)
	}
	switch {
	case e.LastTry && d >= e.Max:
		return 0, false
	case e.CapLast:
		return min(e.Jitter.apply(d, r), e.Max), true
	}
	return e.Jitter.apply(min(d, e.Max), r), true
}
