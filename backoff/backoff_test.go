package backoff_test

import (
	"math"
	"math/rand/v2"
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
