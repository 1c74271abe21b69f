package limiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

func newGate(t *testing.T) *limiter.Gate {
	t.Helper()
	g, err := limiter.NewGate(aimd.Reno(0.5), limiter.Settings{})
	require.NoError(t, err)
	return &g
}

func requests(left float64) answer.Quota {
	return answer.Quota{Name: "requests", Limit: 60, Left: left, Reset: time.Minute}
}

func reports(r ...answer.Quota) answer.Head { return answer.Head{Reports: r} }
func refusal(r ...answer.Quota) answer.Head { return answer.Head{Refused: true, Reports: r} }

func sent(t *testing.T, g *limiter.Gate, now time.Duration) window.Ticket {
	t.Helper()
	ticket, ok := g.Next(now, 100)
	require.True(t, ok)
	return ticket
}

// closedUntil requires that no attempt is sent before that time, with an error of some time for jitter.
func closedUntil(t *testing.T, g *limiter.Gate, now, want, jitter time.Duration) (at time.Duration) {
	t.Helper()
	at, ok := g.Deadline(100)
	require.True(t, ok)
	require.GreaterOrEqual(t, at, want)
	require.LessOrEqual(t, at, want+jitter)
	_, ok = g.Next(at-1, 100)
	require.False(t, ok)
	return at
}

// A refusal for a quota that is used up closes the gate until the reset and leaves the window as it is;
// one with room in the quota cuts.
func TestARefusalForAUsedQuotaDoesNotCut(t *testing.T) {
	g := newGate(t)
	first, second, third := sent(t, g, 0), sent(t, g, 0), sent(t, g, 0)
	_, used := g.Reported(time.Second, first, reports(requests(1)))
	assert.False(t, used)
	g.Answered(time.Second, first, window.Neutral, 0)

	state, used := g.Reported(time.Second, second, refusal(requests(0)))
	assert.True(t, used)
	assert.Equal(t, limiter.QuotaState{Name: "requests", Limit: 60, Refused: 1, Back: state.Until, Until: state.Until}, state)
	a, _ := g.Answered(time.Second, second, window.Overload, 0)
	assert.Equal(t, window.Neutral, a.Outcome)
	assert.Equal(t, []limiter.QuotaState{state}, g.Quotas(time.Second))
	at := closedUntil(t, g, 2*time.Second, 62*time.Second, time.Second) // a second of rounding, one of jitter
	assert.Equal(t, state.Until, at)
	assert.EqualValues(t, 20, g.State().Cwnd)

	// After the reset one attempt goes, and shows what there is.
	fourth := sent(t, g, at)
	_, ok := g.Next(at, 100)
	assert.False(t, ok)
	g.Answered(at, third, window.Neutral, 0)
	g.Reported(at+time.Second, fourth, refusal(requests(50)))
	g.Answered(at+time.Second, fourth, window.Overload, 0)
	assert.EqualValues(t, 10, g.State().Cwnd)
}

// Anthropic's captured refusal: the tokens are whole again in 63 s, and the next request may go in 16. A refusal that
// speaks for all stops all for its Retry-After, also if the reset that it reports is over. docs/quota.md, rule 3:
// "If an answer has several quotas, the tightest decides.", and after MaxRetryAfter one attempt asks.
func TestHowLongAReportCloses(t *testing.T) {
	tokens := answer.Quota{Name: "input-tokens", Bucket: true, Amounts: true, Limit: 200_000, Reset: 63 * time.Second}
	retryAfter, stop := refusal(tokens), refusal(answer.Quota{Name: "core", Limit: 60})
	retryAfter.RetryAfter = 16 * time.Second
	stop.RetryAfter, stop.Stop = time.Minute, true
	for name, c := range map[string]struct {
		head         answer.Head
		want, jitter time.Duration
		used         string
	}{
		"a Retry-After before the reset": {retryAfter, 16 * time.Second, time.Second, "input-tokens"},
		"a stop":                         {stop, time.Minute, 2 * time.Second, ""},
		"the tightest of several": {
			reports(requests(50), answer.Quota{Name: "daily", Limit: 1000, Reset: time.Hour}), 5 * time.Minute, 0, "daily",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			ticket := sent(t, g, 0)
			used, _ := g.Reported(0, ticket, c.head)
			o := window.Success
			if c.head.Refused {
				o = window.Overload
			}
			g.Answered(0, ticket, o, c.head.RetryAfter)
			closedUntil(t, g, 0, c.want, c.jitter)
			if c.used != "" {
				until, q := g.ClosedUntil()
				require.Equal(t, &used, q)
				require.Equal(t, c.used, q.Name)
				require.Equal(t, used.Until, until)
			}
		})
	}
}

