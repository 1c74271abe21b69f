package probe

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/window"
)

// known is a law after its first load: a round trip of 100 ms, 100 accepted a second, the last one now.
func known() *law {
	l := with(&tuned, window.Settings{Initial: 20})
	l.fresh, l.share, l.trip, l.rate, l.ceiling, l.allowed = false, l.least, 0.1, 100, 10, 0
	l.start, l.succeeded, l.began = 0, 100, 90
	return l
}

const now = 100.

func refusal(flying int) window.End {
	return window.End{Outcome: window.Overload, Flying: flying, RTT: 10 * time.Millisecond}
}

// Rule 1. At most two, and the share of 20 answers or of a quarter of the window, are saved.
func TestAllowanceSaved(t *testing.T) {
	l := known()
	for share, want := range map[float64]float64{0.05: 3, 0.5: 12, 1: 22, 2: 22} {
		l.share = share
		assert.InDelta(t, want, l.most(80), 1e-9)
	}
	l.share = 0.05
	assert.InDelta(t, 2+400*0.05/4, l.most(400), 1e-9)
	for range 14 { // each success earns 1.5 times the share
		l.earn(10, window.End{Flying: 5})
	}
	assert.InDelta(t, 14*1.5*0.05, l.allowed, 1e-9)
	l.share, l.allowed, l.asked = 1, 0, true
	l.earn(10, window.End{Flying: 5})
	assert.InDelta(t, 1.5*0.05, l.allowed, 1e-9, "where the service asked for time")
	l.share, l.allowed, l.ceiling, l.trip = l.least, 4, 4, 6.1
	assert.True(t, l.spend(6, refusal(5)), "as many as were taken")
	assert.False(t, l.spend(6, refusal(6)), "one more, past the ceiling")
	assert.True(t, l.spend(4, refusal(6)), "not past it")
	l.trip = 6
	assert.True(t, l.spend(6, refusal(6)), "one a second")
}

// The share is 1 at the start, where two more are allowed than fly.
func TestAllowanceAtTheStart(t *testing.T) {
	for flying, want := range map[int]int{1: 3, 5: 7, 20: 22, 60: 22, 260: 67} { // a quarter of a window over 80
		l := with(&tuned, window.Settings{Initial: 60})
		n := 0
		for l.lost = 1; l.spend(float64(flying), refusal(flying)); l.lost++ {
			n++
			require.Equal(t, chance, l.cause)
		}
		assert.Equal(t, want, n, "%d in flight", flying)
		l.spent()
		assert.InDelta(t, 1./20, l.share, 1e-9, "the first load")
	}
	l := with(&tuned, window.Settings{})
	for _, c := range []struct {
		flying  int
		lost    float64
		allowed float64
	}{{4, 0, 6}, {4, 1, 5}, {10, 1, 10}, {9, 0, 11.5}, {19, 8, 10.5}, {20, 0, 13}, {25, 0, 14.5}} {
		if l.lost += c.lost; c.lost > 0 {
			l.spend(60, refusal(c.flying))
		} else {
			l.earn(60, window.End{Flying: c.flying})
		}
		assert.InDelta(t, c.allowed, l.allowed, 1e-9, "%d fly: one more for each, up to 20, and 1.5 for a success after a refusal", c.flying)
	}
	l = with(&tuned, window.Settings{}) // a restored window has no start, and proves nothing
	l.begin(1, window.State{Cwnd: 8, Ssthresh: 8}, window.End{})
	assert.Equal(t, []float64{22, 0}, []float64{l.allowed, l.proved})
}

// Load takes the share if it leaves less than what showed it.
func TestAllowanceForgotten(t *testing.T) {
	l := known()
	l.share, l.shown = 0.5, 8
	l.spent()
	l.refute(8)
	assert.InDelta(t, 0.5, l.share, 1e-9)
	l.refute(7.9)
	assert.InDelta(t, 0.05, l.share, 1e-9)
}

