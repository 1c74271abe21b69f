package limiter_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// machineTrace drives a Machine step by step, as every driver does: event, drain.
type machineTrace struct {
	*testing.T
	limiter.Machine[int]
	now    time.Duration
	items  map[int]*queue.Item[int]
	flying map[int]window.Ticket
	sent   []int
}

func newMachineTrace(t *testing.T, law window.NewLaw, s limiter.Settings) *machineTrace {
	t.Helper()
	made, err := limiter.New[int](law, s)
	require.NoError(t, err)
	return &machineTrace{T: t, Machine: made, items: map[int]*queue.Item[int]{}, flying: map[int]window.Ticket{}}
}

// arrive queues operations from..to.
func (t *machineTrace) arrive(from, to int) {
	for op := from; op <= to; op++ {
		t.items[op] = &queue.Item[int]{Value: op}
		t.Queue.Push(t.items[op])
		t.drain()
	}
}

// answer ends an operation's attempt; an overload rejoins the queue at once.
func (t *machineTrace) answer(op int, o window.Outcome, retryAfter time.Duration) {
	t.Helper()
	c := t.Answered(t.now, t.flying[op], o, retryAfter)
	require.NotEqual(t, window.Late, c, "operation %d is in flight", op)
	delete(t.flying, op)
	if o.Overloaded() {
		t.Queue.PutBack(t.items[op])
	}
	t.drain()
}

func (t *machineTrace) drain() {
	for i, k := t.Next(t.now); i != nil; i, k = t.Next(t.now) {
		t.flying[i.Value] = k
		t.sent = append(t.sent, i.Value)
	}
}

// refuseAll answers everything in flight with an overload, without draining in between, and returns how
// many cuts that were, and how long the pause is.
func (t *machineTrace) refuseAll(retryAfter time.Duration) (cuts int, pause time.Duration) {
	for op, k := range t.flying {
		if t.Answered(t.now, k, window.Overload, retryAfter) == window.Cut {
			cuts++
		}
		t.Queue.PutBack(t.items[op])
		delete(t.flying, op)
	}
	t.drain()
	return cuts, max(0, t.PausedUntil()-t.now)
}

// paused reports whether there is a pause for everybody.
func (t *machineTrace) paused() bool { return t.PausedUntil() > t.now }

// advance moves the time and drains.
func (t *machineTrace) advance(d time.Duration) {
	t.now += d
	t.drain()
}

// "add new requests to the queue ... as long as the number of outstanding requests (size of flying) is
// less than the current value of cwnd, extract a request from the queue and send it" (Improve on
// exponential backoff).
func TestMachineSendsInOrderAsTheWindowAdmits(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{Window: window.Settings{Initial: 3}})
	c.arrive(1, 6)
	require.Equal(t, []int{1, 2, 3}, c.sent)
	require.Equal(t, 3, c.Queue.Len())
	c.answer(2, window.Success, 0) // cwnd 4: one for the answered, one for the growth
	require.Equal(t, []int{1, 2, 3, 4, 5}, c.sent)
	require.EqualValues(t, 4, c.State().Cwnd)
}

// docs/design.md, rule 5: "A failed operation rejoins the queue at the front".
func TestMachineFailedOperationRejoinsAtTheFront(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{Window: window.Settings{Initial: 4}})
	c.arrive(1, 9)
	c.answer(1, window.Overload, 0) // cwnd 2
	c.answer(2, window.Overload, 0)
	require.Equal(t, []int{1, 2, 3, 4}, c.sent, "two are in flight, two more may be")
	c.answer(3, window.Success, 0)
	c.answer(4, window.Success, 0)
	require.Equal(t, []int{1, 2, 3, 4, 1, 2}, c.sent, "before 5 to 9, the first failed first")
}

