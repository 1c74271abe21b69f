package aimd_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
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
	w, err := window.New(aimd.Probe, s)
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
		p.Answered(p.now, p.flying[0], o)
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

// outage refuses what flies and, for so long, one attempt after each gap. It returns how many these were.
func (p *probed) outage(trip, long time.Duration) (sent int) {
	for _, ticket := range p.flying {
		p.Answered(p.now, ticket, window.Overload)
	}
	p.flying = nil
	for end := p.now + long; p.now < end; sent++ {
		ticket := p.Sent(p.now)
		p.now += trip
		p.Answered(p.now, ticket, window.Overload)
		p.now += p.Gap()
	}
	return sent
}

// "Events say the cause in a word", and a snapshot says the phase.
func TestProbeSaysWhy(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 20, Max: 20})
	said := func(cause, phase string) {
		t.Helper()
		c, f := p.Explain()
		require.Equal(t, [2]string{cause, phase}, [2]string{c, f})
	}
	until := func(cause string) {
		t.Helper()
		for c := ""; c != cause; c, _ = p.Explain() {
			require.Less(t, p.now, time.Minute, "waits for %q", cause)
			p.now += 10 * ms
			p.answer(1, window.Outcome(1+p.flying[0].ID()%2))
		}
	}
	said("", "")
	p.round(100*ms, 20)
	said("more", "")
	p.round(100*ms, 17)
	said("chance", "")
	p.round(100*ms, 12)
	said("load", "")
	until("trial")
	said("trial", "trying")
	until("own")
	said("own", "")
	p.outage(100*ms, time.Second)
	said("outage", "")
	p.fill()
	p.now += 100 * ms
	p.answer(1, window.Success)
	said("back", "")
}

// "While there is no ceiling ... A refusal cuts only if more than a fifth of the last answers are refusals: of as
// many answers as fly, and 40 at most." A few refusals that the load does not cause end no start.
func TestProbeStartsInSpiteOfAFewRefusals(t *testing.T) {
	for flying, refused := range map[int]int{2: 0, 4: 0, 5: 1, 20: 4, 200: 8} {
		p := newProbed(t, window.Settings{Initial: float64(flying), Max: float64(flying)})
		p.round(100*ms, flying)
		p.fill()
		for n := range refused {
			p.answer(1, window.Overload)
			require.EqualValues(t, window.MaxWindow, p.State().Ssthresh, "%d of %d refused", n+1, flying)
		}
		p.answer(1, window.Overload)
		require.Less(t, p.State().Ssthresh, 1000.0, "%d of %d refused", refused+1, flying)
	}
}

// "A cut leaves what the service took: the attempts in flight without the refused one or, by Little's law, the
// accepted rate times the round trip, whichever is more. That is the ceiling from then on."
func TestProbeCutsToWhatWasTaken(t *testing.T) {
	p := newProbed(t, window.Settings{})
	require.NoError(t, p.Restored(window.State{Cwnd: 40, Ssthresh: 40}))
	p.fill()
	p.now += time.Second
	p.answer(3, window.Success)
	flying := len(p.flying)
	p.answer(1, window.Overload)
	require.EqualValues(t, flying-1, p.State().Cwnd, "what was in flight without it")
	require.EqualValues(t, flying-1, p.State().Ssthresh)

	p = atCeiling(t, 500*ms)
	for range 4 {
		p.round(500*ms, 40)
	}
	before := p.State().Cwnd
	p.fill()
	p.now += 500 * ms
	p.work = 1
	p.answer(len(p.flying)-2, window.Success)
	p.answer(1, window.Overload)
	require.InDelta(t, before, p.State().Cwnd, 5, "few flew, but as many were accepted in each round trip")
}

// "While there is no ceiling, each success adds one to the window."
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

// "At the ceiling the window grows by 2/3 of an attempt a round trip, or a second if the round trip is
// shorter."
func TestProbeGrowsSlowlyAtTheCeiling(t *testing.T) {
	for _, trip := range []time.Duration{5 * ms, 200 * ms, time.Second, 3 * time.Second} {
		p := atCeiling(t, trip)
		require.InDelta(t, 20+min(1, trip.Seconds())*2/3, p.State().Cwnd, 0.02, "after a round trip of %v", trip)
	}
}

