package limiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// "An unclear answer is neutral, and a time-out while most of the latest answers are unclear."
func TestUnclearAnswers(t *testing.T) {
	const u, s, n = window.Unclear, window.Success, window.Neutral
	repeat := func(times int, of ...window.Outcome) (all []window.Outcome) {
		for range times {
			all = append(all, of...)
		}
		return all
	}
	for name, c := range map[string]struct {
		answers  []window.Outcome
		timeouts int
	}{
		"ten in a row":                    {repeat(10, u), 0},
		"eleven in a row":                 {repeat(11, u), 1},
		"neutral ends do not count":       {append(repeat(10, u, n), u), 1},
		"after a hundred successes":       {append(repeat(100, s), repeat(11, u)...), 1},
		"two in five":                     {repeat(100, u, s, u, s, s), 0},
		"two in three":                    {repeat(100, u, u, s), 187},
		"one in a hundred":                {repeat(20, append(repeat(99, s), u)...), 0},
		"an outage ends with successes":   {append(append(repeat(40, u), repeat(13, s)...), repeat(2, u)...), 30},
		"an outage and a few successes":   {append(append(repeat(40, u), repeat(4, s)...), repeat(2, u)...), 32},
		"what is known ends it as well":   {append(append(repeat(40, u), repeat(13, window.Overload)...), u), 30},
		"a request at fault is known too": {append(append(repeat(40, u), repeat(13, window.ClientError)...), u), 30},
	} {
		g, err := limiter.NewGate(aimd.Reno(0.9), limiter.Settings{})
		require.NoError(t, err)
		timeouts := 0
		for i, o := range c.answers {
			now := time.Duration(i) * time.Hour // after any pause
			ticket, ok := g.Tried(now)
			require.True(t, ok)
			a, ok := g.Answered(now, ticket, o, 0)
			require.True(t, ok)
			if a.Outcome == window.Timeout {
				timeouts++
			}
		}
		assert.Equal(t, c.timeouts, timeouts, name)
	}
}