// docs/design.md, rule 5: "After several failures of its own it backs off on its own".
func TestMachinePoisonOperationBacksOffByItself(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{Patience: 3})
	for failures := 1; failures <= 3; failures++ {
		require.Zero(t, c.Backoff(failures, window.Overload))
	}
	for failures, want := range map[int]time.Duration{
		4: 50 * time.Millisecond, 5: 100 * time.Millisecond, 8: 800 * time.Millisecond,
		11: 5 * time.Second, 80: 5 * time.Second, 1 << 30: 5 * time.Second,
	} {
		for range 100 {
			d := c.Backoff(failures, window.Overload)
			require.GreaterOrEqual(t, d, want/2)
			require.LessOrEqual(t, d, want*3/2)
		}
	}
	// What says nothing about load is not paced by the window: from the first.
	require.GreaterOrEqual(t, c.Backoff(1, window.Neutral), 25*time.Millisecond)
}

// docs/design.md, rule 6: "Successes of ignored attempts widen the window".
func TestMachineSuccessOfAnIgnoredAttemptGrows(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{Window: window.Settings{Initial: 10}})
	c.arrive(1, 30)
	c.answer(1, window.Overload, 0)
	require.EqualValues(t, 5, c.State().Cwnd)
	c.answer(2, window.Success, 0)
	require.EqualValues(t, 5.2, c.State().Cwnd, "9 >= ssthresh 5: + 1/cwnd")
}

// docs/design.md, rule 10: "Retry-After delays the refused operation".
func TestMachineRetryAfterDelaysTheRefusedOperation(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{MaxRetryAfter: time.Minute})
	seen := map[time.Duration]bool{}
	for range 100 {
		d := c.Obeyed(10*time.Second, false)
		require.GreaterOrEqual(t, d, 10*time.Second, "never less than asked")
		require.LessOrEqual(t, d, 11*time.Second)
		seen[d] = true
	}
	require.Greater(t, len(seen), 90, "jitter")
	require.LessOrEqual(t, c.Obeyed(1<<62, false), time.Minute+time.Second, "bounded")
	require.Zero(t, c.Obeyed(-time.Second, false))
}

// docs/design.md, rule 10: "it pauses all operations of the limiter": first attempts too, and then the
// window starts small.
func TestMachineRetryAfterHoldsEverybody(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{Window: window.Settings{Initial: 64}})
	c.arrive(1, 500)
	cuts, held := c.refuseAll(time.Second)
	require.Equal(t, 1, cuts)
	require.Zero(t, held, "the first burst delays only who was refused")
	require.NotEmpty(t, c.flying)

	for range limiter.DefaultPatience - 2 {
		cuts, held = c.refuseAll(time.Second)
		require.Equal(t, 1, cuts)
		require.Positive(t, held, "a pause, doubled each time")
		require.Less(t, held, time.Second, "the Retry-After does not speak for everybody yet")
		c.advance(held)
		require.NotEmpty(t, c.flying)
	}

	cuts, held = c.refuseAll(time.Second)
	require.Equal(t, 1, cuts)
	require.GreaterOrEqual(t, held, time.Second)
	require.LessOrEqual(t, held, 1500*time.Millisecond)
	require.Empty(t, c.flying, "the pause is for first attempts too")
	_, ok := c.Tried(c.now)
	require.False(t, ok)
	require.EqualValues(t, 1, c.State().Cwnd, "the window starts small")
	require.EqualValues(t, 2, c.State().Ssthresh, "and ssthresh says how far it may")

	at, ok := c.Machine.Deadline()
	require.True(t, ok)
	require.Equal(t, c.PausedUntil(), at)
	c.advance(at - c.now - 1)
	require.Empty(t, c.flying)
	c.advance(1)
	require.Len(t, c.flying, 1)
	require.False(t, c.paused())
}

// Refusals among successes pause nobody: obeyed by everybody, each Retry-After of a smooth rate cap with
// short answers would make the client many times slower.
func TestMachineRetryAfterAmongSuccessesShutsNoGate(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{Window: window.Settings{Initial: 4}})
	c.arrive(1, 1000)
	for range 200 {
		ops := keys(c.flying)
		c.answer(ops[0], window.Overload, time.Second)
		require.False(t, c.paused())
		if len(ops) > 1 {
			c.answer(ops[1], window.Success, 0)
		} else {
			c.answer(keys(c.flying)[0], window.Success, 0)
		}
	}
}

