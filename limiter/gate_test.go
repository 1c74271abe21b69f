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

const ms = time.Millisecond

// trace drives a gate and a queue step by step, as every driver does: event, drain. Operations are numbers.
type trace struct {
	*testing.T
	limiter.Gate
	queue  queue.Queue[int]
	now    time.Duration
	items  map[int]*queue.Item[int]
	flying map[int]window.Ticket
	sent   []int
}

func newTrace(t *testing.T, law window.NewLaw, s limiter.Settings) *trace {
	t.Helper()
	g, err := limiter.NewGate(law, s)
	require.NoError(t, err)
	return &trace{T: t, Gate: g, items: map[int]*queue.Item[int]{}, flying: map[int]window.Ticket{}}
}

// starting are settings with that window at the start.
func starting(initial float64) limiter.Settings {
	return limiter.Settings{Window: window.Settings{Initial: initial}}
}

// arrive queues operations from..to.
func (t *trace) arrive(from, to int) {
	for op := from; op <= to; op++ {
		t.items[op] = &queue.Item[int]{Value: op}
		t.queue.Push(t.items[op])
		t.drain()
	}
}

// answer ends an operation's attempt; an overload rejoins the queue at once.
func (t *trace) answer(op int, o window.Outcome) {
	t.Helper()
	_, ok := t.Answered(t.now, t.flying[op], o, 0)
	require.True(t, ok, "operation %d is in flight", op)
	delete(t.flying, op)
	if o.Overloaded() {
		t.queue.PutBack(t.items[op])
	}
	t.drain()
}

func (t *trace) drain() {
	for k, ok := t.Next(t.now, t.queue.Len()); ok; k, ok = t.Next(t.now, t.queue.Len()) {
		i, _ := t.queue.Ends()
		t.queue.Remove(i)
		t.flying[i.Value] = k
		t.sent = append(t.sent, i.Value)
	}
}

// refuseAll answers all that fly, or these, with an overload, without draining in between. It returns the number of
// cuts, and how long the pause is.
func (t *trace) refuseAll(retryAfter time.Duration, ops ...int) (cuts int, pause time.Duration) {
	if len(ops) == 0 {
		ops = t.flyers()
	}
	for _, op := range ops {
		if a, ok := t.Answered(t.now, t.flying[op], window.Overload, retryAfter); ok && !a.Ignored {
			cuts++
		}
		t.queue.PutBack(t.items[op])
		delete(t.flying, op)
	}
	t.drain()
	return cuts, max(0, t.PausedUntil()-t.now)
}

func (t *trace) flyers() []int { return slices.Sorted(maps.Keys(t.flying)) }

// backoff is the backoff of Waits.
func (t *trace) backoff(failures int, last window.Outcome) time.Duration {
	_, backoff, _ := t.Waits(failures, last, 0, false, nil)
	return backoff
}

// paused reports whether there is a pause for everybody.
func (t *trace) paused() bool { return t.PausedUntil() > t.now }

// due is the time until the gate must be looked at again.
func (t *trace) due() time.Duration {
	t.Helper()
	at, ok := t.Gate.Deadline(t.queue.Len())
	require.True(t, ok)
	return at - t.now
}

// advance moves the time and drains.
func (t *trace) advance(d time.Duration) {
	t.now += d
	t.drain()
}

// within requires that a random time is spread by half.
func within(t require.TestingT, want, got time.Duration) {
	require.GreaterOrEqual(t, got, want/2)
	require.LessOrEqual(t, got, want*3/2)
}

// "add new requests to the queue ... as long as the number of outstanding requests (size of flying) is
// less than the current value of cwnd, extract a request from the queue and send it" (Improve on
// exponential backoff).
func TestTheOrderOfSends(t *testing.T) {
	// docs/design.md, rule 5: "A failed operation rejoins the queue at the front"; rule 6: "Successes of ignored
	// attempts widen the window".
	c := newTrace(t, aimd.Reno(0.5), starting(3))
	c.arrive(1, 9)
	require.Equal(t, []int{1, 2, 3}, c.sent)
	c.answer(2, window.Success)
	require.EqualValues(t, 4, c.State().Cwnd)
	require.Equal(t, []int{1, 2, 3, 4, 5}, c.sent, "one for the answered, one for the growth")
	c.answer(1, window.Overload) // cwnd 2
	c.answer(3, window.Overload)
	require.Len(t, c.sent, 5, "two are in flight, two more may be")
	c.answer(4, window.Success)
	require.EqualValues(t, 2.5, c.State().Cwnd, "of an ignored attempt: + 1/cwnd")
	c.answer(5, window.Success)
	require.Equal(t, []int{1, 3}, c.sent[5:], "before 6 to 9, the first failed first")
}