// docs/quota.md, rule 6: "at most 15 s and four round trips".
func TestAQuotaThatComesBackWithinAFewRoundTrips(t *testing.T) {
	for _, c := range []struct {
		trip, reset time.Duration
		open        bool
	}{
		{75 * time.Millisecond, 300 * time.Millisecond, true}, {74 * time.Millisecond, 300 * time.Millisecond, false},
		{time.Minute, 15 * time.Second, true}, {time.Minute, 15*time.Second + 1, false},
	} {
		for _, law := range []window.NewLaw{aimd.Probe(), aimd.Reno(0.5)} {
			g, err := limiter.NewGate(law, limiter.Settings{})
			require.NoError(t, err)
			report := answer.Quota{Name: "slots", Limit: 8, Left: 8, Reset: c.reset}
			first, now := sent(t, &g, 0), c.trip
			g.Reported(now, first, reports(report))
			g.Answered(now, first, window.Success, 0)
			if !g.Window.Timed() { // the first report begins to tell times
				second := sent(t, &g, now)
				now += c.trip
				g.Reported(now, second, reports(report))
				g.Answered(now, second, window.Success, 0)
			}
			last := sent(t, &g, now)
			report.Left = 0
			g.Reported(now, last, reports(report))
			_, ok := g.Next(now, 100)
			assert.Equal(t, c.open, ok, "%+v", c)
		}
	}

	// A new round trip counts an eighth: after 0.1 s, and then 0.9 s, four are 0.8 s.
	for reset, open := range map[time.Duration]bool{800 * time.Millisecond: true, 801 * time.Millisecond: false} {
		g, err := limiter.NewGate(aimd.Probe(), limiter.Settings{})
		require.NoError(t, err)
		report, now := answer.Quota{Name: "slots", Limit: 8, Left: 8, Reset: reset}, time.Duration(0)
		for _, trip := range []time.Duration{100 * time.Millisecond, 900 * time.Millisecond, 0} {
			ticket := sent(t, &g, now)
			if now += trip; trip == 0 {
				report.Left = 0
			}
			g.Reported(now, ticket, reports(report))
			if trip > 0 {
				g.Answered(now, ticket, window.Success, 0)
			}
		}
		_, ok := g.Next(now, 100)
		assert.Equal(t, open, ok, reset)
	}

	// A refusal before the first success: its round trip says nothing, so 15 s are soon.
	for reset, want := range map[time.Duration]window.Outcome{15 * time.Second: window.Overload, 15*time.Second + 1: window.Neutral} {
		g, err := limiter.NewGate(aimd.Probe(), limiter.Settings{})
		require.NoError(t, err)
		first := sent(t, &g, 0)
		g.Reported(1, first, refusal(answer.Quota{Name: "slots", Limit: 8, Reset: reset}))
		a, _ := g.Answered(1, first, window.Overload, 0)
		assert.Equal(t, want, a.Outcome)
	}
}

// A body that is still read takes nothing more of the quota.
func TestAnAnswerThatHasBegunIsCountedInWhatIsLeft(t *testing.T) {
	g := newGate(t)
	for left := 10.; left > 0; left-- {
		ticket, ok := g.Tried(0)
		require.True(t, ok)
		g.Reported(0, ticket, reports(requests(left)))
	}
	_, ok := g.Tried(0)
	assert.True(t, ok)
	_, ok = g.Tried(0)
	assert.False(t, ok, "one was left and is in flight")
}