// Rule 2. Load leaves the attempts in flight without the refused one, or what is accepted in a round trip, whichever is
// more. Each further refusal of the burst takes one. A window below one, or a round trip below a second, is cut deeper.
func TestCutLeavesWhatWasTaken(t *testing.T) {
	l := known()
	assert.InDelta(t, 14, l.cut(now, 30, refusal(15)), 1e-9, "in flight")
	assert.InDelta(t, 10-math.Sqrt(0.1), l.cut(now, 30, refusal(5)), 1e-9, "a round trip's")
	assert.Equal(t, l.ceiling, l.cut(now, 30, refusal(5)))
	assert.InDelta(t, 29, l.cut(now, 30, window.End{Marks: window.Marks{Ignored: true}}), 1e-9)
	assert.InDelta(t, 29, l.ceiling, 1e-9)
	l.trip = 4
	assert.InDelta(t, 399, l.cut(now, 1000, refusal(5)), 1e-9, "one at most")
}

// Rule 3. A window that fell to a sixth of the most that was taken is held. ... Less than ten attempts a second, or ten
// in flight, are not.
func TestHoldBegins(t *testing.T) {
	l := known()
	l.best = 60
	assert.InDelta(t, 10, l.low(now, 30), 1e-9)
	l.best = 6
	assert.InDelta(t, 10./6, l.low(now, 30), 1e-9, "10 are taken now")
	l.rate, l.best = 0.1, 6
	assert.InDelta(t, 1, l.low(now, 30), 1e-9, "ten a second")
	l.best = 5.9
	assert.Zero(t, l.low(now, 30))
	l.trip, l.best = 3, 60
	assert.InDelta(t, 10, l.low(now, 30), 1e-9, "ten in flight")
	l.best = 59
	assert.Zero(t, l.low(now, 30))
	// The most that was taken is at the first load twice what was taken in a round trip since the start.
	l.trip, l.best, l.accepted = 0.1, 0, 9000
	assert.InDelta(t, 2*0.1*90/6, l.low(now, 30), 1e-9)
}

// ... until 20 are accepted and 20 refused, which with one standard deviation more is the share, if the window did not grow to 1.5.
func TestHoldMeasures(t *testing.T) {
	for accepted, lost := range map[float64]float64{19: 30, 30: 19} {
		l := known()
		l.holdAt(now, 10)
		l.accepted, l.lost = accepted, lost
		l.measured(now, 10)
		assert.InDelta(t, 10, l.held, 1e-9, "no sample yet")
	}
	for w, want := range map[float64]float64{10: (30 + math.Sqrt(30)) / 20, 14.9: (30 + math.Sqrt(30)) / 20, 15: 0.05} {
		l := known()
		l.holdAt(now, 10)
		l.accepted, l.lost = 20, 30
		l.measured(now, w)
		assert.Zero(t, l.held)
		assert.InDelta(t, want, l.share, 1e-9, "window %v", w)
		assert.InDelta(t, w, l.best, 1e-9)
		assert.Equal(t, want > 1, math.IsInf(l.ceiling, 1), "no ceiling")
	}
	l := known()
	l.holdAt(now, 10)
	l.sampled(now, 1)
	assert.Zero(t, l.lost, "what was sent before the hold says nothing of it")
	l.sampled(now+0.1, 1)
	assert.InDelta(t, 1, l.lost, 1e-9)
	// It ends if twice as many are refused as accepted, and ten more.
	l.accepted, l.lost = 5, 20
	assert.True(t, l.holds())
	l.lost = 21
	assert.False(t, l.holds())
	assert.InDelta(t, 10, l.best, 1e-9)
}

