package setting_test

import (
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
	var d time.Duration
	assert.Error(t, setting.Duration("period", &d, 0, time.Second, time.Hour), "a fallback that is not allowed either")
}