// "further past the ceiling the window grows by 2/3 of the way past the ceiling"
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

// "Only a window of which half flies grows."
func TestProbeDoesNotGrowUnused(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 20})
	for range 100 {
		for range 8 {
			p.flying = append(p.flying, p.Sent(p.now))
		}
		p.now += 100 * ms
		for _, ticket := range p.flying {
			p.Answered(p.now, ticket, window.Success)
		}
		p.flying = nil
	}
	require.EqualValues(t, 20, p.State().Cwnd)
}

// "From the first ceiling on, sends are spaced"
func TestProbeSpreadsItsSendsOnceRefused(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 20})
	p.round(200*ms, 1000)
	require.Zero(t, p.Gap())
	p = atCeiling(t, 200*ms)
	p.fill()
	p.now += 200 * ms
	p.answer(19, window.Success)
	p.answer(1, window.Overload)
	w := p.State().Cwnd
	require.InEpsilon(t, 200/w, float64(p.Gap())/1e6, 0.21, "a round trip over the window, less up to a fifth")

	p = newProbed(t, window.Settings{Initial: 2})
	p.round(time.Second, 2)
	p.round(time.Second, 0)
	w = p.State().Cwnd
	require.Greater(t, w, 1.)
	require.Less(t, w, 2.)
	require.InEpsilon(t, float64(time.Second)/w, float64(p.Gap()), 1e-6, "two may fly, and the gap makes it less")
}

// "spaced sends that had to wait for the window follow at once, from the first refusal on" "they do not if more than a
// fifth of the early attempts are refused"
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
			p.Answered(p.now, first, window.Success)
			if i%n != 0 {
				p.Answered(p.now, second, window.Success)
			} else {
				p.Answered(p.now, second, o)
			}
		}
		return p.State().Pace == window.CatchUp
	}
	require.False(t, catchesUp(0, 1, window.Success), "nothing was refused")
	require.True(t, catchesUp(0, 9, window.Overload), "one in nine: as any service may")
	require.False(t, catchesUp(0, 3, window.Overload), "a third")
	require.True(t, catchesUp(0, 3, window.Timeout), "a timeout says nothing of a rate")
	require.True(t, catchesUp(50*ms, 3, window.Overload), "they were not early")
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

// "Growth must pay. ... If answers become slow, half of what flew is tried. If as much is accepted, that is the
// ceiling, and half of it is tried. If not, the window is what the rate before needs at the round trip of the half."
func TestProbeLooksWhetherGrowthPaid(t *testing.T) {
	p := steady(t)
	most, least := 0., math.Inf(1)
	carries := func(fits float64, rounds int, trip time.Duration) {
		for range rounds {
			n := p.fill()
			p.now += time.Duration(float64(trip) * max(1, float64(n)/fits))
			p.answer(n, window.Success)
			most, least = max(most, p.State().Cwnd), min(least, p.State().Cwnd)
		}
	}
	carries(16, 200, 100*ms)
	require.Less(t, most, 300., "it noticed")
	most = 0
	carries(16, 1000, 100*ms)
	require.Less(t, most, 56., "some three times what fits")
	w := p.State().Cwnd
	require.Greater(t, w, 14.)
	least = math.Inf(1) // it gets slower for good, whatever the load: the law looks, and the window returns and goes on
	for least > 0.6*w || p.State().Cwnd < 1.5*w {
		require.Less(t, p.now, time.Hour)
		carries(1e6, 1, 300*ms)
	}
}

// "Answers that only differ in length are slow, too, but the accepted rate grows with the window."
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

// Many answers that come late at once end no growth: this process stood still, and the service did not.
func TestProbeForgivesAPauseOfItsOwn(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 32, Max: 32})
	p.fill()
	for between := range 100 {
		p.now += 100 * ms
		p.answer(32, window.Success)
		for range 40 + between {
			p.now += 25 * ms / 32
			p.answer(1, window.Success)
		}
	}
	require.EqualValues(t, 32, p.State().Cwnd)
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
		p.Answered(p.now, slow, window.Success)
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