// docs/design.md, rule 5: "From its sixth overload in a row on, it backs off".
func TestBackoff(t *testing.T) {
	c := newTrace(t, aimd.Reno(0.5), limiter.Settings{})
	for failures, want := range map[int]int{0: 0, 1: 0, 5: 0, 6: 1, 12: 7} {
		number, backoff, obeyed := c.Waits(failures, window.Overload, 0, false, nil)
		require.Equal(t, want, number)
		require.Equal(t, want > 0, backoff > 0)
		require.Zero(t, obeyed)
		number, _, _ = c.Waits(failures, window.Neutral, 0, false, nil)
		require.Equal(t, failures, number)
	}
	for failures, want := range map[int]time.Duration{
		6: 50 * ms, 7: 100 * ms, 10: 800 * ms, 13: 5 * time.Second, 80: 5 * time.Second, 1 << 30: 5 * time.Second,
	} {
		for range 100 {
			within(t, want, c.backoff(failures, window.Overload))
			within(t, want, c.backoff(failures-5, window.Neutral)) // no window paces it: from the first
		}
	}
}

// docs/design.md, rule 13: "Cuts in a row pause all operations". "The pause begins with the second such cut". Rule
// 10: from the fifth on a Retry-After "pauses all operations of the limiter": first attempts too.
func TestPauses(t *testing.T) {
	for _, retryAfter := range []time.Duration{0, time.Second} {
		c := newTrace(t, aimd.Tahoe(0.5, 4), starting(4))
		c.arrive(1, 100)
		cuts, held := c.refuseAll(retryAfter)
		require.Equal(t, 1, cuts, "exactly one cut per burst")
		require.Zero(t, held, "the first burst delays only who was refused")
		want := 50 * ms
		for n := 2; n <= 13; n++ {
			cuts, held := c.refuseAll(retryAfter)
			require.Equal(t, 1, cuts)
			require.Empty(t, c.flying)
			_, ok := c.Tried(c.now)
			require.False(t, ok, "the pause is for first attempts too")
			require.Equal(t, held, c.due())
			if retryAfter > 0 && n >= 5 {
				require.GreaterOrEqual(t, held, time.Second, "the Retry-After speaks for everybody")
				require.LessOrEqual(t, held, max(1500*ms, want*3/2))
			} else {
				within(t, want, held)
			}
			c.advance(held - 1)
			require.Empty(t, c.flying)
			c.advance(1)
			require.Len(t, c.flying, 4, "a pause leaves the window to the law")
			require.False(t, c.paused())
			want = min(2*want, 5*time.Second)
		}
		c.answer(c.flyers()[0], window.Success)
		_, held = c.refuseAll(retryAfter)
		require.Zero(t, held, "a success ends the streak")
	}
}

// Refusals among successes pause nobody: obeyed by everybody, each Retry-After of a smooth rate cap with short answers
// would make the client many times slower. Nor do the cuts of an overshoot: the service serves half of what was sent,
// and refuses the rest, and what is sent next, at once. No success comes in between, but successes are on their way.
func TestRefusalsAmongSuccessesPauseNobody(t *testing.T) {
	c := newTrace(t, aimd.Reno(0.5), starting(4))
	c.arrive(1, 1000)
	for range 200 {
		_, held := c.refuseAll(time.Second, c.flyers()[0])
		require.Zero(t, held)
		c.answer(c.flyers()[0], window.Success)
	}

	c = newTrace(t, aimd.Reno(0.9), starting(40))
	c.arrive(1, 100)
	cuts := 0
	for len(c.flying) > 20 {
		more, held := c.refuseAll(time.Second, slices.DeleteFunc(c.flyers(), func(op int) bool { return op <= 20 })...)
		require.Zero(t, held)
		cuts += more
	}
	require.Greater(t, cuts, 3)
}

