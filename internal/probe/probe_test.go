package probe_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/probe"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

const ms = time.Millisecond

// probed drives a window with the law Probe, answer by answer.
type probed struct {
	*testing.T
	window.Window
	now    time.Duration
	flying []window.Ticket
	// work is the number of attempts that there are to send at a time; 0: always more.
	work int
}

func newProbed(t *testing.T, s window.Settings) *probed {
	w, err := window.New(probe.New, s)
	require.NoError(t, err)
	return &probed{T: t, Window: w}
}

// fill sends all that there is and the window allows, and returns how many fly.
func (p *probed) fill() int {
	for p.Open() && (p.work == 0 || p.Flying() < p.work) {
		p.flying = append(p.flying, p.Sent(p.now))
	}
	return len(p.flying)
}

// answer ends the oldest attempts, each with another one sent where the window allows.
func (p *probed) answer(n int, o window.Outcome) {
	for range n {
		p.Answered(p.now, p.flying[0], o, 0)
		p.flying = p.flying[1:]
		p.fill()
	}
}

// round fills the window and, a round trip later, answers what flew then: so many
// successes, and refusals for the others.
func (p *probed) round(trip time.Duration, taken int) {
	n := p.fill()
	p.now += trip
	p.answer(min(n, taken), window.Success)
	p.answer(max(0, n-taken), window.Overload)
}

// While there is no ceiling, each success adds one to the window.
func TestProbeStartsSlowly(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 10})
	for want := 10.0; want < 1000; want *= 2 {
		require.InDelta(t, want, p.State().Cwnd, 1e-9)
		p.round(100*ms, 1000)
	}
	require.EqualValues(t, window.MaxWindow, p.State().Ssthresh, "at the start there is no ceiling")
	require.Zero(t, p.Gap(), "nothing was refused yet")
}

// atCeiling is a window of some 20 that has its ceiling there.
func atCeiling(t *testing.T, trip time.Duration) *probed {
	p := newProbed(t, window.Settings{Initial: 20})
	require.NoError(t, p.Restored(window.State{Cwnd: 20, Ssthresh: 20}))
	p.round(trip, 1000)
	return p
}

// At the ceiling the window grows by 2/3 of an attempt a round trip, or a second if the round trip is
// shorter.
func TestProbeGrowsSlowlyAtTheCeiling(t *testing.T) {
	for _, trip := range []time.Duration{5 * ms, 200 * ms, time.Second, 3 * time.Second} {
		p := atCeiling(t, trip)
		require.InDelta(t, 20+min(1, trip.Seconds())*2/3, p.State().Cwnd, 0.02, "after a round trip of %v", trip)
	}
}

// Past the ceiling the window grows by 2/3 of the way past it.
func TestProbeGrowsFasterPastTheCeiling(t *testing.T) {
	p := atCeiling(t, time.Second)
	var steps []float64
	for range 8 {
		before := p.State().Cwnd
		p.round(time.Second, 1000)
		steps = append(steps, p.State().Cwnd-before)
	}
	require.InDelta(t, 2./3, steps[0], 0.04)
	require.Greater(t, steps[7], 4.0)
	for i := 2; i < len(steps); i++ {
		require.Greater(t, steps[i], steps[i-1])
	}
}

// Only a window of which half flies grows.
func TestProbeDoesNotGrowUnused(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 20})
	for range 100 {
		for range 8 {
			p.flying = append(p.flying, p.Sent(p.now))
		}
		p.now += 100 * ms
		for _, ticket := range p.flying {
			p.Answered(p.now, ticket, window.Success, 0)
		}
		p.flying = nil
	}
	require.EqualValues(t, 20, p.State().Cwnd)
}

// spaced sends that had to wait for the window follow at once, from the first refusal on they do not if more than a
// fifth of the early attempts are refused
func TestProbeCatchesUpUnlessEarlyOnesAreRefused(t *testing.T) {
	// catchesUp answers pairs of attempts. The second of a pair is sent so long after the first, and one in n of
	// these has the outcome. It reports whether the law catches up then.
	catchesUp := func(apart time.Duration, n int, o window.Outcome) bool {
		p := newProbed(t, window.Settings{})
		require.NoError(t, p.Restored(window.State{Cwnd: 40, Ssthresh: 40, Trip: 200 * ms}))
		for range 38 { // never end
			p.Sent(p.now)
		}
		for i := range 120 {
			first := p.Sent(p.now)
			p.now += apart
			second := p.Sent(p.now)
			p.now += 200 * ms
			p.Answered(p.now, first, window.Success, 0)
			if i%n != 0 {
				p.Answered(p.now, second, window.Success, 0)
			} else {
				p.Answered(p.now, second, o, 0)
			}
		}
		return p.State().Pace == window.CatchUp
	}
	require.True(t, catchesUp(0, 9, window.Overload), "one in nine")
	require.False(t, catchesUp(0, 3, window.Overload), "a third")
	require.True(t, catchesUp(0, 3, window.Timeout), "a timeout says nothing of a rate")
	require.False(t, catchesUp(50*ms, 3, window.Overload), "none was early, so nothing is known")
}

