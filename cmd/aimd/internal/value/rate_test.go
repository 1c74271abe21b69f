package value

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRate(t *testing.T) {
	for text, want := range map[string]float64{"1000/s": 1000, "1000": 1000, "90/min": 1.5, "1e3/s": 1000, "36 / h": 0.01, "0.5/s": 0.5, "1e12/s": 1e12} {
		var x float64
		require.NoError(t, Rate(&x).Set(text), text)
		assert.Equal(t, want, x, text)
	}
	x := 7.0
	for _, text := range []string{"", "/s", "x/s", "0/s", "-1/s", "NaN/s", "Inf/s", "2e12/s", "1/d", "1/s/s", "1//s"} {
		assert.EqualError(t, Rate(&x).Set(text), "want a rate greater than 0, up to 1e12/s, like 1000/s, 90/min or 100/h", text)
	}
	assert.Equal(t, 7.0, x, "a wrong text changes nothing")
	assert.Equal(t, "7/s", Rate(&x).String())
}

func TestDurations(t *testing.T) {
	var all []time.Duration
	v := Durations(&all, time.Second, time.Hour)
	require.NoError(t, v.Set("30s, 30m"))
	assert.Equal(t, []time.Duration{30 * time.Second, 30 * time.Minute}, all)
	assert.Equal(t, "30s,30m", v.String())
	for _, text := range []string{"", "30", "30s,", "1ms", "2h", "1s;2s"} {
		assert.EqualError(t, v.Set(text), "want durations from 1s to 1h, with commas between them, like 30s,30m", text)
	}
	assert.Len(t, all, 2, "a wrong text changes nothing")
}
