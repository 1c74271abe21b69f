package sim

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

// Events come in the order of time, and those of one time as they were made.
func TestEventsAreInOrder(t *testing.T) {
	r := newRandom(2)
	var h heap[time.Duration]
	var want []event
	for i := range uint64(2000) {
		e := event{at: time.Duration(r.IntN(100)), seq: i}
		h.push(e)
		want = append(want, e)
		if r.IntN(3) == 0 {
			first := slices.MinFunc(want, compare)
			got, ok := h.pop()
			assert.True(t, ok)
			assert.Equal(t, first, got)
			want = slices.DeleteFunc(want, func(e event) bool { return e == first })
		}
	}
	slices.SortFunc(want, compare)
	for _, e := range want {
		got, ok := h.pop()
		assert.True(t, ok)
		assert.Equal(t, e, got)
	}
	_, ok := h.pop()
	assert.False(t, ok)
}

func compare(a, b event) int {
	if a.before(&b) {
		return -1
	}
	return 1
}

// A pool's values do not move, and are used again.
func TestPool(t *testing.T) {
	var p pool[int]
	var all []*int
	for i := range int32(3000) {
		id, v := p.take()
		assert.Equal(t, i, id)
		*v = int(i)
		all = append(all, v)
	}
	for i, v := range all {
		assert.Equal(t, i, *v)
		assert.Same(t, v, p.at(int32(i)))
	}
	p.give(7)
	id, v := p.take()
	assert.Equal(t, int32(7), id)
	assert.Same(t, all[7], v)
	assert.Equal(t, 3000, len(p.all))
}