// "The first success after a silence restores half of what was accepted in a round trip before, and the initial
// window at most. The ceiling is what was accepted before."
func TestProbeInAnOutage(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 20, Max: 40})
	for range 300 {
		p.round(200*ms, 40)
	}
	p.fill()
	p.now += 20 * ms
	require.Less(t, p.outage(20*ms, time.Minute), 120, "a sixtieth of what was served before, and less and less")
	require.Less(t, p.State().Cwnd, 1.0)
	require.LessOrEqual(t, p.Gap(), 15*time.Second)
	p.round(200*ms, 1)
	require.InDelta(t, 20, p.State().Cwnd, 1, "half of what was accepted")
	require.InDelta(t, 40, p.State().Ssthresh, 1)
}

// "While all is refused, each burst of refusals halves the window: at most down to a quarter of the rate before,
// after 20 in a row or where a refusal lasts down to a 60th, and down to one a second. From there each refusal
// takes a twentieth." Requests that count although they are refused may be
// the reason that nothing is accepted.
func TestProbeAsksLessAndLessInAnOutage(t *testing.T) {
	p := newProbed(t, window.Settings{})
	for range 200 {
		p.round(20*ms, 20)
	}
	for range 40 {
		p.round(20*ms, 0)
		p.now += p.Gap()
	}
	require.InDelta(t, 1.3, p.Gap().Seconds(), 0.4, "once a second")
	for range 14 {
		p.round(20*ms, 0)
		p.now += p.Gap()
	}
	require.InDelta(t, 2.7, p.Gap().Seconds(), 0.9)
	for range 100 {
		p.round(20*ms, 0)
		p.now += p.Gap()
	}
	require.Equal(t, 15*time.Second, p.Gap())
}

// The same where a service stood still for a short while: the window was not down to one
// yet, and the first answer is to what was sent before the last cut.
func TestProbeAfterAStandstill(t *testing.T) {
	p := newProbed(t, window.Settings{})
	for range 30 {
		p.round(100*ms, 32)
	}
	before := p.State().Cwnd
	late := p.Sent(p.now)
	for range 3 {
		p.fill()
		p.now += time.Second
		silent := p.flying
		p.flying = nil
		for _, ticket := range silent {
			p.Answered(p.now, ticket, window.Timeout)
		}
	}
	require.Greater(t, p.State().Cwnd, 1.0)
	require.Less(t, p.State().Cwnd, before/4)
	p.Answered(p.now, late, window.Success)
	require.InDelta(t, 16, p.State().Cwnd, 2, "half of what was accepted")
}

// "A restored State has a ceiling unless Ssthresh is MaxWindow."
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
	require.InDelta(t, 1, slow.Cwnd, 1e-9, "a rate of a tenth grows to the ceiling")
}

// "With a Settings.Min above 1 the window never is a rate."
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
	require.NoError(t, p.Reconfigured(aimd.Probe, window.Settings{Min: 1, Max: 2}))
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
	p.round(0, 2)
	require.Less(t, p.State().Cwnd, 10.0)
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

// share fills the window and, a round trip later, answers what flew then: every nth attempt with
// a refusal, up to so many in flight.
func (p *probed) share(n, most int) {
	flying := p.fill()
	p.now += 100 * ms
	for i := range flying {
		o := window.Success
		if i%n == n/2 || i >= most {
			o = window.Overload
		}
		p.answer(1, o)
	}
}

// "sends of a trial of a held window below four are not spaced"
func TestProbeSpreadsLargeTrials(t *testing.T) {
	for start, spread := range map[float64]bool{5: false, 20: true} {
		p := newProbed(t, window.Settings{Initial: start})
		for range 40 {
			if p.share(4, 1000); p.State().Cwnd > 2*start {
				break
			}
		}
		require.Greater(t, p.State().Cwnd, 2*start, "a trial")
		require.Equal(t, spread, p.Gap() > 0, "from %v: %v", start, p.State())
	}
}

// "at any time if more than 20 are refused in a row, and half as many as the trial and its expected refusals": refusals are
// quicker than successes, so the first answers of a large trial are refusals.
func TestProbeWaitsForTheAnswersOfATrial(t *testing.T) {
	for refused, full := range map[int]bool{60: false, 100: true} {
		p := newProbed(t, window.Settings{Initial: 20})
		for range 40 {
			if p.share(2, 1000); p.State().Cwnd > 40 {
				break
			}
		}
		trial := p.State().Cwnd
		require.InDelta(t, 84, trial, 20, "twice 3 times 8 and 20")
		p.fill()
		p.now += ms
		p.answer(refused, window.Overload)
		require.Equal(t, full, p.State().Cwnd < trial, "%d refused at first", refused)
	}
}