// The most that was taken fades by a tenth a second. When the age of a share has doubled, a sixth of the window is held: fewer than
// ten where 20 are expected were load of others, and then nothing is held by load. Otherwise the share is the mean of both.
func TestHoldChecks(t *testing.T) {
	l := known()
	l.best, l.ceiling = 60, math.Inf(1)
	assert.InDelta(t, 30, l.checked(now, 30, 1), 1e-9, "no share of its own")
	assert.InDelta(t, 54, l.best, 1e-9)
	l.born = 80
	l.owned(90, 30, 0.5)
	assert.InDelta(t, 30, l.checked(99.9, 30, 0), 1e-9, "not yet")
	assert.InDelta(t, 5, l.checked(100, 30, 0), 1e-9)
	assert.InDelta(t, 50, l.rate, 1e-9, "so it is not lifted")
	assert.Equal(t, own, l.cause)
	enough := 20 * (1 + 1/math.Sqrt(20)) / 0.5
	for lost, want := range map[float64]float64{9.9: 0.05, 10.1: (0.5 + (10.1+math.Sqrt(10.1))/enough) / 2} {
		l := *l
		l.accepted, l.lost = enough-0.1, lost
		l.measured(110, 5)
		require.InDelta(t, 5, l.held, 1e-9, "no sample yet")
		l.accepted = enough + 1e-9
		l.measured(110, 5)
		assert.Zero(t, l.held)
		assert.InDelta(t, want, l.share, 1e-6, "%v refused", lost)
		l.best, l.rate = 60, 100
		assert.Equal(t, want < 0.1, l.low(now, 30) == 0, "nothing is held in company")
		assert.Equal(t, want > 0.1, l.due == 140, "the age is 30 s now")
	}
	l.accepted, l.lost = 20, 20 // as many as are expected are enough
	l.measured(110, 5)
	assert.Zero(t, l.held)
	l.share = 0.5
	l.checked(200, 30, 0)
	l.lost = 1000
	assert.False(t, l.holds(), "load ends a check")
	assert.InDelta(t, 0.05, l.share, 1e-9)
}

// While more than six follow one another it falls all the same.
func TestHoldFallsInASilence(t *testing.T) {
	l := known()
	l.holdAt(90, 10)
	l.succeeded = 80
	s := window.State{Cwnd: 10, Ssthresh: 10, Trip: 100 * time.Millisecond}
	for n := range 7 {
		got := l.Answered(100*time.Second, s, refusal(4))
		assert.Equal(t, n == 6, got.Cwnd < 10, "refusal %d", n+1)
		_, phase := l.Explain()
		assert.Equal(t, "holding", phase)
	}
}

// Where refusals ask for time and less than half of the window flies, load holds two thirds of what was sent. It ends the start.
func TestHoldWhereTheServiceAsksForTime(t *testing.T) {
	for flying, held := range map[int]float64{14: 10 * 1.5 / 1.5, 15: 0} {
		l := known()
		l.fresh, l.share, l.accepted, l.lost, l.proved = true, 1, 100, 49, 15
		a := refusal(flying)
		a.Asked = true
		l.Answered(100*time.Second, window.State{Cwnd: 30, Trip: 100 * time.Millisecond}, a)
		assert.InDelta(t, held, l.held, 1e-9, "%d fly", flying)
		assert.False(t, l.fresh)
		assert.InDelta(t, 0.05, l.share, 1e-9)
	}
}

