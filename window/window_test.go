package window_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/window"
)

// halving is a law for these tests: one more at each success, half at each overload that is not ignored.
type halving struct{ timed bool }

func (halving) Answered(_ time.Duration, s window.State, a window.Answer) window.State {
	switch {
	case a.Outcome == window.Success:
		s.Cwnd++
	case a.Outcome.Overloaded() && !a.Ignored:
		s.Cwnd /= 2
	}
	return s
}

func (h halving) Timed() bool { return h.timed }

// lawFunc is a law that answers what the function says.
type lawFunc func(s window.State, a window.Answer) window.State

func (f lawFunc) Answered(_ time.Duration, s window.State, a window.Answer) window.State {
	return f(s, a)
}
func (lawFunc) Timed() bool { return false }

// timedLaw is a lawFunc that is told the time.
type timedLaw lawFunc

func (f timedLaw) Answered(_ time.Duration, s window.State, a window.Answer) window.State {
	return f(s, a)
}
func (timedLaw) Timed() bool { return true }

// trace drives a window step by step.
type trace struct {
	*testing.T
	window.Window
	now time.Duration
}

func newTrace(t *testing.T, law window.Law, s window.Settings) *trace {
	t.Helper()
	w, err := window.New(func(window.Settings) window.Law { return law }, s)
	require.NoError(t, err)
	return &trace{t, w, 0}
}

func (t *trace) send(n int) []window.Ticket {
	tickets := make([]window.Ticket, n)
	for i := range tickets {
		tickets[i] = t.Sent(t.now)
	}
	return tickets
}

func (t *trace) answer(k window.Ticket, o window.Outcome) window.Change {
	t.Helper()
	c := t.Answered(t.now, k, o)
	require.NotEqual(t, window.Late, c)
	return c
}

func (t *trace) wantCwnd(want float64) {
	t.Helper()
	require.InDelta(t, want, t.State().Cwnd, 1e-9)
}

// docs/design.md, rule 1: "At the first overload of a burst, all attempts in flight become "ignored":
// their overloads do not cut again."
func TestABurstOfOverloadsCountsOnce(t *testing.T) {
	w := newTrace(t, halving{}, window.Settings{Initial: 16})
	k := w.send(16)
	require.Equal(t, window.Cut, w.answer(k[3], window.Overload))
	w.wantCwnd(8)
	for i, ticket := range k {
		if i != 3 {
			require.Equal(t, window.Ignored, w.answer(ticket, window.Overload))
		}
	}
	w.wantCwnd(8)
	require.Equal(t, 1, w.Streak())
	// What is sent after the reaction is a burst of its own.
	require.Equal(t, window.Cut, w.answer(w.send(1)[0], window.Timeout))
	w.wantCwnd(4)
	require.Equal(t, 2, w.Streak())
}

// The text's size(flying) counts the answered attempt: counted after removal the window never leaves its
// initial value.
func TestFlyingCountsTheAnsweredAttempt(t *testing.T) {
	var told []int
	w := newTrace(t, lawFunc(func(s window.State, a window.Answer) window.State {
		told = append(told, a.Flying)
		return s
	}), window.Settings{Initial: 3})
	for _, k := range w.send(3) {
		w.answer(k, window.Neutral)
	}
	require.Equal(t, []int{3, 2, 1}, told)
}

// docs/design.md, rule 4: "and always if no attempt is in flight". "cwnd is never below 1".
func TestAdmission(t *testing.T) {
	w := newTrace(t, halving{}, window.Settings{Initial: 2.9})
	require.True(t, w.Open())
	w.send(1)
	require.True(t, w.Open(), "1 + 1 <= 2.9")
	k := w.send(1)
	require.False(t, w.Open(), "2 + 1 > 2.9")
	for range 100 {
		w.answer(k[0], window.Overload)
		k = w.send(1)
	}
	w.wantCwnd(1)
	require.False(t, w.Open())
}

// docs/design.md, rule 7: "A late or second answer changes no count".
func TestLateAndSecondAnswersChangeNothing(t *testing.T) {
	w := newTrace(t, halving{}, window.Settings{Initial: 4})
	k := w.send(4)
	w.answer(k[0], window.Timeout)
	require.True(t, w.Withdrawn(k[1]))
	before := w.Window
	for _, o := range []window.Outcome{window.Success, window.Overload, window.Timeout, window.Neutral} {
		for _, late := range []window.Ticket{k[0], k[1], {}} {
			require.Equal(t, window.Late, w.Answered(w.now, late, o))
			require.False(t, w.Withdrawn(late))
		}
	}
	require.Equal(t, before, w.Window)
	// Others are sent: still late.
	w.send(2)
	require.Equal(t, window.Late, w.Answered(w.now, k[0], window.Success))
	require.Equal(t, 4, w.Flying())
}