// docs/design.md, rule 13: "Cuts in a row pause all operations". "The pause begins with the second such cut".
func TestMachineCutsWithoutSuccessPauseEverybody(t *testing.T) {
	c := newMachineTrace(t, aimd.Tahoe(0.5, 4), limiter.Settings{Window: window.Settings{Initial: 4}})
	c.arrive(1, 100)
	cuts, held := c.refuseAll(0)
	require.Equal(t, 1, cuts, "exactly one cut per burst")
	require.Zero(t, held)
	want := 50 * time.Millisecond
	for range 12 {
		cuts, held := c.refuseAll(0)
		require.Equal(t, 1, cuts)
		require.GreaterOrEqual(t, held, want/2)
		require.LessOrEqual(t, held, want*3/2)
		require.Empty(t, c.flying)
		c.advance(held)
		require.Len(t, c.flying, 4, "a pause leaves the window to the law")
		want = min(2*want, 5*time.Second)
	}
	c.answer(keys(c.flying)[0], window.Success, 0)
	_, held = c.refuseAll(0)
	require.Zero(t, held, "a success ends the streak")
}

// An overshoot of slow start: the service serves half of what was sent, and refuses the rest, and what is
// sent next, at once. These cuts follow one another with no success in between, but successes are on
// their way.
func TestMachineCutsWhileOthersAreServedAreNoStreak(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.9), limiter.Settings{Window: window.Settings{Initial: 40}})
	c.arrive(1, 100)
	served := map[int]bool{}
	for op := 1; op <= 20; op++ {
		served[op] = true
	}
	cuts := 0
	for len(c.flying) > len(served) {
		for _, op := range keys(c.flying) {
			if !served[op] && c.Answered(c.now, c.flying[op], window.Overload, time.Second) == window.Cut {
				cuts++
			}
			if !served[op] {
				delete(c.flying, op)
			}
		}
		c.drain()
	}
	require.Greater(t, cuts, 3)
	require.False(t, c.paused())
	for op := range served {
		c.answer(op, window.Success, 0)
	}
	require.NotEmpty(t, c.flying)
}

func TestMachinePauseCanBeTurnedOff(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{PauseMax: -1})
	c.arrive(1, 100)
	for range 20 {
		_, held := c.refuseAll(0)
		require.Zero(t, held)
		require.NotEmpty(t, c.flying)
	}
	require.Zero(t, c.Backoff(100, window.Overload))
}

// A law that paces: no two sends closer than its gap.
func TestMachineKeepsTheGapOfALaw(t *testing.T) {
	gap := 10 * time.Millisecond
	c := newSpacedTrace(t, &gap, 8)
	require.True(t, c.Timed())
	c.arrive(2, 6)
	require.Equal(t, []int{1, 2}, c.sent, "the gap counts from the last send")
	for op := 3; op <= 6; op++ {
		at, ok := c.Machine.Deadline()
		require.True(t, ok)
		require.Equal(t, c.now+gap, at)
		c.advance(gap - 1)
		require.NotContains(t, c.flying, op)
		c.advance(1)
		require.Contains(t, c.flying, op)
	}
	_, ok := c.Machine.Deadline()
	require.False(t, ok, "nobody waits")
}

// newSpacedTrace has a law that spaces its sends, and had its first answer after a round trip of as many gaps
// as the window has attempts.
func newSpacedTrace(t *testing.T, gap *time.Duration, initial float64) *machineTrace {
	t.Helper()
	c := newMachineTrace(t, spaced(gap), limiter.Settings{Window: window.Settings{Initial: initial}})
	c.arrive(1, 1)
	c.now += time.Duration(initial) * *gap
	c.answer(1, window.Success, 0)
	return c
}

