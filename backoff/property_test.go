package backoff_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
)

// forms are all that never end, over the same bounds.
func forms(jitter backoff.Jitter) map[string]backoff.Backoff {
	const lo, hi = 20 * time.Millisecond, 5 * time.Second
	return map[string]backoff.Backoff{
		"constant":      backoff.WithJitter(backoff.Constant(hi), jitter),
		"fibonacci":     backoff.WithJitter(backoff.Fibonacci{Min: lo, Max: hi}, jitter),
		"cap, jitter":   backoff.Exponential{Min: lo, Max: hi, Jitter: jitter},
		"jitter, cap":   backoff.Exponential{Min: lo, Max: hi, Jitter: jitter, CapLast: true},
		"compound":      backoff.Compound{Min: lo, Max: hi, Jitter: jitter},
		"decorrelated":  backoff.Decorrelated{Min: lo, Max: hi},
		"capped around": backoff.Cap(backoff.WithJitter(backoff.Fibonacci{Min: lo, Max: 2 * hi}, jitter), hi),
	}
}

// jitters are all forms of it with the least and the most that each makes of 1.
var jitters = []struct {
	backoff.Jitter
	lo, hi float64
}{
	{backoff.Jitter{}, 1, 1},
	{backoff.Full(), 0, 1},
	{backoff.Equal(), 0.5, 1},
	{backoff.Proportional(0.5), 0.5, 1.5},
	{backoff.Uniform(1, 2), 1, 2},
	{backoff.Normal(0.1), 0, math.Inf(1)},
}

func TestDelaysStayWithinTheirBounds(t *testing.T) {
	const lo, hi = 20 * time.Millisecond, 5 * time.Second
	for _, j := range jitters {
		for name, b := range forms(j.Jitter) {
			most := time.Duration(min(float64(hi)*j.hi, float64(backoff.MaxDelay)))
			if slices.Contains([]string{"jitter, cap", "decorrelated", "capped around"}, name) {
				most = hi
			}
			least := time.Duration(float64(lo) * min(j.lo, 1))
			switch name {
			case "decorrelated":
				least = lo
			}
			r := newRand(7)
			for chain := range 50 {
				for n, d := range delays(b, r, 30) {
					if d < least || d > most {
						t.Fatalf("%s, %v: retry %d of %d waits %v, want %v to %v", name, j, n+1, chain, d, least, most)
					}
				}
			}
		}
	}
}

// At any attempt number, with the least and the most that a random source draws.
func TestNoNumberOfRetriesOverflows(t *testing.T) {
	numbers := []int{math.MinInt, -1, 0, 1, 2, 62, 63, 64, 65, 100, 1023, 1024, 1025, 1 << 30, math.MaxInt - 1, math.MaxInt}
	lasts := []time.Duration{math.MinInt64, 0, 1, time.Hour, backoff.MaxDelay, math.MaxInt64}
	wide := map[string]backoff.Backoff{
		"wide":      backoff.Exponential{Min: 1, Max: backoff.MaxDelay, Factor: 1000, Jitter: backoff.Uniform(0, 100)},
		"wide, cap": backoff.Exponential{Min: 1, Max: backoff.MaxDelay, Factor: 1000, Jitter: backoff.Uniform(0, 100), CapLast: true},
		"compound":  backoff.Compound{Min: backoff.MaxDelay, Max: backoff.MaxDelay, Factor: 1000, Jitter: backoff.Normal(1)},
		"decor":     backoff.Decorrelated{Min: backoff.MaxDelay, Max: backoff.MaxDelay, Factor: 1000},
		"fibonacci": backoff.Fibonacci{Min: 1, Max: backoff.MaxDelay},
		"last try":  backoff.LimitElapsed(backoff.LastTry{Rate: 1, Max: backoff.MaxDelay}, backoff.MaxDelay),
	}
	for name, b := range wide {
		require.NoError(t, backoff.Check(b), name)
		for _, n := range numbers {
			for _, last := range lasts {
				for _, r := range []fixed{{0, -40}, {math.Nextafter(1, 0), 40}, middle} {
					d, ok := b.Delay(backoff.State{Retry: n, Last: last, Elapsed: last}, r)
					assert.True(t, 0 <= d && d <= backoff.MaxDelay, "%s: retry %d after %v waits %v", name, n, last, d)
					assert.True(t, ok || name == "last try", name)
				}
			}
		}
	}
	assert.Equal(t, backoff.MaxDelay, one(t, wide["wide"], math.MaxInt, middle))
	assert.Zero(t, one(t, wide["wide, cap"], math.MaxInt, fixed{}), "0 times a delay beyond all bounds is 0, no NaN")
	assert.Positive(t, backoff.MaxDelay+backoff.MaxDelay, "two of the longest can be added")
}