// docs/design.md, rule 9: "A 500 is neutral. A timeout is overload."
func TestNeutralSaysNothing(t *testing.T) {
	w := newTrace(t, halving{}, window.Settings{Initial: 8})
	k := w.send(8)
	require.Equal(t, window.Steady, w.answer(k[0], window.Neutral))
	w.wantCwnd(8)
	require.Equal(t, 7, w.Flying())
	w.answer(k[1], window.Overload)
	w.answer(k[2], window.Neutral)
	require.Equal(t, 1, w.Streak(), "not a success: the streak goes on")
	w.answer(k[3], window.Success)
	require.Zero(t, w.Streak())
}

func TestRoundTripTimes(t *testing.T) {
	w := newTrace(t, halving{timed: true}, window.Settings{})
	require.True(t, w.Timed())
	k := w.send(2)
	w.now += 250 * time.Millisecond
	w.answer(k[0], window.Success)
	require.Equal(t, 250*time.Millisecond, w.RTT())
	w.now -= time.Second
	w.answer(k[1], window.Success)
	require.Zero(t, w.RTT(), "time that runs backwards")

	w = newTrace(t, halving{}, window.Settings{})
	require.False(t, w.Timed())
	k = w.send(1)
	w.now += time.Second
	w.answer(k[0], window.Success)
	require.Zero(t, w.RTT())
	require.True(t, newTrace(t, halving{}, window.Settings{Timed: true}).Timed())
}

// A law that is Timed is asked about every answer, and every attempt of it is timed.
func TestATimedLawHasTheRoundTripOfEveryAttempt(t *testing.T) {
	var rtts []time.Duration
	w := newTrace(t, timedLaw(func(s window.State, a window.Answer) window.State {
		rtts = append(rtts, a.RTT)
		return s
	}), window.Settings{Initial: 40})
	for _, o := range []window.Outcome{window.Success, window.Neutral, window.ClientError, window.Overload, window.Timeout} {
		k := w.send(1)[0]
		w.now += time.Second
		w.answer(k, o)
		require.Equal(t, time.Second, w.RTT())
	}
	burst := w.send(4)
	for _, k := range burst {
		w.now += time.Second
		w.answer(k, window.Success)
	}
	s := time.Second
	require.Equal(t, []time.Duration{s, s, s, s, s, s, 2 * s, 3 * s, 4 * s}, rtts)
}

// A law from outside may be wrong; the window's promises hold all the same.
func TestNonsenseFromALawChangesNothing(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		w := newTrace(t, lawFunc(func(window.State, window.Answer) window.State {
			return window.State{Cwnd: bad, Ssthresh: bad}
		}), window.Settings{})
		before := w.State()
		w.answer(w.send(1)[0], window.Overload)
		require.Equal(t, before, w.State())
	}
	for _, c := range []struct{ law, want window.State }{
		{window.State{Cwnd: -5, Ssthresh: -5}, window.State{Cwnd: 2, Ssthresh: 1}},
		{window.State{Cwnd: 1e30, Ssthresh: 1e30, Spaced: true, Trip: time.Hour}, window.State{Cwnd: 50, Ssthresh: window.MaxWindow}},
	} {
		w := newTrace(t, lawFunc(func(window.State, window.Answer) window.State { return c.law }), window.Settings{Min: 2, Max: 50})
		w.answer(w.send(1)[0], window.Overload)
		require.Equal(t, c.want, w.State())
	}
}

func TestRestartAndRestore(t *testing.T) {
	w := newTrace(t, halving{}, window.Settings{Min: 2, Max: 100, Ssthresh: 64})
	w.Restarted()
	require.Equal(t, window.State{Cwnd: 2, Ssthresh: 64}, w.State())
	require.NoError(t, w.Restored(window.State{Cwnd: 33.5, Ssthresh: 30}))
	require.Equal(t, window.State{Cwnd: 33.5, Ssthresh: 30}, w.State())
	require.NoError(t, w.Restored(window.State{Cwnd: 400, Ssthresh: 30}))
	w.wantCwnd(100)
	for _, c := range []struct {
		state window.State
		want  string
	}{
		{window.State{Cwnd: math.NaN(), Ssthresh: 1}, "Cwnd: NaN is not allowed, want a number above 0, at most 1048576"},
		{window.State{Ssthresh: 1}, "Cwnd: 0 is not allowed, want a number above 0, at most 1048576"},
		{window.State{Cwnd: 1, Ssthresh: math.Inf(1)}, "Ssthresh: +Inf is not allowed, want a number from 1 to 1048576"},
		{window.State{Cwnd: 1, Ssthresh: 1, Trip: -time.Second}, "Trip: -1s is not allowed, want a duration from 0s"},
	} {
		require.EqualError(t, w.Restored(c.state), c.want)
		w.wantCwnd(100)
	}
}