// spaced is a timed law whose gap is what is there at the answer.
func spaced(gap *time.Duration) window.NewLaw {
	return func(window.Settings) window.Law {
		return timedLaw(func(s window.State, _ window.Answer) window.State {
			s.Cwnd, s.Spaced = float64(s.Trip)/float64(*gap), true
			return s
		})
	}
}

// "The gap counts from the last send, with the value of now, not that of the send."
func TestMachineGapHasTodaysValue(t *testing.T) {
	gap := 100 * time.Millisecond
	c := newSpacedTrace(t, &gap, 8)
	c.arrive(2, 4)
	require.Equal(t, []int{1, 2}, c.sent)
	gap = time.Second
	c.answer(2, window.Success, 0)
	at, ok := c.Machine.Deadline()
	require.True(t, ok)
	require.Equal(t, c.now+time.Second, at, "a longer one holds for the next send")
	c.now += time.Second
	c.drain()
	gap = 10 * time.Millisecond
	c.answer(3, window.Success, 0)
	c.advance(gap)
	require.Equal(t, []int{1, 2, 3, 4}, c.sent, "a shorter one too")
}

// "A timer that fires late does not stretch it", and one that fires much too late makes no burst of all
// that it missed.
func TestMachineMakesUpForALateTimer(t *testing.T) {
	gap := 10 * time.Millisecond
	c := newSpacedTrace(t, &gap, 8)
	c.arrive(2, 10)
	c.advance(gap + 6*time.Millisecond)
	require.Equal(t, []int{1, 2, 3}, c.sent)
	c.advance(gap - 6*time.Millisecond)
	require.Equal(t, []int{1, 2, 3, 4}, c.sent, "it counts from when the send was due")
	c.advance(time.Minute)
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7}, c.sent, "20 ms of it are made up for")
}

// The same of a greatest rate, under a law that spaces nothing: "the sends of at most 20 ms are made up for".
func TestMachineMakesUpForALateTimerOfAMaxRate(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{MaxRate: 100})
	require.True(t, c.Timed())
	c.arrive(1, 10)
	require.Equal(t, []int{1}, c.sent)
	c.advance(10 * time.Millisecond)
	require.Equal(t, []int{1, 2}, c.sent)
	c.advance(time.Minute)
	require.Equal(t, []int{1, 2, 3, 4, 5}, c.sent)
}

func TestMachineSendsTheFirstAtOnceAtTheLeastRate(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{MaxRate: 0.0001})
	c.arrive(1, 2)
	require.Equal(t, []int{1}, c.sent)
	at, ok := c.Machine.Deadline()
	require.True(t, ok)
	require.Equal(t, 10_000*time.Second, at)
}

// An attempt that comes at once keeps to a greatest rate.
func TestMachineKeepsToAMaxRateAfterACut(t *testing.T) {
	gap := time.Second
	c := newMachineTrace(t, spaced(&gap), limiter.Settings{MaxRate: 5, Window: window.Settings{Initial: 1}})
	c.arrive(1, 1)
	c.answer(1, window.Overload, 0)
	at, ok := c.Machine.Deadline()
	require.True(t, ok)
	require.Equal(t, 200*time.Millisecond, at-c.now)
}

// Only a timer's lateness is made up for: a window that was full, or a queue that was empty, when the gap
// ended leaves nothing behind.
func TestMachineMakesUpForNothingElse(t *testing.T) {
	gap := 10 * time.Millisecond
	c := newSpacedTrace(t, &gap, 2)
	c.advance(gap)
	c.arrive(2, 6)
	c.advance(gap)
	require.Equal(t, []int{1, 2, 3}, c.sent)
	c.advance(gap + 6*time.Millisecond)
	c.answer(2, window.Success, 0)
	require.Equal(t, []int{1, 2, 3, 4}, c.sent, "the window was full")
	c.answer(3, window.Success, 0)
	c.advance(gap - 1)
	require.Equal(t, []int{1, 2, 3, 4}, c.sent, "the gap counts from when it went")
	c.advance(1)
	require.Equal(t, []int{1, 2, 3, 4, 5}, c.sent)
}

