package window_test

import (
	"math"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/window"
)

// halving is a law for these tests: one more at each answer that was accepted, half at each overload that is not
// ignored.
type halving struct{}

func (halving) Timed() bool { return false }

func (halving) Answered(_ time.Duration, s window.State, a window.End) window.State {
	switch {
	case a.Outcome.Accepted():
		s.Cwnd++
	case a.Outcome.Overloaded() && !a.Ignored:
		s.Cwnd /= 2
	}
	return s
}

// lawFunc is a law that answers what the function says.
type lawFunc func(s window.State, a window.End) window.State

func (lawFunc) Timed() bool { return false }

func (f lawFunc) Answered(_ time.Duration, s window.State, a window.End) window.State {
	return f(s, a)
}

// timed is the law, but told the time.
type timed struct{ window.Law }

func (timed) Timed() bool { return true }

func as(law window.Law) window.NewLaw { return func(window.Settings) window.Law { return law } }

// trace drives a window step by step.
type trace struct {
	*testing.T
	window.Window
	now time.Duration
}

func newTrace(t *testing.T, law window.Law, s window.Settings) *trace {
	t.Helper()
	w, err := window.New(as(law), s)
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

func (t *trace) answer(k window.Ticket, o window.Outcome) window.End {
	t.Helper()
	a, ok := t.Answered(t.now, k, o, 0)
	require.True(t, ok)
	require.Equal(t, o, a.Outcome)
	return a
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
	require.False(t, w.answer(k[3], window.Overload).Ignored)
	w.wantCwnd(8)
	for i, ticket := range k {
		if i != 3 {
			require.True(t, w.answer(ticket, window.Overload).Ignored)
		}
	}
	w.wantCwnd(8)
	require.Equal(t, 1, w.Streak())
	// What is sent after the reaction is a burst of its own.
	require.False(t, w.answer(w.send(1)[0], window.Timeout).Ignored)
	w.wantCwnd(4)
	require.Equal(t, 2, w.Streak())
}

// docs/design.md, rule 4: "and always if no attempt is in flight". "cwnd is never below 1".
func TestAdmission(t *testing.T) {
	w := newTrace(t, halving{}, window.Settings{Initial: 2.9})
	require.True(t, w.Open())
	w.send(1)
	require.True(t, w.Open(), "1 + 1 <= 2.9")
	w.Bound = 1
	require.False(t, w.Open(), "no more than the bound")
	w.Bound = 0
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
	late := func(tickets ...window.Ticket) {
		t.Helper()
		before := w.Window
		for _, o := range []window.Outcome{window.Success, window.Overload, window.Timeout, window.Neutral} {
			for _, ticket := range tickets {
				a, ok := w.Answered(w.now, ticket, o, 0)
				require.False(t, ok)
				require.Zero(t, a)
				require.False(t, w.Withdrawn(ticket))
			}
		}
		require.Equal(t, before, w.Window)
	}
	late(k[0], k[1], window.Ticket{})
	w.send(2) // others take their places
	late(k[0], k[1])
	require.Equal(t, 4, w.Flying())
}

// docs/design.md, rule 9: "A final client error is an answer." "It widens the window and ends a run of cuts, as a
// success does". "A timeout is overload."
func TestWhatEndsAStreakOfCuts(t *testing.T) {
	for o, c := range map[window.Outcome]struct {
		cwnd   float64
		streak int
	}{
		window.Success: {2, 0}, window.ClientError: {2, 0}, window.Neutral: {1, 2}, window.Timeout: {1, 3},
	} {
		w := newTrace(t, halving{}, window.Settings{Initial: 1})
		w.answer(w.send(1)[0], window.Overload)
		w.answer(w.send(1)[0], window.Overload)
		require.Equal(t, 2, w.Streak())
		w.answer(w.send(1)[0], o)
		w.wantCwnd(c.cwnd)
		require.Equal(t, c.streak, w.Streak(), o)
	}
}

// The text's size(flying) counts the answered attempt: counted after the removal, the window never leaves its initial
// value. A law that is Timed is asked about every answer; another one is not asked about an answer that was accepted
// while the window is not the limit, that is while Flying + 1 <= Cwnd.
func TestWhatALawIsTold(t *testing.T) {
	for _, c := range []struct {
		timed bool
		want  []int
	}{{true, []int{4, 3, 2, 1}}, {false, []int{4, 2, 1}}} {
		var flying []int
		f := lawFunc(func(s window.State, a window.End) window.State { flying = append(flying, a.Flying); return s })
		law := window.Law(f)
		if c.timed {
			law = timed{f}
		}
		w := newTrace(t, law, window.Settings{Initial: 4})
		require.Equal(t, c.timed, w.Timed())
		k := w.send(4)
		w.answer(k[0], window.Success)
		w.answer(k[1], window.ClientError) // 3 of 4 fly
		w.answer(k[2], window.Neutral)
		w.answer(k[3], window.Overload)
		require.Equal(t, c.want, flying)
	}
}

func TestRoundTripTimes(t *testing.T) {
	var told []time.Duration
	w := newTrace(t, timed{lawFunc(func(s window.State, a window.End) window.State { told = append(told, a.RTT); return s })}, window.Settings{})
	k := w.send(6)
	for i := range 4 {
		w.now += time.Second
		require.Equal(t, time.Duration(i+1)*time.Second, w.answer(k[i], window.Outcome(i+1)).RTT)
	}
	require.NoError(t, w.Reconfigured(as(timed{halving{}}), window.Settings{Max: 4}))
	require.Equal(t, 4*time.Second, w.answer(k[4], window.Success).RTT, "the time goes on")
	w.now = -time.Second
	require.Zero(t, w.answer(k[5], window.Success).RTT, "time that runs backwards")
	require.Equal(t, []time.Duration{1e9, 2e9, 3e9, 4e9}, told)
	require.Equal(t, []time.Duration{-time.Second, 0}, []time.Duration{w.SentAt(w.send(1)[0]), w.SentAt(k[5])}, "one is in flight")
}

// "the attempt was sent less than Trip/Cwnd/2 after the attempt before", which is 10 ms here
func TestEarlyAttempts(t *testing.T) {
	as := func(wait time.Duration, law window.Law) bool {
		w := newTrace(t, law, window.Settings{Initial: 10})
		require.NoError(t, w.Restored(window.State{Cwnd: 10, Ssthresh: 10, Trip: 200 * time.Millisecond}))
		w.now = time.Second
		first := w.send(1)[0]
		w.now += wait
		second := w.send(1)[0]
		require.False(t, w.answer(first, window.Success).Early)
		return w.answer(second, window.Success).Early
	}
	same := lawFunc(func(s window.State, _ window.End) window.State { return s })
	require.True(t, as(9*time.Millisecond, timed{same}))
	require.False(t, as(11*time.Millisecond, timed{same}))
	require.False(t, as(0, same), "the law is not timed")
}

// A window that is spaced: "whole attempts are admitted", the gap is "Trip/Cwnd, 15 s at most", and one "below a
// millisecond is left out".
func TestASpacedWindow(t *testing.T) {
	ms := time.Millisecond
	for cwnd, want := range map[float64]struct {
		gap    time.Duration
		flying int
	}{
		1e-9: {15 * time.Second, 1}, 0.25: {400 * ms, 1}, 1: {100 * ms, 1}, 1.6: {62500 * time.Microsecond, 2},
		3.4: {29411765, 4}, 3.6: {27777778, 4}, 4.6: {21739130, 4}, 99: {1010101, 99}, 100: {0, 100}, 1000: {0, 150},
	} {
		law := lawFunc(func(s window.State, _ window.End) window.State { s.Cwnd, s.Pace = cwnd, window.Spaced; return s })
		w := newTrace(t, timed{law}, window.Settings{Max: 150})
		k := w.send(1)[0]
		w.now += 100 * ms
		w.answer(k, window.Success)
		require.Equal(t, want.gap, w.Gap(), "%v", cwnd)
		for w.Open() {
			w.send(1)
		}
		require.Equal(t, want.flying, w.Flying(), "%v", cwnd)
	}
}

// docs/design.md, rule 4: "After one refusal it is rounded down, until the next answer that is accepted or a second cut in a row"
func TestARefusalClosesThePartOfAnAttempt(t *testing.T) {
	law := lawFunc(func(s window.State, _ window.End) window.State { s.Cwnd, s.Pace = 2.5, window.Spaced; return s })
	w := newTrace(t, timed{law}, window.Settings{})
	open := func(want int) {
		t.Helper()
		var sent []window.Ticket
		for w.Open() {
			sent = append(sent, w.send(1)...)
		}
		require.Equal(t, want, w.Flying())
		for _, k := range sent {
			w.Withdrawn(k)
		}
	}
	answer := func(o window.Outcome) {
		k := w.send(1)[0]
		w.now += 100 * time.Millisecond
		w.answer(k, o)
	}
	answer(window.Success)
	open(3)
	answer(window.Overload)
	open(2)
	answer(window.Success)
	open(3)
	answer(window.Overload)
	answer(window.Overload)
	open(3)
}

// A law from outside may be wrong: "If a law returns NaN or an infinity, Cwnd stays."
func TestNonsenseFromALawChangesNothing(t *testing.T) {
	start := window.State{Cwnd: 20, Ssthresh: 1024}
	for _, c := range []struct{ law, want window.State }{
		{window.State{Cwnd: math.NaN(), Ssthresh: math.NaN()}, start},
		{window.State{Cwnd: math.Inf(1), Ssthresh: math.Inf(1)}, start},
		{window.State{Cwnd: math.Inf(-1), Ssthresh: math.Inf(-1)}, start},
		{window.State{Cwnd: -5, Ssthresh: -5}, window.State{Cwnd: 2, Ssthresh: 1}},
		{window.State{Cwnd: 1e30, Ssthresh: 1e30, Pace: window.Spaced, Trip: time.Hour}, window.State{Cwnd: 50, Ssthresh: window.MaxWindow}},
	} {
		w := newTrace(t, lawFunc(func(window.State, window.End) window.State { return c.law }), window.Settings{Min: 2, Max: 50})
		require.Equal(t, start, w.State())
		w.answer(w.send(1)[0], window.Overload)
		require.Equal(t, c.want, w.State())
	}
}

func TestRestore(t *testing.T) {
	w := newTrace(t, halving{}, window.Settings{Min: 2, Max: 100})
	require.NoError(t, w.Restored(window.State{Cwnd: 33.5, Ssthresh: 30, Pace: window.Spaced, Trip: time.Second}))
	require.Equal(t, window.State{Cwnd: 33.5, Ssthresh: 30}, w.State(), "a law that is not Timed spaces nothing")
	require.NoError(t, w.Restored(window.State{Cwnd: 400, Ssthresh: 30}))
	w.wantCwnd(100)
	for want, s := range map[string]window.State{
		"Cwnd: NaN is not allowed, want a number above 0, at most 1048576":           {Cwnd: math.NaN(), Ssthresh: 1},
		"Cwnd: 0 is not allowed, want a number above 0, at most 1048576":             {Ssthresh: 1},
		"Ssthresh: +Inf is not allowed, want a number from 1 to 1048576":             {Cwnd: 1, Ssthresh: math.Inf(1)},
		"Trip: -1s is not allowed, want a duration from 0s to 24h0m0s":               {Cwnd: 1, Ssthresh: 1, Trip: -time.Second},
		"Trip: 24h0m0.000000001s is not allowed, want a duration from 0s to 24h0m0s": {Cwnd: 1, Ssthresh: 1, Trip: 24*time.Hour + 1},
		"Pace: 3 is not allowed, want 0, 1 or 2":                                     {Cwnd: 1, Ssthresh: 1, Pace: window.CatchUp + 1},
	} {
		require.EqualError(t, w.Restored(s), want)
		w.wantCwnd(100)
	}

	// A spaced window admits no more than its bound.
	w = newTrace(t, timed{lawFunc(func(s window.State, _ window.End) window.State { return s })}, window.Settings{Max: 3.6})
	require.EqualValues(t, window.MaxWindow, w.State().Ssthresh, "a law that measures finds its own")
	require.NoError(t, w.Restored(window.State{Cwnd: 0.25, Ssthresh: 1, Pace: window.Spaced, Trip: time.Second}))
	w.wantCwnd(0.25)
	require.NoError(t, w.Restored(window.State{Cwnd: 5, Ssthresh: 1, Pace: window.Spaced, Trip: time.Second}))
	w.wantCwnd(3.6)
	w.send(3)
	require.False(t, w.Open())
}

// "Trip is the mean round trip of the accepted answers; the latest answers count most. Before the first accepted
// answer it is the round trip of the first answer."
func TestTripIsTheMeanRoundTrip(t *testing.T) {
	cwnd := 20.0
	w := newTrace(t, timed{lawFunc(func(s window.State, _ window.End) window.State { s.Cwnd, s.Trip = cwnd, 1; return s })}, window.Settings{})
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
	cwnd = 400
	answer(1, 0, window.Neutral, 170*ms)
	answer(300, 200*ms, window.Success, 170100*time.Microsecond)
	answer(500, 210100*time.Microsecond, window.Success, 170200*time.Microsecond) // the window
	require.NoError(t, w.Restored(window.State{Cwnd: 4, Ssthresh: 4, Trip: 100 * ms}))
	answer(1, 200*ms, window.Success, 150*ms)
}

func TestSettings(t *testing.T) {
	s, err := window.Settings{}.WithDefaults()
	require.NoError(t, err)
	require.Equal(t, window.Settings{Initial: 20, Min: 1, Max: window.MaxWindow, Peers: 1}, s)
	for peers, want := range map[int]float64{5: 4, 20: 1, 1000: 1} {
		s, err = window.Settings{Peers: peers}.WithDefaults()
		require.NoError(t, err)
		require.Equal(t, want, s.Initial, "each of the peers has its part")
	}
	s, err = window.Settings{Max: 8}.WithDefaults()
	require.NoError(t, err)
	require.EqualValues(t, 8, s.Initial, "the default keeps within the bounds")
	for want, s := range map[string]window.Settings{
		"Initial: 0.5 is not allowed, want a number from 1 to 1048576":   {Initial: 0.5},
		"Initial: +Inf is not allowed, want a number from 1 to 1048576":  {Initial: math.Inf(1)},
		"Initial: 30 is not allowed, want a number from 2 to 10":         {Initial: 30, Min: 2, Max: 10},
		"Min: -2 is not allowed, want a number from 1 to 1048576":        {Min: -2},
		"Max: 3 is not allowed, want a number from 5 to 1048576":         {Min: 5, Max: 3},
		"Peers: -1 is not allowed, want a number from 1 to 1000000":      {Peers: -1},
		"Peers: 1000001 is not allowed, want a number from 1 to 1000000": {Peers: 1_000_001},
	} {
		_, err := window.New(as(halving{}), s)
		assert.EqualError(t, err, want)
	}
}

func TestOutcomes(t *testing.T) {
	for o, want := range map[window.Outcome]struct {
		name                        string
		valid, accepted, overloaded bool
	}{
		0:                  {"none", false, false, false},
		window.Success:     {"success", true, true, false},
		window.Overload:    {"overload", true, false, true},
		window.Timeout:     {"timeout", true, false, true},
		window.Neutral:     {"neutral", true, false, false},
		window.ClientError: {"client error", true, true, false},
		window.Unclear:     {"unclear", true, false, false},
		window.Unclear + 1: {"none", false, false, false},
	} {
		assert.Equal(t, want.name, o.String())
		assert.Equal(t, want.valid, o.Valid())
		assert.Equal(t, want.accepted, o.Accepted())
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

// Cwnd moves to the nearest new bound. What is refused changes nothing.
func TestReconfigured(t *testing.T) {
	w := newTrace(t, halving{}, window.Settings{Initial: 8})
	for _, c := range []struct {
		s    window.Settings
		cwnd float64
	}{
		{window.Settings{Min: 12}, 12}, {window.Settings{Min: 2, Max: 5}, 5}, {window.Settings{}, 5},
	} {
		require.NoError(t, w.Reconfigured(as(halving{}), c.s))
		w.wantCwnd(c.cwnd)
		w.answer(w.Sent(w.now), window.Neutral)
	}
	for want, s := range map[string]window.Settings{
		"Max: 4 is not allowed, want a number from 5 to 1048576":   {Min: 5, Max: 4},
		"Max: NaN is not allowed, want a number from 1 to 1048576": {Max: math.NaN()},
	} {
		require.EqualError(t, w.Reconfigured(as(halving{}), s), want)
	}
	err := w.Reconfigured(as(timed{halving{}}), window.Settings{Max: 3})
	require.EqualError(t, err, "law: one that needs round-trip times is not allowed, want one that needs none: the window does not measure them")
	w.wantCwnd(5)
}

func TestUrgentAttemptsAreCounted(t *testing.T) {
	w := newTrace(t, halving{}, window.Settings{Initial: 10})
	k := w.send(3)
	w.SetUrgent(k[0])
	w.SetUrgent(k[2])
	require.Equal(t, 2, w.FlyingUrgent())
	require.True(t, w.IsUrgent(k[0]))
	require.False(t, w.IsUrgent(k[1]))
	w.answer(k[0], window.Overload)
	require.True(t, w.Withdrawn(k[2]))
	require.Zero(t, w.FlyingUrgent())
	w.SetUrgent(k[0])
	require.Zero(t, w.FlyingUrgent(), "it is not in flight")
	next := w.send(2)
	require.False(t, w.IsUrgent(next[0]), "it has the place of an urgent one")
}

// docs/design.md, rule 42: "What is held ... does not count for what a cut leaves".
func TestWhatIsHeldIsNotInFlightForARefusal(t *testing.T) {
	w := newTrace(t, halving{}, window.Settings{Initial: 10})
	k := w.send(4)
	w.SetHeld(k[1])
	require.Equal(t, []bool{true, false}, []bool{w.IsHeld(k[1]), w.IsHeld(k[2])})
	require.Equal(t, 4, w.answer(k[0], window.Success).Flying)
	w.SetHeld(k[0])
	require.Equal(t, 2, w.answer(k[2], window.Overload).Flying, "of three in flight one is held, and k[0] has ended")
	w.Opened(k[1])
	w.Leave(window.Ticket{})
	require.Equal(t, 1, w.answer(k[3], window.Overload).Flying, "the open one has left")
}

// An open answer that leaves the window is out of all its counts, until it ends.
func TestAnOpenAnswerLeaves(t *testing.T) {
	stays := lawFunc(func(s window.State, _ window.End) window.State { return s })
	w, err := window.New(func(window.Settings) window.Law { return stays }, window.Settings{Initial: 2})
	require.NoError(t, err)
	first, second := w.Sent(0), w.Sent(0)
	w.SetUrgent(first)
	w.Opened(second)
	require.False(t, w.Starved(), "one is no open answer")
	w.Opened(first)
	w.Opened(first)
	require.True(t, w.Starved())
	trial := w.Sent(0)
	require.False(t, w.Starved())
	w.Answered(0, trial, window.Overload, 0) // the others were in flight then
	require.Equal(t, 1, w.Streak())

	w.Leave(first)
	require.False(t, w.Left(first))
	require.True(t, w.Left(second), "the oldest but that one")
	require.Equal(t, 1, w.FlyingUrgent())
	w.Leave(window.Ticket{})
	require.True(t, w.Left(first))
	require.Zero(t, w.FlyingUrgent())
	require.Zero(t, w.Flying())
	require.Equal(t, 2, w.Outside())
	require.False(t, w.Starved())
	w.Leave(window.Ticket{}) // there is none
	require.True(t, w.Has(first))

	// Nothing of that burst is in flight any more, so the next overload counts.
	w.Answered(0, w.Sent(0), window.Overload, 0)
	require.Equal(t, 2, w.Streak())
	require.True(t, w.Withdrawn(first))
	require.True(t, w.Withdrawn(second))
	require.Zero(t, w.Outside())
	require.Zero(t, w.Flying())
	require.Zero(t, w.FlyingUrgent())
}

// Go keeps a struct in registers if it has at most four fields and four words, and so has each struct in it. One field
// more, and an acquire and release take half as long again.
func TestALawIsAskedInRegisters(t *testing.T) {
	fits := func(t *testing.T, s reflect.Type) {
		require.LessOrEqual(t, s.NumField(), 4)
		require.LessOrEqual(t, s.Size(), 4*unsafe.Sizeof(uint64(0))) // with 32 bits there are no such registers
	}
	for _, s := range []reflect.Type{reflect.TypeFor[window.End](), reflect.TypeFor[window.Marks](), reflect.TypeFor[window.State]()} {
		t.Run(s.Name(), func(t *testing.T) { fits(t, s) })
	}
}
