package limiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/window"
)

// A refusal that speaks for all stops all for its Retry-After, also if the reset that it reports is over.
func TestAStopLastsForItsRetryAfter(t *testing.T) {
	g := newGate(t)
	ticket := g.Sent(0)
	g.Reported(0, ticket, quota.Answer{Refused: true, Stop: true, RetryAfter: time.Minute, Reports: []quota.Report{{Name: "core", Limit: 60, Left: 0, Reset: 0}}})
	g.Answered(0, ticket, window.Overload, time.Minute)
	_, ok := g.Next(59*time.Second, 1)
	require.False(t, ok)
	_, ok = g.Next(62*time.Second, 1)
	require.True(t, ok)
}