// "While refusals follow one another and one attempt at a time is admitted, the gap is spread at random by
// half, so that clients do not stay in step, and replaces the doubling pauses."
func TestMachineSpreadsTheGapWhileRefusalsGoOn(t *testing.T) {
	gap := 400 * time.Millisecond
	c := newMachineTrace(t, spaced(&gap), limiter.Settings{Window: window.Settings{Initial: 1}, PauseMax: time.Hour})
	c.arrive(1, 1)
	least, most := time.Hour, time.Duration(0)
	for range 200 {
		c.answer(c.sent[0], window.Overload, 0)
		at, ok := c.Machine.Deadline()
		require.True(t, ok)
		require.False(t, c.paused(), "no pause beside the gap")
		least, most = min(least, at-c.now), max(most, at-c.now)
		c.advance(at - c.now)
		require.Len(t, c.flying, 1)
	}
	require.GreaterOrEqual(t, least, gap/2)
	require.Less(t, least, gap*6/10)
	require.LessOrEqual(t, most, gap*3/2)
	require.Greater(t, most, gap*14/10)

	c.answer(1, window.Success, 0)
	c.arrive(2, 2)
	c.advance(gap - 1)
	require.Empty(t, c.flying, "a success ends the spread")
	c.advance(1)
	require.Len(t, c.flying, 1)
}

// "If it is half a second or more then, the attempt after the first cut in a row, and after each 20th from
// there, comes at once"
func TestMachineSendsAtOnceAfterEachTwentiethCut(t *testing.T) {
	for gap, want := range map[time.Duration][]int{499 * time.Millisecond: nil, 500 * time.Millisecond: {1, 21, 41}} {
		c := newMachineTrace(t, spaced(&gap), limiter.Settings{Window: window.Settings{Initial: 1}})
		c.arrive(1, 1)
		var atOnce []int
		for cut := 1; cut <= 60; cut++ {
			c.answer(1, window.Overload, 0)
			if at, ok := c.Machine.Deadline(); ok {
				c.advance(at - c.now)
			} else {
				atOnce = append(atOnce, cut)
			}
			require.Len(t, c.flying, 1)
		}
		require.Equal(t, want, atOnce, "a gap of %v", gap)
	}
}

// A window that is spaced: "whole attempts are admitted", the gap is "Trip/Cwnd, 15 s at most", and one "below a
// millisecond is left out".
func TestMachineSpacesAWindow(t *testing.T) {
	for cwnd, want := range map[float64]struct {
		gap    time.Duration
		flying int
	}{
		1e-9: {15 * time.Second, 1}, 0.25: {400 * time.Millisecond, 1}, 1: {100 * time.Millisecond, 1},
		1.6: {62500 * time.Microsecond, 2}, 3.4: {29411765, 4}, 3.6: {27777778, 4}, 4.6: {21739130, 4},
		99: {1010101, 99}, 100: {0, 100}, 1000: {0, 150},
	} {
		law := func(window.Settings) window.Law {
			return timedLaw(func(s window.State, _ window.Answer) window.State { s.Cwnd, s.Spaced = cwnd, true; return s })
		}
		c := newMachineTrace(t, law, limiter.Settings{Window: window.Settings{Max: 150}})
		c.arrive(1, 1)
		c.now += 100 * time.Millisecond
		c.answer(1, window.Success, 0)
		require.Equal(t, want.gap, c.Gap(), "%v", cwnd)
		c.arrive(2, 200)
		for range 160 {
			c.advance(c.Gap())
		}
		require.Len(t, c.flying, want.flying, "%v", cwnd)
	}
}

// A law that may not go below a larger window gets the pauses: there its gap is not all there is.
func TestMachinePausesALawWithALargerLeastWindow(t *testing.T) {
	gap := 2 * time.Millisecond
	c := newMachineTrace(t, spaced(&gap), limiter.Settings{Window: window.Settings{Initial: 2, Min: 2}})
	c.arrive(1, 4)
	c.now += 2 * gap
	for range 2 {
		c.refuseAll(0)
		c.advance(gap)
		c.advance(gap)
	}
	c.refuseAll(0)
	require.True(t, c.paused())
}