// Rule 4. Below the ceiling a success adds one; at it 2/3 a round trip, or a second, and 2/9 at most; past it 2/3 of the way in a round trip.
func TestGrowth(t *testing.T) {
	l := known()
	assert.InDelta(t, 6, l.grown(5), 1e-9)
	assert.InDelta(t, 10+0.1*2/3/10, l.grown(10), 1e-9)
	assert.InDelta(t, 20+9.5*2/3/20, l.grown(20), 1e-9)
	l.trip = 3
	assert.InDelta(t, 10+2./3/10, l.grown(10), 1e-9)
	for _, l.ceiling = range []float64{0.5, 2, 3} { // 2/9 at most
		assert.InDelta(t, l.ceiling+2./9, l.grown(l.ceiling), 1e-9)
	}
	l.ceiling = 10
	l.trip = 0.1
	for lasts, want := range map[float64]float64{6: 1, 6.1: 0.2} { // where a silence lasts six round trips, in half a second
		l.lasts = lasts
		assert.InDelta(t, 20+want*9.5*2/3/20, l.grown(20), 1e-9, "lasts %v", lasts)
	}
	l.lasts, l.found = 0, true // past a ceiling that a look found, to 1.5 of it and six
	assert.InDelta(t, 20+9.5*2/3/20, l.grown(20), 1e-9)
	assert.InDelta(t, 21, l.grown(21), 1e-9)
	assert.InDelta(t, 21, l.grown(20.9), 1e-9)
	// a window of less than half of what is taken is that
	assert.InDelta(t, 5, l.lifted(now, 5), 1e-9)
	assert.InDelta(t, 10, l.lifted(now, 4.9), 1e-9)
	// Rule 10. "a window below one grows by a twentieth", and at one the rule ends
	assert.InDelta(t, 1.5, l.grown(0.5), 1e-9)
	l.metered = true
	assert.InDelta(t, 0.525, l.grown(0.5), 1e-9)
	assert.InDelta(t, 1, l.grown(0.99), 1e-9)
	assert.True(t, l.metered)
	l.grown(1)
	assert.False(t, l.metered)
}

// Rule 6. From the first load on sends are spaced. Late ones catch up, unless a fifth of the early ones are refused.
func TestSpacing(t *testing.T) {
	l := with(&tuned, window.Settings{Initial: 20})
	assert.Equal(t, window.AtOnce, l.spacing(1))
	assert.Equal(t, window.Spaced, l.spacing(0.9))
	l = known()
	l.early = 0.2
	assert.Equal(t, window.CatchUp, l.spacing(20))
	l.early = 0.21
	assert.Equal(t, window.Spaced, l.spacing(20))
	l.from = 20
	assert.Equal(t, window.AtOnce, l.spacing(10), "a look")
	// of as many of the last early ones as fly, 40 at most; a fiftieth is forgotten with each round trip
	for flying, part := range map[int]float64{1: 2, 10: 10, 100: 40} {
		l.early = 0
		a := refusal(flying)
		a.Early = true
		l.noteEarly(a)
		assert.InDelta(t, 1/part, l.early, 1e-9)
		l.early = 1
		l.noteEarly(window.End{Outcome: window.Success, Flying: flying})
		assert.InDelta(t, 1-0.02/float64(flying), l.early, 1e-9)
	}
	for range 100_000 {
		l.noteEarly(window.End{Outcome: window.Success, Flying: 1})
	}
	assert.Greater(t, l.early, 0x1p-1022, "a number that is slow to work with")
}

// Rule 7. The first two refusals in a row leave ten a second, or one in flight. From the third on each burst halves a
// window below one, down to a sixth of what was taken before. From there each refusal takes three tenths.
func TestFloor(t *testing.T) {
	l := known()
	l.trip, l.before = 0.02, 0.6
	for inRow, want := range map[float64]float64{2: 0.2, 3: 0.15} {
		l.inRow = inRow
		assert.InDelta(t, want, l.floor(0.3), 1e-9, "%v in a row", inRow)
	}
	l.inRow = 3
	assert.InDelta(t, 0.1, l.floor(0.16), 1e-9)
	assert.InDelta(t, 0.07, l.floor(0.1), 1e-9)
	l.inRow, l.trip = 1, 3
	assert.InDelta(t, 0.8, l.floor(0.8), 1e-9)
}

// silent is a silence of so many refusals and seconds that ends now, after so many seconds of acceptance.
func silent(refused, seconds, took float64) *law {
	l := known()
	l.succeeded, l.quiet = now-seconds, now-seconds
	l.inRow, l.before, l.began, l.taken = refused, 60, l.succeeded-took, 100
	return l
}

