package check_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/setting"
)

func TestErrorIsFoundInWhatWrapsIt(t *testing.T) {
	err := fmt.Errorf("limiter: %w", check.Wrong("patience", -1, "a number from %d", 1))
	assert.EqualError(t, err, "limiter: patience: -1 is not allowed, want a number from 1")
	var e *setting.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, setting.Error{Name: "patience", Value: "-1", Want: "a number from 1"}, *e)
}

func TestNil(t *testing.T) {
	err := check.Nil("guard")
	assert.EqualError(t, err, "guard: nil is not allowed")
	var e *setting.Error
	assert.True(t, errors.As(err, &e))
}

// row is a value, the value that a check leaves, and its error.
type row[T any] struct {
	given, want T
	err         string
}

func holds[T any](t *testing.T, check func(*T) error, rows ...row[T]) {
	t.Helper()
	for _, r := range rows {
		v := r.given
		err := check(&v)
		assert.Equal(t, r.want, v)
		if r.err == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, r.err)
		}
	}
}

func TestDuration(t *testing.T) {
	const second, hour, want = time.Second, time.Hour, " is not allowed, want a duration from 1s"
	holds(t, func(d *time.Duration) error { return check.Duration("period", d, time.Minute, second, hour) }, []row[time.Duration]{
		{0, time.Minute, ""}, {second, second, ""}, {hour, hour, ""},
		{second - 1, second - 1, "period: 999.999999ms" + want + " to 1h0m0s"},
		{hour + 1, hour + 1, "period: 1h0m0.000000001s" + want + " to 1h0m0s"},
		{-1, -1, "period: -1ns" + want + " to 1h0m0s"},
	}...)
	holds(t, func(d *time.Duration) error { return check.Duration("period", d, 0, second, math.MaxInt64) }, []row[time.Duration]{
		{-1, -1, "period: -1ns" + want},
		{0, 0, "period: 0s" + want}, // a fallback that is not allowed either
	}...)
}

func TestNumber(t *testing.T) {
	const want = " is not allowed, want a number from 1 to 1048576"
	holds(t, func(x *float64) error { return check.Number("window", x, 20, 1, 1<<20) }, []row[float64]{
		{0, 20, ""}, {1, 1, ""}, {1 << 20, 1 << 20, ""},
		{0.99, 0.99, "window: 0.99" + want},
		{1<<20 + 1, 1<<20 + 1, "window: 1.048577e+06" + want},
		{math.Inf(1), math.Inf(1), "window: +Inf" + want},
	}...)
	nan := math.NaN()
	assert.EqualError(t, check.Number("window", &nan, 20, 1, 2), "window: NaN is not allowed, want a number from 1 to 2")
	assert.Error(t, check.Share("share", &nan, 0.5))
}

func TestShare(t *testing.T) {
	const want = " is not allowed, want a number greater than 0 and less than 1"
	holds(t, func(x *float64) error { return check.Share("share", x, 0.5) }, []row[float64]{
		{0, 0.5, ""}, {0.001, 0.001, ""}, {1, 1, "share: 1" + want}, {-0.1, -0.1, "share: -0.1" + want},
	}...)
}

func TestCount(t *testing.T) {
	holds(t, func(n *int) error { return check.Count("hosts", n, 5, 1, 9) }, []row[int]{
		{0, 5, ""}, {1, 1, ""}, {9, 9, ""}, {10, 10, "hosts: 10 is not allowed, want a number from 1 to 9"},
	}...)
	holds(t, func(n *int) error { return check.Count("hosts", n, 5, 1, math.MaxInt) }, []row[int]{
		{math.MaxInt, math.MaxInt, ""}, {-1, -1, "hosts: -1 is not allowed, want a number from 1"},
	}...)
}

func TestOptional(t *testing.T) {
	assert.NoError(t, check.Optional("slow", time.Duration(0)))
	assert.NoError(t, check.Optional("slow", time.Second))
	assert.EqualError(t, check.Optional("slow", -time.Second), "slow: -1s is not allowed, want a positive duration, or 0 for none")
	assert.NoError(t, check.Optional("attempt limit", 1))
	assert.EqualError(t, check.Optional("attempt limit", -1), "attempt limit: -1 is not allowed, want a number from 1, or 0 for none")
}

func TestOneOf(t *testing.T) {
	assert.NoError(t, check.OneOf("status", 503, 503, 429))
	assert.EqualError(t, check.OneOf("status", 500, 503, 429), "status: 500 is not allowed, want 503 or 429")
	assert.EqualError(t, check.OneOf("turn", "x", "first", "last", "none"), "turn: x is not allowed, want first, last or none")
}
