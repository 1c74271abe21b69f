package backoff_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/backoff"
)

func TestTheLongestDelays(t *testing.T) {
	wide := backoff.Exponential{Min: 1, Max: backoff.MaxDelay, Factor: 1000, Jitter: backoff.Uniform(0, 100)}
	assert.Equal(t, backoff.MaxDelay, one(t, wide, math.MaxInt, middle))
	wide.CapLast = true
	assert.Zero(t, one(t, wide, math.MaxInt, fixed{}), "0 times a delay beyond all bounds is 0, no NaN")
	assert.Positive(t, backoff.MaxDelay+backoff.MaxDelay, "two of the longest can be added")
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
			d, _ := backoff.Exponential{Min: time.Second, Jitter: j}.Delay(backoff.State{Retry: 1}, r)
			all = append(all, d.Seconds())
		}
		return all
	}
	for _, c := range []struct {
		jitter backoff.Jitter
		lo, hi float64
	}{
		{backoff.Full(), 0, 1}, {backoff.Equal(), 0.5, 1}, {backoff.Proportional(0.5), 0.5, 1.5},
		{backoff.Proportional(0.6), 0.4, 1.6}, {backoff.Uniform(1, 2), 1, 2},
	} {
		all := draw(c.jitter)
		assert.Less(t, distance(all, uniformCDF(c.lo, c.hi)), critical, "%v", c.jitter) // which sorts them
		assert.True(t, c.lo <= all[0] && all[n-1] <= c.hi, "%v: %v to %v", c.jitter, all[0], all[n-1])
	}
	assert.Less(t, distance(draw(backoff.Normal(0.1)), normalCDF(1, 0.1)), critical)
	// The test would tell a wrong one.
	assert.Greater(t, distance(draw(backoff.Proportional(0.55)), uniformCDF(0.4, 1.6)), critical)
	assert.Greater(t, distance(draw(backoff.Normal(0.11)), normalCDF(1, 0.1)), critical)
	assert.Greater(t, distance(draw(backoff.Full()), uniformCDF(0.02, 1)), critical)
}

// FuzzDelay tries any settings, right or wrong, any state and any random numbers: a delay is never
// negative, never beyond MaxDelay, and what Check lets pass keeps what it promises.
func FuzzDelay(f *testing.F) {
	f.Add(int64(1e8), int64(3e10), 2.0, 0.5, 1.0, uint8(1), 3, int64(1e9), 0.5, 0.1)
	f.Add(int64(-1), int64(math.MaxInt64), math.NaN(), math.Inf(1), -1.0, uint8(255), math.MaxInt, int64(math.MinInt64), math.NaN(), math.Inf(-1))
	f.Add(int64(1), int64(backoff.MaxDelay), 1000.0, 0.0, 100.0, uint8(2), math.MaxInt, int64(backoff.MaxDelay), 0.0, 0.0)
	for _, retry := range []int{math.MinInt, 0, 64, 1024, math.MaxInt} { // as wide as can be, with the least and the most draws
		for _, kind := range []uint8{1, 64 + 1, 32 + 3, 16} {
			f.Add(int64(1), int64(backoff.MaxDelay), 1000.0, 1.0, 100.0, kind, retry, int64(math.MaxInt64), math.Nextafter(1, 0), 40.0)
			f.Add(int64(1), int64(backoff.MaxDelay), 1000.0, 0.0, 100.0, kind, retry, int64(math.MinInt64), 0.0, -40.0)
		}
	}
	// A cap that no float64 can hold.
	f.Add(int64(40), int64(backoff.MaxDelay)-9, 2.0, 0.0, 0.0, uint8(0), math.MaxInt, int64(0), 0.0, 0.0)
	f.Fuzz(func(t *testing.T, lo, hi int64, factor, a, b float64, kind uint8, retry int, last int64, u, n float64) {
		j := []backoff.Jitter{{}, backoff.Uniform(a, b), backoff.Proportional(a), backoff.Normal(a)}[kind%4]
		s := backoff.State{Retry: retry, Last: time.Duration(last)}
		r := fixed{u, n}
		e := backoff.Exponential{
			Min: time.Duration(lo), Max: time.Duration(hi), Factor: factor, Jitter: j,
			CapLast: kind/64%2 == 1, Compound: kind/32%2 == 1, LastTry: kind/16%2 == 1,
		}
		most := backoff.MaxDelay
		if backoff.Check(e) == nil && (e.CapLast || j == backoff.Jitter{}) {
			most = max(e.Max, e.Min, 30*time.Second)
		}
		if d, _ := e.Delay(s, r); d < 0 || d > most {
			t.Fatalf("%+v: waits %v at %+v, want at most %v", e, d, s, most)
		}
	})
}

// FuzzJitterText: what can be read can be written and read again, and is right.
func FuzzJitterText(f *testing.F) {
	for _, s := range []string{"none", "full", "equal", "proportional:0.5", "normal:0.1", "uniform:1:2", "uniform:1:2:3", "normal:NaN", "normal:-0", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var j, again backoff.Jitter
		if j.UnmarshalText([]byte(s)) != nil {
			return
		}
		text, err := j.MarshalText()
		if err != nil {
			t.Fatalf("%q is read, but %v", s, err)
		}
		if err := again.UnmarshalText(text); err != nil || again != j {
			t.Fatalf("%q is read as %v, that as %v, %v", s, j, again, err)
		}
	})
}