// What is longer by rule must be longer in truth: the median over many clients never falls from one retry
// to the next.
func TestMediansAreMonotone(t *testing.T) {
	const clients, retries = 1501, 14
	for _, j := range jitters {
		for name, b := range forms(j.Jitter) {
			at := make([][]time.Duration, retries)
			r := newRand(11)
			for range clients {
				for n, d := range delays(b, r, retries) {
					at[n] = append(at[n], d)
				}
			}
			last := time.Duration(0)
			for n := range at {
				slices.Sort(at[n])
				median := at[n][clients/2]
				// At the cap, medians of samples differ by chance.
				assert.GreaterOrEqual(t, float64(median), 0.9*float64(last), "%s, %v: retry %d", name, j, n+1)
				last = max(last, median)
			}
			growth := float64(at[retries-1][clients/2]) / float64(at[0][clients/2])
			if name == "constant" || name == "compound" && j.Jitter == backoff.Full() {
				continue // Full shortens as much as it grows, as its comment says
			}
			assert.Greater(t, growth, 20.0, "%s, %v: grows %v times", name, j, growth)
		}
	}
	for name, b := range forms(backoff.Jitter{}) {
		assert.True(t, slices.IsSorted(delays(b, middle, 200)), name)
	}
}

// distance is the statistic of Kolmogorov and Smirnov: the largest difference between the samples'
// distribution and the one that is wanted.
func distance(samples []float64, cdf func(float64) float64) float64 {
	slices.Sort(samples)
	n, d := float64(len(samples)), 0.0
	for i, x := range samples {
		d = max(d, math.Abs(cdf(x)-float64(i)/n), math.Abs(cdf(x)-float64(i+1)/n))
	}
	return d
}

func uniformCDF(lo, hi float64) func(float64) float64 {
	return func(x float64) float64 { return min(max((x-lo)/(hi-lo), 0), 1) }
}

func normalCDF(mean, deviation float64) func(float64) float64 {
	return func(x float64) float64 { return (1 + math.Erf((x-mean)/deviation/math.Sqrt2)) / 2 }
}

func TestJitterHasItsDistribution(t *testing.T) {
	const n = 20_000
	// Beyond it one of 1000 true samples of this size would be; the seeds are fixed.
	critical := 1.95 / math.Sqrt(n)
	draw := func(j backoff.Jitter) []float64 {
		r := newRand(13)
		var all []float64
		for range n {
			d, _ := backoff.WithJitter(backoff.Constant(time.Second), j).Delay(backoff.State{Retry: 1}, r)
			all = append(all, d.Seconds())
		}
		return all
	}
	for _, c := range []struct {
		jitter backoff.Jitter
		cdf    func(float64) float64
	}{
		{backoff.Full(), uniformCDF(0, 1)},
		{backoff.Equal(), uniformCDF(0.5, 1)},
		{backoff.Proportional(0.5), uniformCDF(0.5, 1.5)},
		{backoff.Proportional(0.6), uniformCDF(0.4, 1.6)},
		{backoff.Uniform(1, 2), uniformCDF(1, 2)},
		{backoff.Normal(0.1), normalCDF(1, 0.1)},
	} {
		assert.Less(t, distance(draw(c.jitter), c.cdf), critical, "%v", c.jitter)
	}
	// The test would tell a wrong one.
	assert.Greater(t, distance(draw(backoff.Proportional(0.55)), uniformCDF(0.4, 1.6)), critical)
	assert.Greater(t, distance(draw(backoff.Normal(0.11)), normalCDF(1, 0.1)), critical)
	assert.Greater(t, distance(draw(backoff.Full()), uniformCDF(0.02, 1)), critical)
}

// Pearson's chi-square of decorrelated jitter, whose second delay is uniform between Min and three times
// the first.
func TestDecorrelatedJitterIsUniform(t *testing.T) {
	const n, bins = 20_000, 20
	b := backoff.Decorrelated{Min: time.Second, Max: time.Hour}
	count := make([]float64, bins)
	r := newRand(17)
	for range n {
		d, _ := b.Delay(backoff.State{Retry: 2, Last: 2 * time.Second}, r)
		x := (d.Seconds() - 1) / 5 // U(1, 3*2)
		count[min(int(x*bins), bins-1)]++
	}
	chi2 := 0.0
	for _, c := range count {
		chi2 += (c - n/bins) * (c - n/bins) / (n / bins)
	}
	assert.Less(t, chi2, 43.8, fmt.Sprint("99.9% of 19 degrees of freedom; ", count))
}