// "Trip is the mean round trip of the accepted answers, the latest of which count most; until one is accepted,
// that of the first answer."
func TestTripIsTheMeanRoundTrip(t *testing.T) {
	cwnd := 20.0
	w := newTrace(t, timedLaw(func(s window.State, _ window.Answer) window.State { s.Cwnd, s.Trip = cwnd, 1; return s }), window.Settings{})
	answer := func(flying int, rtt time.Duration, o window.Outcome, want time.Duration) {
		t.Helper()
		k := w.send(flying)
		w.now += rtt
		w.answer(k[0], o)
		require.Equal(t, want, w.State().Trip)
		for _, other := range k[1:] {
			w.Withdrawn(other)
		}
	}
	ms := time.Millisecond
	answer(1, 0, window.Neutral, time.Microsecond)
	answer(1, 10*ms, window.Overload, time.Microsecond)
	answer(1, 100*ms, window.Success, 100*ms)
	answer(1, 10*ms, window.Overload, 100*ms)
	answer(1, 200*ms, window.ClientError, 150*ms) // half
	answer(10, 250*ms, window.Success, 160*ms)    // a tenth: so many fly
	cwnd = 4
	answer(1, 0, window.Neutral, 160*ms)
	answer(10, 200*ms, window.Success, 170*ms) // a quarter: the window
	require.NoError(t, w.Restored(window.State{Cwnd: 4, Ssthresh: 4, Trip: 100 * ms}))
	answer(1, 200*ms, window.Success, 150*ms)
}

// A rate restarts as it is, and a spaced window admits no more than its bound.
func TestTheBoundsOfASpacedWindow(t *testing.T) {
	w := newTrace(t, timedLaw(func(s window.State, _ window.Answer) window.State { return s }), window.Settings{Max: 3.6})
	require.NoError(t, w.Restored(window.State{Cwnd: 0.25, Ssthresh: 1, Spaced: true, Trip: time.Second}))
	w.Restarted()
	w.wantCwnd(0.25)
	require.NoError(t, w.Restored(window.State{Cwnd: 5, Ssthresh: 1, Spaced: true, Trip: time.Second}))
	w.wantCwnd(3.6)
	w.send(3)
	require.False(t, w.Open())
}

func TestSettings(t *testing.T) {
	s, err := window.Settings{}.WithDefaults()
	require.NoError(t, err)
	require.Equal(t, window.Settings{Initial: 20, Ssthresh: 1024, Min: 1, Max: window.MaxWindow}, s)
	s, err = window.Settings{Max: 8}.WithDefaults()
	require.NoError(t, err)
	require.EqualValues(t, 8, s.Initial, "the default keeps within the bounds")

	inf := math.Inf(1)
	for want, s := range map[string]window.Settings{
		"Initial: 0.5 is not allowed, want a number from 1 to 1048576":  {Initial: 0.5},
		"Initial: +Inf is not allowed, want a number from 1 to 1048576": {Initial: inf},
		"Initial: 30 is not allowed, want a number from 2 to 10":        {Initial: 30, Min: 2, Max: 10},
		"Min: -2 is not allowed, want a number from 1 to 1048576":       {Min: -2},
		"Max: 3 is not allowed, want a number from 5 to 1048576":        {Min: 5, Max: 3},
	} {
		_, err := window.New(func(window.Settings) window.Law { return halving{} }, s)
		assert.EqualError(t, err, want)
	}
}

// A final client error is work that the service did: it widens the window and ends the streak of cuts, as
// a success does.
func TestAClientErrorIsWorkDone(t *testing.T) {
	law := lawFunc(func(s window.State, a window.Answer) window.State {
		if a.Outcome.Accepted() {
			s.Cwnd++
		} else if a.Outcome.Overloaded() && !a.Ignored {
			s.Cwnd = 1
		}
		return s
	})
	for _, o := range []window.Outcome{window.Success, window.ClientError} {
		w := newTrace(t, law, window.Settings{Initial: 1})
		w.answer(w.send(1)[0], window.Overload)
		w.answer(w.send(1)[0], window.Overload)
		require.Equal(t, 2, w.Streak())
		require.Equal(t, window.Grew, w.answer(w.send(1)[0], o))
		require.Equal(t, 2.0, w.State().Cwnd)
		require.Zero(t, w.Streak(), o)
	}
}

func TestOutcomes(t *testing.T) {
	for o, want := range map[window.Outcome]struct {
		name              string
		valid, overloaded bool
	}{
		0:                      {"none", false, false},
		window.Success:         {"success", true, false},
		window.Overload:        {"overload", true, true},
		window.Timeout:         {"timeout", true, true},
		window.Neutral:         {"neutral", true, false},
		window.ClientError:     {"client error", true, false},
		window.ClientError + 1: {"none", false, false},
	} {
		assert.Equal(t, want.name, o.String())
		assert.Equal(t, want.valid, o.Valid())
		assert.Equal(t, want.overloaded, o.Overloaded())
	}
}