// A negative PauseMax "turns both off".
func TestPausesCanBeTurnedOff(t *testing.T) {
	c := newTrace(t, aimd.Reno(0.5), limiter.Settings{PauseMax: -1})
	c.arrive(1, 100)
	for range 20 {
		_, held := c.refuseAll(0)
		require.Zero(t, held)
		require.NotEmpty(t, c.flying)
	}
	require.Zero(t, c.backoff(100, window.Overload))
}

// newSpacedTrace has a law that spaces its sends, and had its first answer after a round trip of as many gaps
// as the window has attempts.
func newSpacedTrace(t *testing.T, gap *time.Duration, initial float64) *trace {
	t.Helper()
	c := newTrace(t, spaced(gap), starting(initial))
	c.arrive(1, 1)
	c.now += time.Duration(initial) * *gap
	c.answer(1, window.Success)
	require.True(t, c.Timed())
	return c
}

// spaced is a law whose gap is what is there at the answer.
func spaced(gap *time.Duration) window.NewLaw { return paced(gap, window.Spaced) }

func paced(gap *time.Duration, p window.Pace) window.NewLaw {
	return func(window.Settings) window.Law {
		return timedLaw(func(s window.State, _ window.End) window.State {
			s.Cwnd, s.Pace = float64(s.Trip)/float64(*gap), p
			return s
		})
	}
}

// timedLaw is a law that answers what the function says.
type timedLaw func(s window.State, a window.End) window.State

func (timedLaw) Timed() bool { return true }

func (f timedLaw) Answered(_ time.Duration, s window.State, a window.End) window.State {
	return f(s, a)
}

// No two sends are closer than the gap of the law. "It counts from the last send, with its present value."
func TestTheGapOfALaw(t *testing.T) {
	gap := 100 * ms
	c := newSpacedTrace(t, &gap, 8)
	c.arrive(2, 6)
	require.Equal(t, []int{1, 2}, c.sent)
	require.Equal(t, gap, c.due())
	c.advance(gap - 1)
	require.Equal(t, []int{1, 2}, c.sent)
	c.advance(1)
	require.Equal(t, []int{1, 2, 3}, c.sent)
	c.answer(2, window.Success)
	gap = time.Second
	c.answer(3, window.Success)
	require.Equal(t, gap, c.due(), "a longer one holds for the next send")
	c.advance(gap)
	require.Equal(t, []int{1, 2, 3, 4}, c.sent)
	gap = 10 * ms
	c.answer(4, window.Success)
	require.Equal(t, gap, c.due(), "a shorter one too")
	c.advance(gap)
	c.advance(gap)
	require.Len(t, c.sent, 6)
	_, ok := c.Gate.Deadline(c.queue.Len())
	require.False(t, ok, "nobody waits")
}

// docs/design.md, rule 4: "If the gap alone delayed a send, up to 20 ms of its timer's lateness do not stretch
// the next gap", so a timer that fires much too late makes no burst of all that it missed. "With `MaxRate` the
// gap is never shorter than that rate allows, under any law."
func TestALateTimer(t *testing.T) {
	gap := 10 * ms
	rate := newTrace(t, aimd.Reno(0.5), limiter.Settings{MaxRate: 100})
	require.True(t, rate.Timed())
	rate.arrive(1, 1)
	for _, c := range []*trace{newSpacedTrace(t, &gap, 8), rate} {
		c.advance(gap)
		c.arrive(2, 10)
		c.advance(gap + 6*ms)
		require.Equal(t, []int{1, 2, 3}, c.sent)
		c.advance(gap - 6*ms)
		require.Equal(t, []int{1, 2, 3, 4}, c.sent, "it counts from when the send was due")
		c.advance(time.Minute)
		require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7}, c.sent, "20 ms of it are made up for")
	}
}