// steady is a window of 40 without a ceiling, of which 19 have flown in each of many round trips of 100 ms.
func steady(t *testing.T) *probed {
	p := newProbed(t, window.Settings{Initial: 40})
	p.work = 19
	for range 30 {
		p.round(100*ms, 19)
	}
	p.work = 0
	require.EqualValues(t, 40, p.State().Cwnd)
	return p
}

// Growth must pay. ... If answers become slow, half of what flew is tried. If as much is accepted, that is the
// ceiling, and half of it is tried. If not, the window is what the rate before needs at the round trip of the half.
func TestProbeLooksWhetherGrowthPaid(t *testing.T) {
	p := steady(t)
	most := 0.
	carries := func(fits float64, rounds int, trip time.Duration) {
		for range rounds {
			n := p.fill()
			p.now += time.Duration(float64(trip) * max(1, float64(n)/fits))
			p.answer(n, window.Success)
			most = max(most, p.State().Cwnd)
		}
	}
	carries(16, 200, 100*ms)
	require.Less(t, most, 300., "it noticed")
	most = 0
	carries(16, 1000, 100*ms)
	require.Less(t, most, 56., "some three times what fits")
	w := p.State().Cwnd
	require.Greater(t, w, 14.)
	looked := false
	for range 100 { // it gets slower for good, whatever the load: the law looks, and the window returns and goes on
		carries(1e6, 1, 300*ms)
		_, phase := p.Explain()
		if looked = looked || phase == "looking"; p.State().Cwnd > 8*w {
			break
		}
	}
	require.True(t, looked)
	require.Greater(t, p.State().Cwnd, 8*w)
}

// Answers that only differ in length are slow, too, but the accepted rate grows with the window.
func TestProbeIsNotStoppedByAnswersOfDifferentLengths(t *testing.T) {
	p := steady(t)
	p.work = 19
	for range 20 { // as many in each round trip as before, and each second one is slow
		p.fill()
		p.now += 50 * ms
		p.answer(len(p.flying)/2, window.Success)
		p.now += 100 * ms
		p.answer(len(p.flying), window.Success)
	}
	require.EqualValues(t, window.MaxWindow, p.State().Ssthresh)
}

// A refusal is quicker than a success: if it comes first, its time is no round trip.
func TestProbeTakesRoundTripsFromSuccesses(t *testing.T) {
	p := newProbed(t, window.Settings{})
	require.NoError(t, p.Restored(window.State{Cwnd: 10, Ssthresh: 10}))
	p.fill()
	p.now += ms
	p.answer(1, window.Overload)
	p.now += 199 * ms
	p.answer(1, window.Success)
	require.InEpsilon(t, 200/p.State().Cwnd, float64(p.Gap())/1e6, 0.21, "of 200 ms, less up to a fifth")
}

// A single slow answer is no ceiling.
func TestProbeForgivesASlowAnswer(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 20, Max: 64})
	p.round(100*ms, 20)
	for range 20 {
		p.fill()
		slow := p.flying[0]
		p.flying = p.flying[1:]
		for range 5 {
			p.round(100*ms, 64)
		}
		p.Answered(p.now, slow, window.Success, 0)
	}
	require.EqualValues(t, 64, p.State().Cwnd)
	require.EqualValues(t, window.MaxWindow, p.State().Ssthresh)
}

// The first answers of a burst are its quickest, so the first batch has no mean to compare with.
func TestProbeDoesNotJudgeItsFirstBurst(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 64})
	p.fill()
	p.now += 80 * ms
	for range 64 {
		p.now += ms
		p.answer(1, window.Success)
	}
	require.EqualValues(t, window.MaxWindow, p.State().Ssthresh)
}