// Rule 8. "After more than two refusals a success restores a sixth of what was taken", and the initial window at most; "after a
// second and two trips, all".
func TestBack(t *testing.T) {
	assert.InDelta(t, 0.5, silent(2, 1, 10).returned(now, 0.5), 1e-9)
	assert.InDelta(t, 0.5, silent(3, 0.09, 10).returned(now, 0.5), 1e-9, "no round trip")
	l := silent(3, 1, 10)
	assert.InDelta(t, 10, l.returned(now, 0.5), 1e-9)
	assert.InDelta(t, 60, l.ceiling, 1e-9)
	assert.InDelta(t, 100, l.rate, 1e-9, "as before a silence of a second")
	one := window.End{Outcome: window.Success, Flying: 1, RTT: 100 * time.Millisecond}
	assert.InDelta(t, 10, silent(3, 1, 10).success(now, 0.5, one), 1e-9)
	assert.InDelta(t, 60, silent(3, 1.01, 10).success(now, 0.5, one), 1e-9)
	l = silent(3, 1, 10)
	l.initial = 4
	assert.InDelta(t, 4, l.returned(now, 0.5), 1e-9)
	assert.InDelta(t, 30, silent(3, 1, 10).returned(now, 30), 1e-9, "half is there")
	// Two round trips later, more than twice as many refusals as successes, and ten, leave what load left.
	for _, c := range []struct{ took, taken, missed, before float64 }{
		{0.14, 5, 18, 60}, {0.16, 5, 17, 60}, {0.16, 5, 18, 8}, {0.16, 0, 7, 60}, {0.16, 0, 8, 8}, {10, 5, 18, 8},
	} {
		l = silent(3, 0.05, c.took)
		l.taken, l.missed = c.taken, c.missed
		assert.InDelta(t, 8, l.returned(now, 8), 1e-9)
		assert.InDelta(t, c.before, l.before, 1e-9, c)
	}
}

// Rule 9. A silence of five seconds, and of 1.5 times the acceptance before it, was a limit that was used up.
func TestUsedUp(t *testing.T) {
	rate := func(silence, took float64) float64 { return math.Sqrt(60 * 0.1 * 100 / (silence + took)) }
	for _, c := range []struct {
		silence, took float64
		used          bool
	}{{5, 1, false}, {5.1, 1, true}, {9, 5.9, false}, {9.1, 5.9, true}} {
		l := silent(9, c.silence, c.took)
		w := l.returned(now, 0.5)
		require.Equal(t, c.used, l.cause == usedUp, c)
		if c.used {
			assert.InDelta(t, rate(c.silence, c.took), l.before, 1e-6)
			assert.LessOrEqual(t, w, l.before)
		}
	}
	l := silent(9, 6, 1)
	l.began = math.Inf(-1)
	l.returned(now, 0.5)
	assert.Equal(t, back, l.cause, "after a timeout")
	// If less is accepted then, by a third, and not for longer, it was an outage, and so are the later ones.
	for taken, want := range map[float64]cause{67: usedUp, 66: back} {
		l = silent(9, 6, 1)
		l.record, l.longest, l.taken = 100, 1.2, taken
		l.returned(now, 0.5)
		assert.Equal(t, want, l.cause, "%v taken", taken)
		l.inRow, l.quiet, l.succeeded, l.taken = 9, now, now, 1000
		l.returned(now+9, 0.5)
		assert.Equal(t, want, l.cause)
	}
}