// Only a timer's lateness is made up for: a window that was full, or a queue that was empty, when the gap
// ended leaves nothing behind.
func TestOnlyALateTimerIsMadeUpFor(t *testing.T) {
	gap := 10 * ms
	c := newSpacedTrace(t, &gap, 2)
	c.advance(gap)
	c.arrive(2, 6)
	c.advance(gap)
	require.Equal(t, []int{1, 2, 3}, c.sent)
	c.advance(gap + 6*ms)
	c.answer(2, window.Success)
	require.Equal(t, []int{1, 2, 3, 4}, c.sent, "the window was full")
	c.answer(3, window.Success)
	c.advance(gap - 1)
	require.Equal(t, []int{1, 2, 3, 4}, c.sent, "the gap counts from when it went")
	c.advance(1)
	require.Equal(t, []int{1, 2, 3, 4, 5}, c.sent)
}

// "spaced sends which had to wait for the window follow at once, those of one Trip at most" (window.State)
func TestALawThatCatchesUp(t *testing.T) {
	gap := 10 * ms
	for _, c := range []struct {
		late  time.Duration
		rules limiter.Settings
		sends int // at once, when the window opens
	}{
		{30 * ms, limiter.Settings{}, 4},
		{time.Minute, limiter.Settings{}, 9}, // a Trip is 80 ms
		{time.Minute, limiter.Settings{MaxRate: 100}, 1},
	} {
		law := func(window.Settings) window.Law {
			return timedLaw(func(s window.State, _ window.End) window.State {
				s.Pace, s.Cwnd = window.CatchUp, 8
				return s
			})
		}
		c.rules.Window.Initial = 1
		l := newTrace(t, law, c.rules)
		l.arrive(1, 1)
		l.advance(8 * gap)
		l.answer(1, window.Success)
		l.arrive(2, 30)
		for range 7 {
			l.advance(gap)
		}
		require.Len(t, l.sent, 9, "the window is full")
		l.advance(gap + c.late)
		for op := 2; op <= len(l.sent); op++ {
			l.answer(op, window.Neutral) // the round trip stays
		}
		require.Len(t, l.sent, 9+c.sends, "%v, %v", c.late, c.rules.MaxRate)
	}
}

func TestALeastAndAGreatestRate(t *testing.T) {
	c := newTrace(t, aimd.Reno(0.5), limiter.Settings{MaxRate: 0.0001})
	c.arrive(1, 2)
	require.Equal(t, []int{1}, c.sent, "the first at once")
	require.Equal(t, 10_000*time.Second, c.due())

	// An attempt that comes at once after a cut keeps to the rate.
	gap := time.Second
	c = newTrace(t, spaced(&gap), limiter.Settings{MaxRate: 5, Window: window.Settings{Initial: 1}})
	c.arrive(1, 1)
	c.answer(1, window.Overload)
	require.Equal(t, 200*ms, c.due())
}

// "While refusals follow one another and one attempt at a time is admitted, the gap is spread at random by
// half, so that clients do not stay in step, and replaces the doubling pauses."
func TestTheGapIsSpreadWhileRefusalsGoOn(t *testing.T) {
	gap := 400 * ms
	s := starting(1)
	s.PauseMax = time.Hour
	c := newTrace(t, spaced(&gap), s)
	c.arrive(1, 1)
	least, most := time.Hour, time.Duration(0)
	for range 200 {
		c.answer(c.sent[0], window.Overload)
		require.False(t, c.paused(), "no pause beside the gap")
		due := c.due()
		within(t, gap, due)
		least, most = min(least, due), max(most, due)
		c.advance(due)
		require.Len(t, c.flying, 1)
	}
	require.Less(t, least, gap*6/10)
	require.Greater(t, most, gap*14/10)

	c.answer(1, window.Success)
	c.arrive(2, 2)
	require.Equal(t, gap, c.due(), "a success ends the spread")
}