// A restored State has a ceiling unless Ssthresh is MaxWindow.
func TestProbeGoesOnFromALearnedState(t *testing.T) {
	first := func(s window.State) window.State {
		p := newProbed(t, window.Settings{})
		require.NoError(t, p.Restored(s))
		p.round(time.Second, 1000)
		return p.State()
	}
	require.InDelta(t, 50.67, first(window.State{Cwnd: 50, Ssthresh: 50}).Cwnd, 0.02)
	require.InDelta(t, 5000.5, first(window.State{Cwnd: 5000, Ssthresh: 5000}).Cwnd, 4500, "a high ceiling too")
	require.InDelta(t, 100, first(window.State{Cwnd: 50, Ssthresh: window.MaxWindow}).Cwnd, 1e-9)
	slow := first(window.State{Cwnd: 0.1, Ssthresh: 1, Pace: window.Spaced, Trip: time.Second})
	require.InDelta(t, 11./9, slow.Cwnd, 1e-6, "a rate of a tenth grows to the ceiling, and past it")
}

// With a Settings.Min above 1 the window never is a rate.
func TestProbeKeepsToItsBounds(t *testing.T) {
	p := newProbed(t, window.Settings{Min: 4, Max: 30})
	for range 10 {
		p.round(100*ms, 1000)
	}
	require.EqualValues(t, 30, p.State().Cwnd)
	for range 40 {
		p.round(100*ms, 0)
	}
	require.EqualValues(t, 4, p.State().Cwnd)
	require.LessOrEqual(t, p.Gap(), 25*ms)
	require.NoError(t, p.Reconfigured(probe.New, window.Settings{Min: 1, Max: 2}))
	p.answer(len(p.flying), window.Success)
	p.round(100*ms, 1000)
	require.LessOrEqual(t, p.State().Cwnd, 2.0)
}

// A neutral answer says nothing; an error of the client's is an answer of the service.
func TestProbeAndTheOtherOutcomes(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 10})
	p.fill()
	p.now += 100 * ms
	want := p.State()
	want.Trip = 100 * ms
	p.answer(5, window.Neutral)
	require.Equal(t, want, p.State())
	p.fill()
	p.answer(5, window.ClientError)
	require.EqualValues(t, 15, p.State().Cwnd)
}

// If the clock stands still, a round trip counts as a microsecond.
func TestProbeWithoutTime(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 4})
	p.round(0, 1000)
	require.EqualValues(t, 8, p.State().Cwnd)
	for range 100 {
		p.round(0, 0)
	}
	require.LessOrEqual(t, p.Gap(), 15*time.Second)
	require.LessOrEqual(t, p.State().Cwnd, 1.0)
	for range 1000 {
		p.round(100*ms, 1000)
	}
	require.Greater(t, p.State().Cwnd, 1.0, "it goes on with time, once the best mean of a microsecond is forgotten")
}

// The attempt after the first cut in a row comes at once, so a rest that is shorter than the gap stops nothing.
func TestProbeIsNotStoppedByARestShorterThanItsGap(t *testing.T) {
	const rest, trip = 270 * ms, 976 * ms
	g, err := limiter.NewGate(probe.New, limiter.Settings{})
	require.NoError(t, err)
	now, latest := time.Duration(0), -time.Hour
	for job := range 100 {
		now += 267 * ms
		for try := 1; ; try++ {
			require.LessOrEqual(t, try, 6, "job %d", job)
			if at, ok := g.Deadline(1); ok {
				now = at
			}
			ticket, ok := g.Next(now, 1)
			require.True(t, ok)
			rested := now-latest > rest
			latest = now
			if !rested {
				now += trip
				g.Answered(now, ticket, window.Success, 0)
				break
			}
			now += ms
			g.Answered(now, ticket, window.Overload, 0)
		}
	}
}

// A service that refuses after a rest of a second is met each 1.5 s.
func TestProbeIsNotStoppedByAServiceThatRests(t *testing.T) {
	p := newProbed(t, window.Settings{})
	for range 200 {
		p.now += 1500 * ms
		ticket := p.Sent(p.now)
		p.now += 20 * ms
		p.Answered(p.now, ticket, window.Overload, 0)
		require.Less(t, p.Gap(), time.Second, "the retry comes before the service rests again")
		p.now += p.Gap()
		ticket = p.Sent(p.now)
		p.now += 20 * ms
		p.Answered(p.now, ticket, window.Success, 0)
	}
}
