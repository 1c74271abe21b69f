package backoff_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
)

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
		for name, b := range map[string]backoff.Exponential{
			"constant":    {Min: hi, Max: hi, Factor: 1},
			"cap, jitter": {Min: lo, Max: hi},
			"jitter, cap": {Min: lo, Max: hi, CapLast: true},
			"compound":    {Min: lo, Max: hi, Compound: true},
		} {
			b.Jitter = j.Jitter
			most := time.Duration(min(float64(hi)*j.hi, float64(backoff.MaxDelay)))
			if b.CapLast {
				most = hi
			}
			least := time.Duration(float64(lo) * min(j.lo, 1))
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
	wide := map[string]backoff.Exponential{
		"wide":      {Min: 1, Max: backoff.MaxDelay, Factor: 1000, Jitter: backoff.Uniform(0, 100)},
		"wide, cap": {Min: 1, Max: backoff.MaxDelay, Factor: 1000, Jitter: backoff.Uniform(0, 100), CapLast: true},
		"compound":  {Min: backoff.MaxDelay, Max: backoff.MaxDelay, Factor: 1000, Jitter: backoff.Normal(1), Compound: true},
		"last try":  {Factor: 1, Max: backoff.MaxDelay, LastTry: true},
	}
	for name, b := range wide {
		require.NoError(t, backoff.Check(b), name)
		for _, n := range numbers {
			for _, last := range lasts {
				for _, r := range []fixed{{0, -40}, {math.Nextafter(1, 0), 40}, middle} {
					d, ok := b.Delay(backoff.State{Retry: n, Last: last}, r)
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

// FuzzDelay tries any settings, right or wrong, any state and any random numbers: a delay is never
// negative, never beyond MaxDelay, and what Check lets pass keeps what it promises.
func FuzzDelay(f *testing.F) {
	f.Add(int64(1e8), int64(3e10), 2.0, 0.5, 1.0, uint8(1), 3, int64(1e9), 0.5, 0.1)
	f.Add(int64(-1), int64(math.MaxInt64), math.NaN(), math.Inf(1), -1.0, uint8(255), math.MaxInt, int64(math.MinInt64), math.NaN(), math.Inf(-1))
	f.Add(int64(1), int64(backoff.MaxDelay), 1000.0, 0.0, 100.0, uint8(2), math.MaxInt, int64(backoff.MaxDelay), 0.0, 0.0)
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
