package backoff

import (
	"time"

	"github.com/aimd-go/aimd/internal/check"
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

// State is the progress of an operation after a failed attempt.
type State struct {
	// Retry is the number of the retry that follows the delay: 1 is the delay between the operation's first attempt
	// and its first retry. A smaller number counts as 1.
	Retry int
	// Last is the delay before this delay, 0 if this is the first.
	Last time.Duration
}

// Backoff is the delay between a failed attempt and the next attempt: [Exponential], or a type of your own.
type Backoff interface {
	// Delay returns the time to wait, 0 to MaxDelay, or false: no further retry.
	Delay(s State, r Rand) (time.Duration, bool)
}

// Check returns an error that names the first wrong setting of an Exponential, its value, and the allowed values. A
// nil Backoff is wrong; a type of your own is right.
func Check(b Backoff) error {
	switch c := b.(type) {
	case nil:
		return check.Nil("Backoff")
	case interface{ check() error }:
		return c.check()
	}
	return nil
}

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