// "If it is half a second or more then, the attempt after the first cut in a row, and after each 20th from
// there, comes at once"
func TestASendAtOnceAfterEachTwentiethCut(t *testing.T) {
	for gap, want := range map[time.Duration][]int{499 * ms: nil, 500 * ms: {1, 21, 41}} {
		c := newTrace(t, spaced(&gap), starting(1))
		c.arrive(1, 1)
		var atOnce []int
		for cut := 1; cut <= 60; cut++ {
			if c.answer(1, window.Overload); len(c.flying) == 0 {
				c.advance(c.due())
			} else {
				atOnce = append(atOnce, cut)
			}
			require.Len(t, c.flying, 1)
		}
		require.Equal(t, want, atOnce, "a gap of %v", gap)
	}
}

// docs/design.md, rule 4: "If early attempts are not refused (`window.CatchUp`), a shorter gap is left out, too."
func TestASendAtOnceIfEarlyOnesAreAccepted(t *testing.T) {
	for pace, want := range map[window.Pace]bool{window.Spaced: false, window.CatchUp: true} {
		gap := 100 * ms
		c := newTrace(t, paced(&gap, pace), starting(1))
		c.arrive(1, 1)
		c.answer(1, window.Overload)
		require.Equal(t, want, len(c.flying) == 1, pace)
	}
}

// docs/design.md, rule 4: "a refused attempt gives its gap back, if no other was sent since, and the window is full
// without it". With MaxRate a refused attempt counts.
func TestARefusedAttemptGivesItsGapBack(t *testing.T) {
	for _, c := range []struct {
		before, after float64 // the windows before and after the refusal
		maxRate       float64
		want          bool
	}{{3, 2, 0, true}, {3, 3, 0, false}, {3, 2, 1, false}, {5, 4, 0, false}} {
		cwnd := c.before
		law := func(window.Settings) window.Law {
			return timedLaw(func(s window.State, _ window.End) window.State {
				s.Cwnd, s.Pace = cwnd, window.Spaced
				return s
			})
		}
		s := starting(1)
		s.MaxRate = c.maxRate
		l := newTrace(t, law, s)
		l.arrive(1, 1)
		l.advance(3 * time.Second)
		l.answer(1, window.Success) // so the gap is a second
		l.arrive(2, 9)
		for len(l.flying) < int(c.before) {
			l.advance(time.Second)
		}
		cwnd = c.after
		last := l.sent[len(l.sent)-1]
		l.advance(10 * ms)
		l.answer(last, window.Overload)
		l.answer(2, window.Neutral)
		l.advance(600 * ms)
		require.Equal(t, c.want, len(l.flying) == int(c.before)-1, "%+v", c)
	}
}

// A law that may not go below a larger window gets the pauses: there its gap is not all there is.
func TestALawWithALargerLeastWindowIsPaused(t *testing.T) {
	gap := 2 * ms
	c := newTrace(t, spaced(&gap), limiter.Settings{Window: window.Settings{Initial: 2, Min: 2}})
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

// "A pause that is longer than the new rules allow ends as if it had begun now under them."
func TestReconfiguredEndsAPauseThatIsTooLong(t *testing.T) {
	for name, c := range map[string]struct {
		s    limiter.Settings
		want time.Duration // 0: as long as before
	}{
		"the same rules leave it": {limiter.Settings{PauseMax: time.Hour, MaxRetryAfter: time.Hour}, 0},
		"shorter ones shorten it": {limiter.Settings{PauseMax: time.Second, MaxRetryAfter: 10 * time.Second}, 11 * time.Second},
		"Retry-After alone":       {limiter.Settings{PauseMax: -1, MaxRetryAfter: time.Second}, 1500 * ms},
	} {
		s := limiter.Settings{Window: window.Settings{Initial: 1}, PauseMax: time.Hour, MaxRetryAfter: time.Hour}
		x := newTrace(t, aimd.Reno(0.5), s)
		x.arrive(1, 2)
		for range 4 {
			x.refuseAll(0)
			x.advance(max(0, x.PausedUntil()-x.now))
		}
		_, held := x.refuseAll(time.Hour)
		require.GreaterOrEqual(t, held, time.Hour)
		require.NoError(t, x.Reconfigured(x.now, aimd.Reno(0.5), c.s))
		want := cmp.Or(c.want, held)
		require.Equal(t, want, x.PausedUntil()-x.now, name)
		require.Equal(t, want, x.due())
		x.advance(want)
		require.Equal(t, 1, x.Flying())
	}
}
