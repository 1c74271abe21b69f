package sim

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// The logarithm and the exponential are as good as those of package math.
func TestOwnFunctions(t *testing.T) {
	for x := 1e-17; x < 1e17; x *= 1.37 {
		assert.InEpsilon(t, 1+math.Log(x), 1+logarithm(x), 1e-13, "log %v", x)
	}
	assert.InDelta(t, 0, logarithm(1), 0)
	assert.InDelta(t, 709.78, logarithm(math.MaxFloat64), 0.01)
	for x := -700.0; x < 700; x += 0.37 {
		assert.InEpsilon(t, math.Exp(x), exponential(x), 1e-13, "exp %v", x)
	}
	assert.InDelta(t, 1, exponential(0), 0)
	assert.True(t, math.IsInf(exponential(701), 1))
}

// Mean and variance of the exponential and the normal deviates.
func TestDeviates(t *testing.T) {
	r := newRandom(1)
	const n = 200_000
	moments := func(next func() float64) (mean, variance float64) {
		var sum, squares float64
		for range n {
			x := next()
			sum += x
			squares += x * x
		}
		mean = sum / n
		return mean, squares/n - mean*mean
	}
	mean, variance := moments(r.ExpFloat64)
	assert.InDelta(t, 1, mean, 0.01)
	assert.InDelta(t, 1, variance, 0.03)
	mean, variance = moments(r.NormFloat64)
	assert.InDelta(t, 0, mean, 0.01)
	assert.InDelta(t, 1, variance, 0.01)
}

// Events come in the order of time and class, and those of one time and class as they were made.
func TestEventsAreInOrder(t *testing.T) {
	r := newRandom(2)
	var c calendar
	var want []event
	first := func() {
		got, ok := c.pop()
		assert.True(t, ok)
		assert.Equal(t, want[0], got)
		want = want[1:]
	}
	for i := range int32(5000) {
		e := newEvent(time.Duration(c.last>>2)+time.Duration(r.Int64N(1<<r.IntN(40))), kind(r.IntN(int(capacityKind)+1)), i, 0)
		if e.key < c.last { // as births and outages are not made by other events of their time
			e.key = c.last
		}
		c.push(e)
		want = append(want, e)
		slices.SortStableFunc(want, func(a, b event) int { return cmp.Compare(a.key, b.key) })
		if r.IntN(3) == 0 {
			first()
		}
	}
	for len(want) > 0 {
		first()
	}
	_, ok := c.pop()
	assert.False(t, ok)
	assert.Less(t, newEvent(time.Second, outageKind, 0, 0).key, newEvent(time.Second, bornKind, 0, 0).key)
	assert.Less(t, newEvent(time.Second, bornKind, 0, 0).key, newEvent(time.Second, retryKind, 0, 0).key)
	assert.Equal(t, time.Second, newEvent(time.Second, retryKind, 0, 0).at())
}

// A law of Register is known wherever one is named.
func TestRegister(t *testing.T) {
	before := laws
	t.Cleanup(func() { laws = before })
	Register("mine", aimd.Reno)
	assert.Equal(t, []string{"probe", "tahoe", "reno", "mine"}, Laws())
	assert.NotNil(t, Window{Law: "mine"}.MakeLaw())
	st, ok := StrategyNamed("mine")
	require.True(t, ok)
	s := Scenario{Server: Server{Slots: 4}, Clients: Clients{Operations: 100}, Strategies: []Strategy{st}}
	require.NoError(t, s.Validate())
	r, err := Run(s, st, 1)
	require.NoError(t, err)
	assert.Equal(t, 100, r.Done)
	_, err = Run(s, Strategy{Name: "x", Window: Window{Law: "yours"}}, 1)
	assert.ErrorContains(t, err, `law: "yours" is not allowed, want probe, tahoe, reno or mine`)
}

// It panics if the name is empty, has blanks, or is that of a law or a strategy already,
// or if there is no law.
func TestRegisterWhatIsWrong(t *testing.T) {
	for _, name := range []string{"", "a law", "probe", "reno", "backoff"} {
		assert.Panics(t, func() { Register(name, aimd.Reno) }, name)
	}
	assert.Panics(t, func() { Register("lawless", nil) })
	assert.Nil(t, Window{Law: "lawless"}.MakeLaw())
}