// "After each trial that failed in a row the fall has to be a ninth deeper, at most to a twentieth."
func TestProbeHoldsLaterAfterATrialThatFailed(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 64})
	until := func(want string, step func()) {
		for range 10_000 {
			if _, phase := p.Explain(); phase == want {
				return
			}
			step()
		}
		require.Fail(t, "no end", "%q, window %g", want, p.State().Cwnd)
	}
	for failed := range 23 {
		restored := p.State()
		restored.Cwnd = 100
		require.NoError(t, p.Restored(restored))
		most := 0.
		until("holding", func() {
			most = max(most, min(p.State().Cwnd, float64(p.fill())))
			p.now += 100 * ms
			p.answer(1, window.Success)
			p.answer(1, window.Overload)
		})
		require.InEpsilon(t, max(0.4*math.Pow(0.9, float64(failed)), 0.05), p.State().Cwnd/most, 0.06, "%d failed", failed)
		until("trying", func() { p.share(2, 1000) })
		p.fill()
		until("", func() { p.answer(1, window.Overload) })
		p.now += time.Second
		p.answer(len(p.flying), window.Success)
	}
}

// "If the window fell to two fifths, it is held there until a sample shows how frequent refusals are."
// "if a cut did not pay, the law tries a window 8 times as large, or larger if many are refused, but at most three
// times as large plus 60"
func TestProbeHoldsAndTries(t *testing.T) {
	for _, start := range []float64{10, 60} {
		p := newProbed(t, window.Settings{})
		require.NoError(t, p.Restored(window.State{Cwnd: start, Ssthresh: start}))
		var windows []float64
		for range 40 {
			p.share(4, 1000)
			if w := p.State().Cwnd; len(windows) == 0 || w != windows[len(windows)-1] {
				windows = append(windows, w)
			}
		}
		held := slices.Min(windows)
		require.InDelta(t, start*0.4, held, start*0.1, "two fifths of the most that flew: %v", windows)
		at := slices.Index(windows, held)
		require.InDelta(t, min(8*(1+1./3)*held, 3*(held+20)), windows[at+1], 6, "%v", windows)
	}
}

// "if refusals became rarer by half than at the window that was held before, the cut paid, and cuts continue" "the
// service is full, and the held window returns."
func TestProbeKeepsCutsThatPay(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 60})
	for range 50 {
		p.round(100*ms, 60)
	}
	for range 100 {
		p.round(100*ms, 8)
	}
	sent := 0
	for range 100 {
		sent += p.fill()
		p.round(100*ms, 8)
	}
	require.InDelta(t, 8, p.State().Cwnd, 3)
	require.Less(t, sent, 1100, "8 of a round trip are accepted")
}

// "If refusals do not become more frequent, they are the service's own. There is no ceiling then. Only
// refusals that are 1.5 times as frequent cut."
func TestProbeIsNotStoppedByRefusalsOfTheServicesOwn(t *testing.T) {
	for _, start := range []float64{4, 60} {
		for _, n := range []int{3, 4, 8} {
			p := newProbed(t, window.Settings{Initial: start})
			var none, large int
			for range 600 {
				p.share(n, 200)
				if p.State().Ssthresh == window.MaxWindow {
					none++
				}
				if p.State().Cwnd > 100 {
					large++
				}
			}
			require.Positive(t, none, "no ceiling, from %v, each %d refused", start, n)
			require.Greater(t, large, 100, "from %v, each %d refused", start, n)
		}
	}
}

// "If refusals become rarer by a third, the service's own share falls, at most by half at a time." What is more frequent than that
// cuts again.
func TestProbeForgetsRefusalsOfTheServicesOwn(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 60, Max: 100})
	for range 200 {
		p.share(3, 1000)
	}
	require.EqualValues(t, window.MaxWindow, p.State().Ssthresh)
	for range 200 {
		p.share(10, 1000)
	}
	require.EqualValues(t, 100, p.State().Cwnd)
	for range 20 {
		p.share(3, 1000)
	}
	require.Less(t, p.State().Ssthresh, 100.0)
}

