package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/quota"
)

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		asked quota.Asked
		want  time.Duration
	}{
		{quota.Asked{}, 0},
		{quota.Asked{After: -time.Second}, 0},
		{quota.Asked{After: time.Second}, time.Second},
		{quota.Asked{After: time.Hour, Refusals: 9}, 5 * time.Minute},
		{quota.Asked{After: time.Hour, Stop: true, Refusals: 9}, 5 * time.Minute},
		{quota.Asked{After: 4 * time.Minute, Stop: true}, 4 * time.Minute},
		{quota.Asked{Stop: true}, time.Minute},
		{quota.Asked{Stop: true, Refusals: 1}, time.Minute},
		{quota.Asked{Stop: true, Refusals: 3}, 4 * time.Minute},
		{quota.Asked{Stop: true, Refusals: 1000}, 64 * time.Minute},
	} {
		require.Equal(t, c.want, c.asked.Within(5*time.Minute), "%+v", c.asked)
	}
}

// most is a source whose numbers are as large as can be.
type most struct{}

func (most) Float64() float64 { return 1 }

func TestJittered(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{
		0: 0, -time.Second: 0, time.Second: 1500 * time.Millisecond, time.Minute: 61 * time.Second, time.Hour: 301 * time.Second,
	} {
		require.Equal(t, want, quota.Asked{After: asked}.Jittered(5*time.Minute, most{}))
	}
}
