package setting_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/internal/setting"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		given, want time.Duration
		err         string
	}{
		{0, time.Minute, ""},
		{time.Second, time.Second, ""},
		{time.Hour, time.Hour, ""},
		{time.Second - 1, time.Second - 1, "period: 999.999999ms is not allowed, want a duration from 1s to 1h0m0s"},
		{time.Hour + 1, time.Hour + 1, "period: 1h0m0.000000001s is not allowed, want a duration from 1s to 1h0m0s"},
		{-1, -1, "period: -1ns is not allowed, want a duration from 1s to 1h0m0s"},
	} {
		d := c.given
		err := setting.Duration("period", &d, time.Minute, time.Second, time.Hour)
		assert.Equal(t, c.want, d)
		if c.err == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, c.err)
		}
	}
	d := time.Duration(-1)
	assert.EqualError(t, setting.Duration("period", &d, time.Minute, time.Second, math.MaxInt64), "period: -1ns is not allowed, want a duration from 1s")
	d = 0
	assert.Error(t, setting.Duration("period", &d, 0, time.Second, time.Hour), "a fallback that is not allowed either")
}

// check sets nothing but a zero, and says what is wrong.
func check[T any](t *testing.T, err error, got, want T, text string) {
	t.Helper()
	assert.Equal(t, want, got)
	if text == "" {
		assert.NoError(t, err)
	} else {
		assert.EqualError(t, err, text)
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		given, want float64
		err         string
	}{
		{0, 20, ""},
		{1, 1, ""},
		{1 << 20, 1 << 20, ""},
		{0.99, 0.99, "window: 0.99 is not allowed, want a number from 1 to 1048576"},
		{1<<20 + 1, 1<<20 + 1, "window: 1.048577e+06 is not allowed, want a number from 1 to 1048576"},
		{math.Inf(1), math.Inf(1), "window: +Inf is not allowed, want a number from 1 to 1048576"},
	} {
		x := c.given
		err := setting.Number("window", &x, 20, 1, 1<<20)
		check(t, err, x, c.want, c.err)
	}
	nan := math.NaN()
	assert.EqualError(t, setting.Number("window", &nan, 20, 1, 2), "window: NaN is not allowed, want a number from 1 to 2")
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		given, want float64
		err         string
	}{
		{0, 0.5, ""},
		{0.001, 0.001, ""},
		{1, 1, "share: 1 is not allowed, want a number greater than 0 and less than 1"},
		{-0.1, -0.1, "share: -0.1 is not allowed, want a number greater than 0 and less than 1"},
	} {
		x := c.given
		err := setting.Share("share", &x, 0.5)
		check(t, err, x, c.want, c.err)
	}
	nan := math.NaN()
	assert.Error(t, setting.Share("share", &nan, 0.5))
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		given, hi, want int
		err             string
	}{
		{0, 9, 5, ""},
		{1, 9, 1, ""},
		{9, 9, 9, ""},
		{10, 9, 10, "hosts: 10 is not allowed, want a number from 1 to 9"},
		{math.MaxInt, math.MaxInt, math.MaxInt, ""},
		{-1, math.MaxInt, -1, "hosts: -1 is not allowed, want a number from 1"},
	} {
		n := c.given
		err := setting.Count("hosts", &n, 5, 1, c.hi)
		check(t, err, n, c.want, c.err)
	}
}

func TestOptional(t *testing.T) {
	assert.NoError(t, setting.Optional("slow", time.Duration(0)))
	assert.NoError(t, setting.Optional("slow", time.Second))
	assert.EqualError(t, setting.Optional("slow", -time.Second), "slow: -1s is not allowed, want a positive duration, or 0 for none")
	assert.NoError(t, setting.Optional("attempt limit", 1))
	assert.EqualError(t, setting.Optional("attempt limit", -1), "attempt limit: -1 is not allowed, want a number from 1, or 0 for none")
}

func TestOneOf(t *testing.T) {
	assert.NoError(t, setting.OneOf("status", 503, 503, 429))
	assert.EqualError(t, setting.OneOf("status", 500, 503, 429), "status: 500 is not allowed, want 503 or 429")
	assert.EqualError(t, setting.OneOf("turn", "x", "first", "last", "none"), "turn: x is not allowed, want first, last or none")
}
