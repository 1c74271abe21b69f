package limiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

func requests(left float64) quota.Answer {
	return quota.Answer{Reports: []quota.Report{{Name: "requests", Limit: 60, Left: left, Reset: time.Minute}}}
}

func sent(t *testing.T, g *limiter.Gate, now time.Duration) window.Ticket {
	t.Helper()
	ticket, ok := g.Next(now, 100)
	require.True(t, ok)
	return ticket
}

// A refusal for a quota that is used up closes the gate until the reset and leaves the window as it is;
// one with room in the quota cuts.
func TestARefusalForAUsedQuotaDoesNotCut(t *testing.T) {
	g, err := limiter.NewGate(aimd.Reno(0.5), limiter.Settings{})
	require.NoError(t, err)
	first, second, third := sent(t, &g, 0), sent(t, &g, 0), sent(t, &g, 0)
	_, used := g.Reported(time.Second, first, requests(1))
	assert.False(t, used)
	assert.Equal(t, window.Steady, g.Answered(time.Second, first, window.Neutral, 0))

	refusal := requests(0)
	refusal.Refused = true
	state, used := g.Reported(time.Second, second, refusal)
	assert.True(t, used)
	assert.InDelta(t, 62500*time.Millisecond, state.Until, float64(500*time.Millisecond), "a second of rounding, one of jitter")
	assert.Equal(t, quota.State{Name: "requests", Limit: 60, Back: state.Until, Until: state.Until}, state)
	assert.Equal(t, window.Steady, g.Answered(time.Second, second, window.Overload, 0))
	assert.Equal(t, []quota.State{state}, g.Quotas(time.Second))
	_, ok := g.Next(2*time.Second, 100)
	assert.False(t, ok)
	at, ok := g.Deadline(100)
	assert.True(t, ok)
	assert.Equal(t, state.Until, at)

	// After the reset one attempt goes, and shows what there is.
	fourth := sent(t, &g, at)
	_, ok = g.Next(at, 100)
	assert.False(t, ok)
	assert.Equal(t, window.Steady, g.Answered(at, third, window.Neutral, 0))
	room := requests(50)
	room.Refused = true
	g.Reported(at+time.Second, fourth, room)
	assert.Equal(t, window.Cut, g.Answered(at+time.Second, fourth, window.Overload, 0))
}

// Anthropic's captured refusal: the tokens are whole again in 63 s, and the next request may go in 16.
func TestARetryAfterComesBeforeTheReset(t *testing.T) {
	g, err := limiter.NewGate(aimd.Reno(0.5), limiter.Settings{})
	require.NoError(t, err)
	ticket := sent(t, &g, 0)
	g.Reported(0, ticket, quota.Answer{
		Refused: true, RetryAfter: 16 * time.Second,
		Reports: []quota.Report{{Name: "input-tokens", Bucket: true, Amounts: true, Limit: 200_000, Reset: 63 * time.Second}},
	})
	g.Answered(0, ticket, window.Overload, 16*time.Second)
	at, ok := g.Deadline(1)
	assert.True(t, ok)
	assert.InDelta(t, 16500*time.Millisecond, at, float64(500*time.Millisecond))
}

// docs/quota.md, rule 3: "Several in an answer: the tightest decides."
func TestTheTightestOfSeveralQuotasDecides(t *testing.T) {
	g, err := limiter.NewGate(aimd.Reno(0.5), limiter.Settings{})
	require.NoError(t, err)
	ticket, a := sent(t, &g, 0), requests(50)
	a.Reports = append(a.Reports, quota.Report{Name: "daily", Limit: 1000, Reset: time.Hour})
	used, ok := g.Reported(0, ticket, a)
	assert.True(t, ok)
	assert.Equal(t, "daily", used.Name)
	g.Answered(0, ticket, window.Success, 0)
	assert.Equal(t, used.Until, g.ClosedUntil())
	at, ok := g.Deadline(1)
	assert.True(t, ok)
	assert.Equal(t, limiter.DefaultMaxRetryAfter, at, "one attempt asks then")
}

// A body that is still read takes nothing more of the quota.
func TestAnAnswerThatHasBegunIsCountedInWhatIsLeft(t *testing.T) {
	g, err := limiter.NewGate(aimd.Reno(0.5), limiter.Settings{})
	require.NoError(t, err)
	for left := 10.; left > 0; left-- {
		ticket, ok := g.Tried(0)
		require.True(t, ok)
		g.Reported(0, ticket, requests(left))
	}
	_, ok := g.Tried(0)
	assert.True(t, ok)
	_, ok = g.Tried(0)
	assert.False(t, ok, "one was left and is in flight")
}

// If the service says how many requests it allows in flight, no more are, whatever the window is.
func TestAServiceBoundsTheAttemptsInFlight(t *testing.T) {
	g, err := limiter.NewGate(aimd.Reno(0.5), limiter.Settings{})
	require.NoError(t, err)
	first := sent(t, &g, 0)
	g.Reported(0, first, quota.Answer{Reports: []quota.Report{{Name: "slots", InFlight: true, Limit: 2}}})
	sent(t, &g, 0)
	assert.False(t, g.Open())
	g.Answered(0, first, window.Success, 0)
	assert.True(t, g.Open())
	assert.Greater(t, g.State().Cwnd, 2.)
}

// A report that comes after the attempt has ended changes nothing.
func TestAReportThatIsLate(t *testing.T) {
	g, err := limiter.NewGate(aimd.Reno(0.5), limiter.Settings{})
	require.NoError(t, err)
	first := sent(t, &g, 0)
	g.Answered(0, first, window.Timeout, 0)
	g.Reported(0, first, requests(0))
	g.Reported(0, window.Ticket{}, requests(0))
	assert.Empty(t, g.Quotas(0))
}

// docs/design.md, rule 7: "A late or second answer changes no count": what a request spends of the quota is
// learned from first answers alone.
func TestASecondAnswerSpendsNothingOfAQuota(t *testing.T) {
	admitted := func(again int) (n int) {
		g, err := limiter.NewGate(aimd.Reno(0.5), limiter.Settings{Window: window.Settings{Min: 100}})
		require.NoError(t, err)
		var k window.Ticket
		for left := 300.; left > 60; left -= 10 {
			k, _ = g.Tried(0)
			g.Reported(0, k, quota.Answer{Reports: []quota.Report{{Name: "tokens", Amounts: true, Limit: 300, Left: left, Reset: time.Minute}}})
			g.Answered(0, k, window.Success, 0)
		}
		for range again {
			require.Equal(t, window.Late, g.Answered(0, k, window.Success, 0))
		}
		for _, ok := g.Tried(0); ok; _, ok = g.Tried(0) {
			n++
		}
		return n
	}
	assert.Less(t, admitted(0), 100)
	assert.Equal(t, admitted(0), admitted(100))
}
