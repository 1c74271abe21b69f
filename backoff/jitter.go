package backoff

import (
	"strconv"
	"strings"
	"time"

	"github.com/aimd-go/aimd/internal/check"
)

// Jitter is the randomness that is added to a delay d: "Jitter everything!" ([SafeClients]). The zero value adds no
// randomness. Values can be compared.
//
// The text of a jitter is "none", "full", "equal", "proportional:J", "normal:J" or "uniform:LO:HI".
type Jitter struct {
	form   form
	lo, hi float64 // of uniform; the J of the others is in hi
}

type form uint8

const (
	none form = iota
	uniform
	proportional
	normal
)

// maxStretch is the most that Uniform may lengthen a delay. Our choice.
const maxStretch = 100

// Full is d * U(0, 1): any time up to the delay.
func Full() Jitter { return Uniform(0, 1) }

// Equal is d * U(1/2, 1): half of the delay is fixed, the other half random.
func Equal() Jitter { return Uniform(0.5, 1) }

// Proportional is d * U(1-j, 1+j): "wait(delay * random(.5, 1.5))" of
// [SafeClients] is Proportional(0.5). 0 <= j <= 1.
func Proportional(j float64) Jitter { return Jitter{proportional, 0, j} }

// Uniform is d * U(lo, hi), 0 <= lo <= hi <= 100. "R should be a random number in the range [1-2]"
// ([Ethernet]): Uniform(1, 2).
func Uniform(lo, hi float64) Jitter { return Jitter{uniform, lo, hi} }

// Normal is d * (1 + j*N(0, 1)): "delay = delay + norm_variate(delay * Jitter)" ([Crash], "for example,
// 0.1"). A negative result becomes 0, so j should be well below 1: 0 <= j <= 1. There is no upper bound, but
// only one in 30 000 is beyond d * (1 + 4j).
func Normal(j float64) Jitter { return Jitter{normal, 0, j} }

func (j Jitter) check() error {
	switch {
	case j.form == uniform && !(0 <= j.lo && j.lo <= j.hi && j.hi <= maxStretch):
		return check.Wrong("Jitter", j, "numbers 0 <= LO <= HI <= %d", maxStretch)
	case j.form >= proportional && !(0 <= j.hi && j.hi <= 1):
		return check.Wrong("Jitter", j, "a number from 0 to 1")
	}
	return nil
}

func (j Jitter) apply(d time.Duration, r Rand) time.Duration {
	switch j.form {
	case uniform:
		return duration(float64(d) * (j.lo + float64((j.hi-j.lo)*r.Float64())))
	case proportional:
		return duration(float64(d) * (1 + float64(j.hi*(2*r.Float64()-1))))
	case normal:
		return duration(float64(d) * (1 + float64(j.hi*r.NormFloat64())))
	}
	return d
}

// String is the form that UnmarshalText reads.
func (j Jitter) String() string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	switch {
	case j.form == none:
		return "none"
	case j.form == normal:
		return "normal:" + number(j.hi)
	case j.form == proportional:
		return "proportional:" + number(j.hi)
	case j == Full():
		return "full"
	case j == Equal():
		return "equal"
	}
	return "uniform:" + number(j.lo) + ":" + number(j.hi)
}

// MarshalText returns String, or an error with the allowed values.
func (j Jitter) MarshalText() ([]byte, error) { return []byte(j.String()), j.check() }

// UnmarshalText reads the text of String, or returns an error with the allowed values and does not change j.
func (j *Jitter) UnmarshalText(text []byte) error {
	v, err := parseJitter(string(text))
	if err == nil {
		*j = v
	}
	return err
}

func parseJitter(s string) (j Jitter, err error) {
	words := strings.Split(s, ":")
	x := make([]float64, len(words)-1)
	for i := range x {
		if x[i], err = strconv.ParseFloat(words[i+1], 64); err != nil {
			words[0] = "" // no form
		}
	}
	type shape struct {
		name    string
		numbers int
	}
	switch (shape{words[0], len(x)}) {
	case shape{"none", 0}:
	case shape{"full", 0}:
		j = Full()
	case shape{"equal", 0}:
		j = Equal()
	case shape{"proportional", 1}:
		j = Proportional(x[0])
	case shape{"normal", 1}:
		j = Normal(x[0])
	case shape{"uniform", 2}:
		j = Uniform(x[0], x[1])
	default:
		return j, check.Wrong("Jitter", strconv.Quote(s), "none, full, equal, proportional:J, normal:J or uniform:LO:HI")
	}
	return j, j.check()
}
