package backoff_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
)

// fixed is a Rand that always draws the same.
type fixed struct{ uniform, normal float64 }

func (f fixed) Float64() float64     { return f.uniform }
func (f fixed) NormFloat64() float64 { return f.normal }

// middle draws the medians.
var middle = fixed{uniform: 0.5}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// delays are those of at most n retries in a row of an operation whose attempts take no time.
func delays(b backoff.Backoff, r backoff.Rand, n int) []time.Duration {
	var all []time.Duration
	var s backoff.State
	for range n {
		s.Retry++
		d, ok := b.Delay(s, r)
		if !ok {
			break
		}
		all = append(all, d)
		s.Last = d
	}
	return all
}

// one is the delay before that retry.
func one(t *testing.T, b backoff.Backoff, retry int, r backoff.Rand) time.Duration {
	t.Helper()
	d, ok := b.Delay(backoff.State{Retry: retry}, r)
	require.True(t, ok)
	return d
}

func TestCapBeforeAndAfterJitter(t *testing.T) {
	e := backoff.Exponential{Max: time.Second, Jitter: backoff.Proportional(0.5)}
	most := fixed{uniform: 1}
	assert.Equal(t, 1500*time.Millisecond, one(t, e, 50, most))
	assert.Equal(t, 500*time.Millisecond, one(t, e, 50, fixed{}))
	e.CapLast = true
	assert.Equal(t, time.Second, one(t, e, 50, most))
	assert.Equal(t, time.Second, one(t, e, 50, fixed{}), "far beyond the cap even the shortest is cut")
}

func TestWrongSettingsAreErrorsThatSaySo(t *testing.T) {
	const most = "876000h0m0s"
	nan := math.NaN()
	for _, c := range []struct {
		backoff backoff.Backoff
		want    string
	}{
		{nil, "Backoff: nil is not allowed"},
		{backoff.Exponential{Min: -1}, "Min: -1ns is not allowed, want a duration from 1ns to 30s"},
		{backoff.Exponential{Min: 3, Max: 2}, "Min: 3ns is not allowed, want a duration from 1ns to 2ns"},
		{backoff.Exponential{Max: -time.Second}, "Max: -1s is not allowed, want a duration from 1ns to " + most},
		{backoff.Exponential{Max: math.MaxInt64}, "Max: 2562047h47m16.854775807s is not allowed, want a duration from 1ns to " + most},
		{backoff.Exponential{Factor: 0.5}, "Factor: 0.5 is not allowed, want a number from 1 to 1000"},
		{backoff.Exponential{Factor: nan}, "Factor: NaN is not allowed, want a number from 1 to 1000"},
		{backoff.Exponential{Factor: math.Inf(1)}, "Factor: +Inf is not allowed, want a number from 1 to 1000"},
		{backoff.Exponential{Jitter: backoff.Proportional(1.5)}, "Jitter: proportional:1.5 is not allowed, want a number from 0 to 1"},
		{backoff.Exponential{Jitter: backoff.Normal(-1)}, "Jitter: normal:-1 is not allowed, want a number from 0 to 1"},
		{backoff.Exponential{Jitter: backoff.Uniform(2, 1)}, "Jitter: uniform:2:1 is not allowed, want numbers 0 <= LO <= HI <= 100"},
		{backoff.Exponential{Jitter: backoff.Uniform(0, nan)}, "Jitter: uniform:0:NaN is not allowed, want numbers 0 <= LO <= HI <= 100"},
	} {
		require.EqualError(t, backoff.Check(c.backoff), c.want)
		if c.backoff == nil {
			continue
		}
		assert.Equal(t, 50*time.Millisecond, one(t, c.backoff, 1, middle), "%s: the default is used", c.want)
	}
	assert.NoError(t, backoff.Check(odd(0)), "a Backoff from elsewhere is taken as it is")
}

type odd time.Duration

func (o odd) Delay(backoff.State, backoff.Rand) (time.Duration, bool) { return time.Duration(o), true }

func TestDefaultsFollowTheBoundThatIsGiven(t *testing.T) {
	assert.Equal(t, time.Hour, one(t, backoff.Exponential{Min: time.Hour}, 9, nil), "Max is at least Min")
	assert.Equal(t, time.Millisecond, one(t, backoff.Exponential{Max: time.Millisecond}, 1, nil), "Min is at most Max")
	assert.Equal(t, time.Second, one(t, backoff.Exponential{Min: time.Second, Factor: 1}, 99, nil), "a fixed interval")
	require.NoError(t, backoff.Check(backoff.Exponential{Min: backoff.MaxDelay}))
}

func TestJitterAsText(t *testing.T) {
	for text, j := range map[string]backoff.Jitter{
		"none": {}, "full": backoff.Full(), "equal": backoff.Equal(),
		"proportional:0.1": backoff.Proportional(0.1), "normal:0.1": backoff.Normal(0.1), "uniform:1:2": backoff.Uniform(1, 2),
	} {
		got, err := j.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, text, string(got))
		back := backoff.Normal(1)
		require.NoError(t, back.UnmarshalText(got))
		assert.Equal(t, j, back)
	}
	assert.Equal(t, backoff.Full(), backoff.Uniform(0, 1), "the same thing is equal")

	const forms = " is not allowed, want none, full, equal, proportional:J, normal:J or uniform:LO:HI"
	for text, want := range map[string]string{
		"":                  `Jitter: ""` + forms,
		"full:1":            `Jitter: "full:1"` + forms,
		"normal":            `Jitter: "normal"` + forms,
		"normal:x":          `Jitter: "normal:x"` + forms,
		"uniform:1":         `Jitter: "uniform:1"` + forms,
		"proportional:2":    `Jitter: proportional:2 is not allowed, want a number from 0 to 1`,
		"normal:NaN":        `Jitter: normal:NaN is not allowed, want a number from 0 to 1`,
		"uniform:-1:1":      `Jitter: uniform:-1:1 is not allowed, want numbers 0 <= LO <= HI <= 100`,
		"uniform:0:1000000": `Jitter: uniform:0:1e+06 is not allowed, want numbers 0 <= LO <= HI <= 100`,
	} {
		j := backoff.Equal()
		require.EqualError(t, j.UnmarshalText([]byte(text)), want)
		assert.Equal(t, backoff.Equal(), j, "a wrong text changes nothing")
	}
	_, err := backoff.Normal(3).MarshalText()
	assert.Error(t, err)
}

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
