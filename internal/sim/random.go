package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// random is the one source of a run. Its numbers are the same on every machine. The functions math.Exp and
// math.Log, and deviates of package rand that use them, differ: some machines have instructions for them, and
// some fuse x*y + z. So a product is rounded by a conversion before an addition.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 4))} }

// ExpFloat64 is exponentially distributed, with mean 1.
func (r random) ExpFloat64() float64 { return -logarithm(1 - r.Float64()) }

// NormFloat64 is normally distributed, by the polar method of Marsaglia.
func (r random) NormFloat64() float64 {
	for {
		u, v := 2*r.Float64()-1, 2*r.Float64()-1
		if s := float64(u*u) + float64(v*v); s > 0 && s < 1 {
			return u * math.Sqrt(-2*logarithm(s)/s)
		}
	}
}

func (r random) spread(mean time.Duration, s Spread) time.Duration {
	switch s.Kind {
	case uniformWord:
		return stretched(mean, 1+float64(s.Width*(float64(2*r.Float64())-1)))
	case exponentialWord:
		return stretched(mean, r.ExpFloat64())
	case lognormalWord:
		// Less half of the variance, so that the mean stays.
		return stretched(mean, exponential(float64(s.Width*r.NormFloat64())-float64(s.Width*s.Width)/2))
	}
	return mean
}

func (r random) upTo(d time.Duration) time.Duration { return stretched(d, r.Float64()) }

// maxDuration bounds a single time, 100 years: our choice.
const maxDuration = 100 * 365 * 24 * time.Hour

// stretched is d * by, to the nearest nanosecond, within the range of a Duration.
func stretched(d time.Duration, by float64) time.Duration {
	return time.Duration(min(max(math.RoundToEven(float64(d)*by), 0), float64(maxDuration)))
}

// logarithm is the natural one of a number greater than 0.
func logarithm(x float64) float64 {
	frac, exp := math.Frexp(x)
	if frac < math.Sqrt2/2 {
		frac, exp = 2*frac, exp-1
	}
	// log(frac) = 2 atanh(s), and |s| < 0.172.
	s := (frac - 1) / (frac + 1)
	square := float64(s * s)
	sum, power := 0.0, s
	for k := 1.0; k < 24; k += 2 {
		sum += power / k
		power = float64(power * square)
	}
	return float64(2*sum) + float64(float64(exp)*math.Ln2)
}

func exponential(x float64) float64 {
	if x > 700 {
		return math.Inf(1)
	}
	n := math.Floor(x/math.Ln2 + 0.5)
	rest := x - float64(n*math.Ln2)
	sum, term := 1.0, 1.0
	for k := 1.0; k < 20; k++ {
		term = float64(term*rest) / k
		sum += term
	}
	return math.Ldexp(sum, int(n))
}