// "max (cwnd, min(size(flying) + 1, cwnd + 1)) if size(flying) < sshthres or max (cwnd, min(size(flying)
// + 1, cwnd + 1.0/cwnd)) otherwise"
func TestGrown(t *testing.T) {
	for _, c := range []struct {
		cwnd   float64
		flying int
		want   float64
	}{
		{20, 20, 21},         // slow start
		{20.5, 20, 21},       // no more than flying + 1
		{20, 19, 20},         // the window is not what limits
		{20, 3, 20},          // nor here, and it does not shrink
		{40, 40, 40 + 1./40}, // congestion avoidance
		{40, 30, 40},
		{29.5, 29, 30},
		{30, 30, 30 + 1./30}, // at ssthresh itself
	} {
		s := window.State{Cwnd: c.cwnd, Ssthresh: 30}
		require.Equal(t, c.want, s.Grown(c.flying).Cwnd, "%v", c)
		require.Equal(t, 30.0, s.Grown(c.flying).Ssthresh)
	}
}

func TestChanges(t *testing.T) {
	w := newTrace(t, lawFunc(func(s window.State, a window.Answer) window.State {
		switch {
		case a.Outcome == window.Success:
			s.Cwnd++
		case a.Outcome == window.Neutral:
			s.Cwnd--
		}
		return s
	}), window.Settings{Initial: 4})
	k := w.send(6)
	for i, want := range []struct {
		outcome window.Outcome
		change  window.Change
	}{
		{window.Success, window.Grew},
		{window.Neutral, window.Shrank},
		{window.Overload, window.Cut},
		{window.Timeout, window.Ignored},
	} {
		require.Equal(t, want.change, w.answer(k[i], want.outcome))
	}
	require.Equal(t, window.Late, w.Answered(w.now, k[0], window.Success))
}

// A law that is not Timed is not asked about an answer that was accepted while the window is not the
// limit, that is while Flying + 1 <= Cwnd.
func TestALawIsNotAskedWhileTheWindowIsNotTheLimit(t *testing.T) {
	asked := 0
	count := func(s window.State, _ window.Answer) window.State { asked++; return s }
	for _, c := range []struct {
		law  window.Law
		want [3]int
	}{{lawFunc(count), [3]int{1, 1, 2}}, {timedLaw(count), [3]int{1, 2, 3}}} {
		asked = 0
		w := newTrace(t, c.law, window.Settings{Initial: 3})
		k := w.send(3)
		w.answer(k[0], window.Success)
		require.Equal(t, c.want[0], asked, "3 of 3 in flight")
		w.answer(k[1], window.ClientError)
		require.Equal(t, c.want[1], asked, "2 of 3: growth would be undone")
		w.answer(k[2], window.Overload)
		require.Equal(t, c.want[2], asked, "a refusal always counts")
	}
}

// Cwnd moves to the nearest new bound. What is refused changes nothing.
func TestReconfigured(t *testing.T) {
	law := func(window.Settings) window.Law { return halving{} }
	w := newTrace(t, halving{}, window.Settings{Initial: 8})
	for _, c := range []struct {
		s    window.Settings
		cwnd float64
	}{
		{window.Settings{Min: 12}, 12}, {window.Settings{Min: 2, Max: 5}, 5}, {window.Settings{}, 5},
	} {
		require.NoError(t, w.Reconfigured(law, c.s))
		w.wantCwnd(c.cwnd)
		w.answer(w.Sent(w.now), window.Neutral)
	}
	for want, s := range map[string]window.Settings{
		"Max: 4 is not allowed, want a number from 5 to 1048576":   {Min: 5, Max: 4},
		"Max: NaN is not allowed, want a number from 1 to 1048576": {Max: math.NaN()},
	} {
		require.EqualError(t, w.Reconfigured(law, s), want)
	}
	err := w.Reconfigured(func(window.Settings) window.Law { return halving{timed: true} }, window.Settings{Max: 3})
	require.EqualError(t, err, "law: one that needs round-trip times is not allowed, want one that needs none: the window does not measure them")
	w.wantCwnd(5)
	w.Restarted()
	w.wantCwnd(1)
}

func TestReconfiguredContinuesTiming(t *testing.T) {
	w := newTrace(t, halving{timed: true}, window.Settings{Initial: 8})
	k := w.send(1)[0]
	w.now += time.Second
	require.NoError(t, w.Reconfigured(func(window.Settings) window.Law { return halving{timed: true} }, window.Settings{Max: 4}))
	w.answer(k, window.Success)
	require.Equal(t, time.Second, w.RTT())
}