// So do amounts: those of attempts without an answer are still to be spent, and not their mean.
func TestAmountsInFlightAreCountedUntilTheAnswer(t *testing.T) {
	g := newGate(t)
	g.Amount = 100
	tokens := answer.Quota{Name: "tokens", Amounts: true, Limit: 1000, Reset: time.Minute}
	for tokens.Left = 1000; tokens.Left >= 500; tokens.Left -= 100 {
		ticket, ok := g.Tried(0)
		require.True(t, ok)
		g.Reported(0, ticket, reports(tokens))
		g.Answered(0, ticket, window.Success, 0)
	}
	tried := func(amount float64, want bool) window.Ticket {
		t.Helper()
		g.Amount = amount
		ticket, ok := g.Tried(0)
		require.Equal(t, want, ok)
		return ticket
	}
	g.Withdrawn(tried(250, true)) // of 500, and it spends nothing
	less := tried(250, true)
	g.Used(0, less, 50)
	for _, ticket := range []window.Ticket{less, tried(250, true), tried(100, true), tried(101, false)} {
		g.Answered(0, ticket, window.Success, 0)
	}
	require.Zero(t, g.Kept(), "what has ended is forgotten")
}

// If the service says how many requests it allows in flight, no more are, whatever the window is.
func TestAServiceBoundsTheAttemptsInFlight(t *testing.T) {
	g := newGate(t)
	first := sent(t, g, 0)
	g.Reported(0, first, reports(answer.Quota{Name: "slots", InFlight: true, Limit: 2}))
	second := sent(t, g, 0)
	assert.False(t, g.Open())
	g.Answered(0, first, window.Success, 0)
	assert.True(t, g.Open())
	sent(t, g, 0)
	at, ok := g.Deadline(1)
	assert.True(t, ok)
	assert.Equal(t, 5*time.Minute, at, "then it is forgotten")
	third := sent(t, g, at)
	g.Answered(at, second, window.Success, 0)
	g.Answered(at, third, window.Success, 0)
	assert.Greater(t, g.State().Cwnd, 2.)
}

// An answer without that bound takes it back, if its attempt was sent after the report; so do new settings.
func TestABoundThatIsReportedNoLonger(t *testing.T) {
	g := newGate(t)
	bound := reports(answer.Quota{Name: "slots", InFlight: true, Limit: 1})
	first, before := sent(t, g, 0), sent(t, g, 0)
	g.Reported(0, first, bound)
	g.Answered(0, first, window.Success, 0)
	g.Answered(0, before, window.Success, 0)
	after := sent(t, g, 0)
	assert.False(t, g.Open())
	g.Answered(0, after, window.Success, 0)
	again := sent(t, g, 0)
	assert.True(t, g.Open())
	g.Reported(0, again, bound)
	assert.False(t, g.Open())
	require.NoError(t, g.Reconfigured(0, aimd.Reno(0.5), limiter.Settings{}))
	assert.True(t, g.Open())
}

// "Withdrawn takes back an attempt that was booked and then not sent": it takes nothing of the quota. One that is
// answered without a report does, if it was sent after the report.
func TestAnAttemptThatIsTakenBackSpendsNothing(t *testing.T) {
	g := newGate(t)
	first, before := sent(t, g, 0), sent(t, g, 0)
	g.Reported(0, first, reports(requests(1)))
	g.Answered(0, before, window.Success, 0)
	for range 3 {
		ticket, ok := g.Tried(0)
		require.True(t, ok)
		_, ok = g.Tried(0)
		require.False(t, ok)
		require.True(t, g.Withdrawn(ticket))
	}
	last, ok := g.Tried(0)
	require.True(t, ok)
	g.Answered(0, last, window.Success, 0)
	_, ok = g.Tried(0)
	require.False(t, ok)
}

// A report that comes after the attempt has ended changes nothing.
func TestAReportThatIsLate(t *testing.T) {
	g := newGate(t)
	first := sent(t, g, 0)
	g.Answered(0, first, window.Timeout, 0)
	g.Reported(0, first, reports(requests(0)))
	g.Reported(0, window.Ticket{}, reports(requests(0)))
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
			g.Reported(0, k, reports(answer.Quota{Name: "tokens", Amounts: true, Limit: 300, Left: left, Reset: time.Minute}))
			g.Answered(0, k, window.Success, 0)
		}
		for range again {
			_, ok := g.Answered(0, k, window.Success, 0)
			require.False(t, ok)
		}
		for _, ok := g.Tried(0); ok; _, ok = g.Tried(0) {
			n++
		}
		return n
	}
	assert.Less(t, admitted(0), 100)
	assert.Equal(t, admitted(0), admitted(100))
}