// Rule 10. Where two at most are taken between silences, and at least half as much a second as before, time is the limit.
func TestMetered(t *testing.T) {
	// met is whether the law is metered after so many were taken in ten seconds, after a pace of one a second.
	met := func(taken float64, was bool) bool {
		l := silent(3, 1, 9)
		l.pace, l.taken, l.metered, l.accepted = 0.4, taken, was, 10
		l.returned(now, 0.5)
		return l.metered
	}
	assert.True(t, met(2, false))
	assert.False(t, met(3, false), "a burst")
	assert.True(t, met(3, true), "it was metered before")
	assert.False(t, met(1.9, true), "less than half: less was sent")
	l := silent(3, 1, 9)
	l.taken, l.accepted = 2, 10
	assert.InDelta(t, 10, l.returned(now, 0.5), 1e-9, "no pace is known")
	assert.InDelta(t, 0.2, l.pace, 1e-9)
	l = silent(3, 1, 9)
	l.pace, l.taken, l.accepted = 0.2, 2, 9
	assert.InDelta(t, 10, l.returned(now, 0.5), 1e-9, "no sample yet")
	for taken, want := range map[float64]float64{1: 0.1, 2: 0.2, 30: 3} { // half of 0.2 is as much; more counts from now on
		l = silent(1, 1, 9)
		l.pace, l.taken, l.metered, l.ceiling = 0.2, taken, true, 0.5
		assert.InDelta(t, 0.5, l.returned(now, 0.5), 1e-9, "nothing is restored, after one refusal, too")
		assert.InDelta(t, max(0.2, want), l.pace, 1e-9)
		assert.InDelta(t, 0.5, l.ceiling, 1e-9)
	}
	l = known()
	l.metered, l.inRow, l.before = true, 1, 0.6
	assert.InDelta(t, 0.15, l.floor(0.3), 1e-9, "the first refusals do not leave ten a second")
}

// More than an allowance and 20 in a row are an outage: there is no hold then.
func TestOutage(t *testing.T) {
	l := known()
	l.succeeded = 80
	for n := range 24 {
		l.Answered(100*time.Second, window.State{Cwnd: 10, Trip: 100 * time.Millisecond}, refusal(4))
		assert.Equal(t, n == 23, l.cause == outage, "refusal %d", n+1)
	}
}

// Rule 5. Answers that take 1.5 times the shortest of late end growth. A block is 20 answers, 10 at first, 100 after a
// refusal.
func TestSlow(t *testing.T) {
	end := window.End{Outcome: window.Success, Flying: 5, RTT: 100 * time.Millisecond}
	for ceiling, want := range map[float64]int{math.Inf(1): 20, 10: 100} {
		for _, shortest := range []float64{0, 0.1} {
			l := known()
			l.ceiling, l.shortest, l.quickest = ceiling, [2]float64{shortest}, shortest
			n, block := 0, l.block
			for l.again(0); n == 0 || l.block.answers > 0; n++ {
				block = l.block
				l.looks(now, 5, end)
			}
			if shortest == 0 && math.IsInf(ceiling, 1) {
				want = 10
			}
			assert.Equal(t, want, n, "ceiling %v, shortest %v: %v", ceiling, shortest, block)
			want = map[bool]int{true: 20, false: 100}[math.IsInf(ceiling, 1)]
		}
	}
	l := known()
	l.ceiling, l.block = math.Inf(1), block{answers: 98, refused: true}
	l.looks(now, 5, end)
	assert.InDelta(t, 99, l.block.answers, 1e-9, "100 after an allowed refusal")
	l.looks(now, 5, end)
	assert.Zero(t, l.block.answers)
	l.shortest, l.quickest = [2]float64{0.1, 0.02}, 0.1
	for factor, want := range map[float64]bool{1.499: false, 1.501: true} {
		l.block = block{began: now - 1, answers: 20, flying: 20 * 20 * 0.1 * factor, trips: 20 * 0.1 * 1.6}
		assert.Equal(t, want, l.slower(now), "by Little's law")
		l.block = block{began: now - 1, answers: 20, flying: 20 * 20 * 0.1 * 1.6, trips: 20 * 0.1 * factor}
		assert.Equal(t, want, l.slower(now), "by the round trip")
		// Another mix is not slow: urgent calls beside a batch waited for seconds while half of the window was tried.
		l.block = block{began: now - 1, answers: 20, flying: 20 * 20 * 0.1 * 1.6, trips: 9*0.1*factor + 11*1, urgent: 11, hurried: 11 * 1}
		assert.True(t, l.slower(now), "urgent ones that take 50 times as long")
		l.block.hurried = 11 * 0.02 * factor
		assert.Equal(t, want, l.slower(now), "by the round trip of the urgent ones")
		l.block.urgent, l.block.hurried = 9, l.block.trips-11*0.1*factor
		assert.Equal(t, want, l.slower(now), "by the round trip of the others")
	}
}

