package backoff

import (
	"cmp"
	"math"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
)

// MaxDelay is the longest delay that any Backoff answers, a hundred years: far beyond use, and small
// enough that the sum of two never overflows. As a setting it means "no cap". Our choice.
const MaxDelay = 100 * 365 * 24 * time.Hour

// Rand is a source of random numbers; *rand.Rand of math/rand/v2 is one.
type Rand interface {
	// Float64 is uniform in [0, 1).
	Float64() float64
	// NormFloat64 has mean 0 and standard deviation 1.
	NormFloat64() float64
}

// State is the progress of an operation one of whose attempts has failed.
type State struct {
	// Retry is the number of the retry that the delay comes before: 1 is the delay between the
	// operation's first attempt and its first retry. Less counts as 1.
	Retry int
	// Last is the delay before this one, 0 if this is the first.
	Last time.Duration
}

// Backoff says how long to wait before an attempt that failed is followed by another. The Backoffs of this
// package are immutable values, for any number of goroutines, each with a Rand of its own.
type Backoff interface {
	// Delay returns how long to wait, 0 to MaxDelay, or false: no further retry.
	Delay(s State, r Rand) (time.Duration, bool)
}

// Check returns an error that names the first wrong setting of b, its value, and the allowed ones. Delay
// never fails: it uses the default instead of a wrong setting. A Backoff from elsewhere is checked if it has a
// method Check() error.
func Check(b Backoff) error {
	if b == nil {
		return setting.Nil("Backoff")
	}
	switch c := b.(type) {
	case interface{ check() error }:
		return c.check()
	case interface{ Check() error }:
		return c.Check()
	}
	return nil
}

// first reports whether s asks for the delay before the first retry.
func (s State) first() bool { return s.Retry <= 1 }

// duration is x nanoseconds, within 0 and MaxDelay.
//
// A product is rounded by a conversion before something is added to it: some machines fuse x*y + z, and
// delays have to be the same on all.
func duration(x float64) time.Duration {
	switch {
	case x >= float64(MaxDelay):
		return MaxDelay
	case x >= 0.5:
		return time.Duration(float64(x) + 0.5)
	}
	return 0 // and NaN
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

func errorOf[T any](_ T, err error) error { return err }

// The functions put the fallback in the place of a zero. They also put it in the place of a value that is not
// within lo and hi, and return an error that names the setting.

func settle(name string, d *time.Duration, fallback, lo, hi time.Duration) error {
	err := setting.Duration(name, d, fallback, lo, hi)
	if err != nil {
		*d = fallback
	}
	return err
}

func settleFactor(name string, x *float64, lo float64) error {
	err := setting.Number(name, x, defaultFactor, lo, maxFactor)
	if err != nil {
		*x = defaultFactor
	}
	return err
}

// settleBounds settles a shortest and a longest delay.
func settleBounds(lo, hi *time.Duration) error {
	return cmp.Or(
		settle("Max", hi, max(defaultMax, min(*lo, MaxDelay)), 1, MaxDelay),
		settle("Min", lo, min(defaultMin, *hi), 1, *hi),
	)
}

// LimitAttempts is b with at most n attempts of an operation, its first one included: n = 1 means no
// retry. n is 1 or more; less counts as 1.
func LimitAttempts(b Backoff, n int) Backoff { return fewer{b, n} }

type fewer struct {
	Backoff
	attempts int
}

func (b fewer) Delay(s State, r Rand) (time.Duration, bool) {
	// Retry N is attempt N+1; not computed so, it might overflow.
	if max(s.Retry, 1) > max(b.attempts, 1)-1 {
		return 0, false
	}
	return ask(b.Backoff, s, r)
}

func (b fewer) check() error {
	return cmp.Or(Check(b.Backoff), setting.Count("LimitAttempts", &b.attempts, 0, 1, math.MaxInt))
}

// ask is the delay of b, one from elsewhere brought within the bounds.
func ask(b Backoff, s State, r Rand) (time.Duration, bool) {
	d, ok := b.Delay(s, r)
	return min(max(d, 0), MaxDelay), ok
}
