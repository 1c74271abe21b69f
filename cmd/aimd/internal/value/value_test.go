package value

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSizes(t *testing.T) {
	for in, want := range map[string]int64{
		"1": 1, "512": 512, "512B": 512, "64KiB": 65536, "64k": 65536, "64 KiB": 65536, "1.5MB": 1500000, "0.5M": 524288, "1GiB": 1 << 30,
	} {
		got, err := parseSize(in)
		assert.NoError(t, err, in)
		assert.Equal(t, want, got, in)
	}
	for _, in := range []string{"", "B", "KiB", "-1", "1e400", "Inf", "0x10", "1 2", "2GiB"} {
		got, err := parseSize(in)
		assert.True(t, err != nil || got > maxSize || got < 1, "%s: %d", in, got)
	}
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