// While the answers of a block are slow, no window of two or more is lifted. A look does not begin with an answer that takes less
// than the mean over 1.5: what was slow may be gone.
func TestWhileAnswersAreSlow(t *testing.T) {
	for _, c := range []struct{ answers, w, lifted, last, looked float64 }{
		{9, 4.9, 10, 0, 0}, {10, 4.9, 4.9, 0, 0}, {10, 1.9, 10, 0, 0}, {99, 20, 20, 0.106, 20}, {99, 20, 20, 0.107, 10},
	} {
		l := known()
		l.shortest[0], l.quickest = 0.1, 0.1
		l.block = block{began: now - 1, answers: c.answers, flying: c.answers * 20, trips: c.answers * 0.16}
		assert.InDelta(t, c.lifted, l.lifted(now, c.w), 1e-9, c)
		if c.last > 0 {
			end := window.End{Outcome: window.Success, Flying: 20, RTT: time.Duration(c.last * 1e9)}
			assert.InDelta(t, c.looked, l.looks(now, c.w, end), 0.1, c)
		}
	}
}

// Half of the window is tried then. If nine tenths of the rate are accepted, that is the ceiling, and half of it is tried; if
// not, the window is what the rate needs. The next try comes after 20 times as long.
func TestLook(t *testing.T) {
	l := known()
	l.flew, l.took, l.block = 16, 100, block{began: now - 1, answers: 20}
	assert.InDelta(t, 8, l.halve(now, 20), 1e-9)
	b := block{began: now, answers: 90, flying: 900, trips: 9}
	assert.InDelta(t, 4, l.judged(now+1, 8, b), 1e-9)
	assert.InDelta(t, 8, l.ceiling, 1e-9)
	b = block{began: now + 1, answers: 89, flying: 356, trips: 8.9}
	assert.InDelta(t, 4*100/89./0.9, l.judged(now+2, 4, b), 1e-9)
	assert.InDelta(t, now+2+20*1, l.next, 1e-9)
	assert.False(t, l.looking())
	assert.True(t, l.found)
	// Before the first load: where 20 were refused, a half that is as good shows that they were load.
	for lost, fresh := range map[float64]bool{19: true, 20: false} {
		l = with(&tuned, window.Settings{Initial: 20})
		l.lost, l.from, l.took = lost, 20, 100
		l.judged(now+1, 10, block{began: now, answers: 90, flying: 900, trips: 9})
		assert.Equal(t, fresh, l.fresh, "%v refused", lost)
		assert.Equal(t, fresh, l.share == 1, "%v refused", lost)
	}
}

// An allowed refusal ends no look, and no block. Load and a timeout end both: else a service that thrashes is found too late.
func TestLoadEndsALook(t *testing.T) {
	for end, looking := range map[window.End]bool{refusal(9): true, refusal(10): false, {Outcome: window.Timeout, Flying: 9}: false} {
		l := known()
		l.allowed, l.from, l.block = float64(10-end.Flying), 20, block{began: 99, answers: 5}
		l.Answered(100*time.Second, window.State{Cwnd: 10, Trip: 100 * time.Millisecond}, end)
		assert.Equal(t, looking, l.looking())
		assert.Equal(t, looking, l.block.answers > 0)
	}
}