// It does so at any window: here at a hundredth of an attempt.
func TestProbeIsNotStoppedByRefusalsAtASmallWindow(t *testing.T) {
	p := aimd.Probe(window.Settings{Initial: 20, Min: 1, Max: window.MaxWindow})
	s, now := window.State{Cwnd: 0.01, Ssthresh: 1, Pace: window.Spaced, Trip: 100 * ms}, time.Duration(0)
	for i := range 400 {
		now += time.Duration(float64(s.Trip) / min(1, s.Cwnd))
		o := window.Success
		if i%4 == 3 {
			o = window.Overload
		}
		s = p.Answered(now, s, window.End{Outcome: o, Flying: max(1, int(s.Cwnd)), RTT: s.Trip})
		s.Trip = 100 * ms
	}
	require.Greater(t, s.Cwnd, 20.0)
}

// "After a silence of a second, or two round trips, the accepted rate is as before": a service that is up
// for less than the rate is a mean of is not asked for less and less.
func TestProbeIsNotWornDownByOutages(t *testing.T) {
	p := newProbed(t, window.Settings{Initial: 20, Max: 20})
	for range 100 {
		p.round(20*ms, 20)
	}
	for range 20 {
		p.outage(20*ms, 3*time.Second)
		for range 10 {
			p.round(20*ms, 20)
		}
		require.Greater(t, p.State().Cwnd, 6.0)
	}
}

// "what was accepted before counts for the next one, too, if more than four are accepted"
func TestProbeKeepsItsRateWhereAServiceGoesUpAndDown(t *testing.T) {
	for taken, kept := range map[int]bool{4: false, 5: true, 8: true} {
		p := newProbed(t, window.Settings{Initial: 20, Max: 20})
		for range 6 {
			for range 20 {
				p.round(20*ms, 20)
			}
			p.outage(20*ms, time.Second)
		}
		accept := func() {
			ticket := p.Sent(p.now)
			p.now += 20 * ms
			p.Answered(p.now, ticket, window.Success)
		}
		for range taken {
			accept()
			p.now += 300 * ms
		}
		p.outage(20*ms, time.Second)
		accept()
		require.Equal(t, kept, p.State().Cwnd > 2, "%d accepted, window %g", taken, p.State().Cwnd)
	}
}

// "Where a refusal lasts for more than 45, a window below one grows by 2/3 of itself. If 20 are refused there, and 20
// accepted, slower is no better, and that ends." A success adds 1.3% to a window of .01 then, and elsewhere more than a
// tenth.
func TestProbeGrowsAgainWhereSlowerIsNoBetter(t *testing.T) {
	p := newProbed(t, window.Settings{})
	var quick string
	for range 25 {
		for _, o := range []window.Outcome{window.Success, window.Overload} {
			require.NoError(t, p.Restored(window.State{Cwnd: 0.01, Ssthresh: 1, Pace: window.Spaced, Trip: 20 * ms}))
			p.now += 2 * time.Second
			ticket := p.Sent(p.now)
			p.now += 20 * ms
			p.Answered(p.now, ticket, o)
			switch grown := p.State().Cwnd > 0.011; {
			case o == window.Overload:
			case grown:
				quick += "+"
			default:
				quick += "-"
			}
		}
	}
	require.Equal(t, "+++++"+strings.Repeat("-", 15)+"++++-", quick, "five refusals show that they last")
}

// The attempt after the first cut in a row comes at once, so a rest that is shorter than the gap stops nothing.
func TestProbeIsNotStoppedByARestShorterThanItsGap(t *testing.T) {
	const rest, trip = 270 * ms, 976 * ms
	g, err := limiter.NewGate(aimd.Probe, limiter.Settings{})
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
		p.Answered(p.now, ticket, window.Overload)
		require.Less(t, p.Gap(), time.Second, "the retry comes before the service rests again")
		p.now += p.Gap()
		ticket = p.Sent(p.now)
		p.now += 20 * ms
		p.Answered(p.now, ticket, window.Success)
	}
}
