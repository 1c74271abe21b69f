package value

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSizes(t *testing.T) {
	for in, want := range map[string]int64{
		"1": 1, "512": 512, "512B": 512, "64KiB": 65536, "64k": 65536, "64 KiB": 65536, "1.5MB": 1500000, "0.5M": 524288, "1GiB": 1 << 30,
		"8Mi": 8 << 20, "1.5kB": 1500, "2g": 2 << 30, "3b": 3, "5GiB": 5 << 30,
	} {
		got, err := parseSize(in)
		assert.NoError(t, err, in)
		assert.Equal(t, want, got, in)
	}
	for _, in := range []string{"", "B", "KiB", "x", "-1", "1e3", "1e400", "Inf", "0x10", "1 2", "1TiB", "1.2.3", "1  k", "99999999999GiB"} {
		_, err := parseSize(in)
		assert.Error(t, err, in)
	}
	size := int64(7)
	v := Size(&size, 5, 1<<30)
	for _, in := range []string{"4", "1.1GiB"} {
		assert.EqualError(t, v.Set(in), "want a size from 5B to 1GiB, in bytes, KiB, MB or another unit")
	}
	assert.EqualValues(t, 7, size)
	for want, n := range map[string]int64{"64KiB": 65536, "1000B": 1000, "3MiB": 3 << 20, "1GiB": 1 << 30, "0B": 0} {
		assert.Equal(t, want, ShowSize(n))
	}
}

func TestDurationsAreShownShort(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"1m": time.Minute, "24h": 24 * time.Hour, "1h30m": 90 * time.Minute, "0s": 0, "10s": 10 * time.Second, "1m10s": 70 * time.Second, "200ms": 200 * time.Millisecond,
	} {
		assert.Equal(t, want, ShowDuration(d))
	}
}

func TestChoice(t *testing.T) {
	x := "two"
	v := Choice(&x, []string{"one", "two"})
	assert.Equal(t, "two", v.String())
	assert.Equal(t, "one|two", v.Type())
	assert.NoError(t, v.Set("one"))
	assert.EqualError(t, v.Set("three"), "want one of one, two")
	assert.Equal(t, "one", x)
}

func TestOrNone(t *testing.T) {
	d := time.Minute
	v := OrNone(Duration(&d, time.Second, time.Hour))
	assert.EqualError(t, v.Set("1ms"), "want a duration from 1s to 1h, like 100ms, or 0 for none")
	assert.NoError(t, v.Set("0"))
	assert.Zero(t, d)
}
func TestRounded(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1: "1ns", 123_456_789: "123.5ms", time.Second: "1s", 10*time.Second + 1: "10s", 83*time.Hour + time.Second: "83h", 2500 * time.Millisecond: "2.5s",
	} {
		assert.Equal(t, want, Rounded(d))
	}
}