// A time older than the last one counts as the last one.
func TestMachineTimeThatRunsBackwards(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{})
	c.now = 100 * time.Second
	c.arrive(1, 60)
	for range 2 {
		c.refuseAll(0)
	}
	until := c.PausedUntil()
	require.Greater(t, until, c.now)
	c.now = 50 * time.Second
	c.drain()
	require.Equal(t, until, c.PausedUntil())
	require.Empty(t, c.flying)
	c.now = until
	c.drain()
	require.NotEmpty(t, c.flying)
	c.now = 50 * time.Second
	c.arrive(61, 61)
	c.answer(c.sent[len(c.sent)-1], window.Success, 0)
	require.NotEmpty(t, c.flying, "the pause that ended stays ended")
}

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

func keys(m map[int]window.Ticket) []int {
	return slices.Sorted(maps.Keys(m))
}

func TestMachineReconfiguredLetsWhoWaitsGo(t *testing.T) {
	c := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{Window: window.Settings{Initial: 2}, QueueBound: 4})
	c.arrive(1, 6)
	require.NoError(t, c.Reconfigured(c.now, aimd.Reno(0.5), limiter.Settings{Window: window.Settings{Initial: 4, Min: 4}, QueueBound: 1}))
	c.drain()
	require.Equal(t, []int{1, 2, 3, 4}, c.sent)
	require.Equal(t, 2, c.Queue.Len(), "a lower bound sends nobody away who waits")
	c.arrive(7, 7)
	require.Equal(t, 2, c.Queue.Len(), "and lets nobody in")
}

// A law keeps what it learned when nothing that it is made from has changed.
func TestMachineReconfiguredMakesTheLawAnewForTheWindowAlone(t *testing.T) {
	made := 0
	law := func(s window.Settings) window.Law { made++; return aimd.Reno(0.5)(s) }
	c := newMachineTrace(t, law, limiter.Settings{Window: window.Settings{Timed: true}})
	require.NoError(t, c.Reconfigured(c.now, law, limiter.Settings{Patience: 2, QueueBound: 9}), "whether it is timed cannot change")
	require.Equal(t, 1, made)
	require.Positive(t, c.Backoff(3, window.Overload))
	require.NoError(t, c.Reconfigured(c.now, law, limiter.Settings{Window: window.Settings{Max: 90}}))
	require.Equal(t, 2, made)
	require.Zero(t, c.Backoff(3, window.Overload), "patience is back to its default")
}

func TestMachineReconfiguredOpensAGateThatIsShutTooLong(t *testing.T) {
	for _, c := range []struct {
		name string
		s    limiter.Settings
		want time.Duration // 0: as long as before
	}{
		{"the same rules leave it", limiter.Settings{PauseMax: time.Hour, MaxRetryAfter: time.Hour}, 0},
		{"shorter ones shorten it", limiter.Settings{PauseMax: time.Second, MaxRetryAfter: 10 * time.Second}, 11 * time.Second},
		{"no pauses, and Retry-After alone counts", limiter.Settings{PauseMax: -1, MaxRetryAfter: time.Second}, 1500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newMachineTrace(t, aimd.Reno(0.5), limiter.Settings{
				Window: window.Settings{Initial: 1}, PauseMax: time.Hour, MaxRetryAfter: time.Hour, Patience: 2,
			})
			x.arrive(1, 2)
			x.refuseAll(0)
			_, held := x.refuseAll(time.Hour)
			require.GreaterOrEqual(t, held, time.Hour)
			require.NoError(t, x.Reconfigured(x.now, aimd.Reno(0.5), c.s))
			want := cmp.Or(c.want, held)
			require.Equal(t, want, x.PausedUntil()-x.now)
			at, ok := x.Machine.Deadline()
			require.True(t, ok)
			require.Equal(t, x.PausedUntil(), at)
			x.advance(want)
			require.Equal(t, 1, x.Flying())
		})
	}
}
