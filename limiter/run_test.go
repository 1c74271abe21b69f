package limiter_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// failing is a gate with a wide window whose operations fail.
type failing struct {
	*testing.T
	limiter.Gate
	now time.Duration
}

func newFailing(t *testing.T, s limiter.Settings) *failing {
	s.Window = window.Settings{Initial: 1000}
	g, err := limiter.NewGate(aimd.Reno(0.5), s)
	require.NoError(t, err)
	return &failing{T: t, Gate: g, now: time.Second}
}

func (g *failing) sent() window.Ticket {
	g.Helper()
	t, ok := g.Tried(g.now)
	require.True(g, ok)
	return t
}

// fails sends an attempt that fails with a 500 while others wait, and returns what the law hears.
func (g *failing) fails(r *limiter.Run) window.Outcome { return g.ends(r, window.Unclear, true, 1) }

func (g *failing) ends(r *limiter.Run, o window.Outcome, final bool, flow int) window.Outcome {
	g.Helper()
	t := g.sent()
	g.Failed(g.now, t, r, o, final, flow)
	heard := g.Heard(r, o)
	g.Answered(g.now, t, window.Neutral, 0) // so that the window stays
	return heard
}

// takes sends attempts of other operations that are accepted at their first attempt.
func (g *failing) takes(n int) {
	g.Helper()
	for range n {
		t := g.sent()
		g.Answered(g.now, t, g.Heard(nil, window.Success), 0)
	}
}

// episode begins one of own failures, long ago.
func (g *failing) episode() {
	g.Helper()
	var other limiter.Run
	g.fails(&other)
	for range 4 {
		g.now += 10 * time.Second
		g.takes(1)
		g.fails(&other)
	}
}

// retried is an operation that fails so often and is accepted then.
func (g *failing) retried(failures int) {
	g.Helper()
	var r limiter.Run
	for range failures {
		g.fails(&r)
	}
	t := g.sent()
	g.Answered(g.now, t, g.Heard(&r, window.Success), 0)
}

// own is the number of attempts after which an operation ends, with another accepted between two of them.
func (g *failing) own() (n int) {
	g.Helper()
	var r limiter.Run
	for ; n < 60 && !r.Ends(); n++ {
		g.fails(&r)
		g.takes(1)
	}
	return n
}

func aside(r *limiter.Run) bool { is, _ := r.Aside(); return is }

// docs/design.md: "An operation that failed goes aside", "a refusal at the sixth in a row".
func TestWhoIsAside(t *testing.T) {
	g := newFailing(t, limiter.Settings{})
	var r limiter.Run
	require.False(t, aside(&r))
	g.fails(&r)
	require.True(t, aside(&r))

	for _, amount := range []float64{0, 8000} { // an operation that says an amount may be refused for its size
		g.Gate.Amount, r = amount, limiter.Run{}
		for n := 1; n <= 12; n++ {
			g.ends(&r, window.Overload, false, 1)
			require.Equal(t, amount == 0 && n >= 6, aside(&r), n)
		}
	}
	_, first := r.Aside()
	require.False(t, first)
}

// Who fails aside goes first there: it is done soon if it succeeds at the third attempt.
func TestWhoFailsAsideGoesFirst(t *testing.T) {
	g := newFailing(t, limiter.Settings{})
	var r limiter.Run
	g.fails(&r)
	_, first := r.Aside()
	require.False(t, first)
	g.fails(&r)
	_, first = r.Aside()
	require.True(t, first)
}

// docs/design.md: "one in 1.5 times the share of operations that fail at first", "from one in eight to one in two".
func TestTheTurnOfThoseAside(t *testing.T) {
	for per, want := range map[int]int{0: 8, 20: 8, 8: 5, 5: 3, 3: 2, 2: 2} { // one in so many fails at first
		g := newFailing(t, limiter.Settings{})
		for i := range 2000 {
			if per > 0 && i%per == 0 {
				var r limiter.Run
				g.fails(&r)
				continue
			}
			g.takes(1)
		}
		require.InDelta(t, want, g.AsideTurn(), .5, per)
	}
	g := newFailing(t, limiter.Settings{})
	for n := range 100 { // the mean is over 64 first attempts
		require.Equal(t, n < 6, g.AsideTurn() == 8, n) // 1-(1-1/64)^6 > 1/(1.5*8)
		var r limiter.Run
		g.fails(&r)
	}
}

// docs/design.md: "A failure aside is the operation's own, if another was accepted since the operation's first failed
// attempt was sent".
func TestWhatIsItsOwn(t *testing.T) {
	g := newFailing(t, limiter.Settings{})
	var r limiter.Run
	g.takes(10)
	require.Equal(t, window.Unclear, g.fails(&r), "it was not aside")
	require.Equal(t, window.Unclear, g.fails(&r), "none was accepted since")
	g.takes(1)
	require.Equal(t, window.Neutral, g.fails(&r))
	require.Equal(t, 1, r.Own())
	require.Equal(t, window.Neutral, g.fails(&r), "none needs to be accepted between")
	require.Equal(t, 2, r.Own())
}

// docs/design.md: "three operations failed at their first attempt since the last accepted answer": an outage. It is none for an
// operation that has failed by itself before.
func TestAnOutageIsNobodysOwn(t *testing.T) {
	for others, want := range map[int]window.Outcome{0: window.Neutral, 2: window.Neutral, 3: window.Unclear, 5: window.Unclear} {
		g := newFailing(t, limiter.Settings{})
		var r, before limiter.Run
		g.takes(10)
		g.fails(&r)
		g.fails(&before)
		g.takes(1)
		g.fails(&before)
		for range others {
			g.fails(&limiter.Run{})
		}
		require.Equal(t, want, g.fails(&r), others)
		require.Equal(t, window.Neutral, g.fails(&before), others)
		g.takes(1)
		require.Equal(t, window.Neutral, g.fails(&r), others)
	}
}

// docs/design.md: "of a refusal, or a time-out that may be one, only while others wait": a bucket that counts refused requests must
// still be seen.
func TestTheLawHearsRefusalsOfAnOperationAloneOnlyIfNobodyWaits(t *testing.T) {
	for _, o := range []window.Outcome{window.Overload, window.Timeout, window.Unclear} {
		for _, takes := range []int{10, 200} { // before it; with 10 more than one in eight fails at first
			for flow, want := range []window.Outcome{o, window.Neutral} {
				g := newFailing(t, limiter.Settings{})
				var r limiter.Run
				for range 20 {
					g.fails(&limiter.Run{})
				}
				g.takes(takes)
				for range 6 {
					g.ends(&r, o, false, 1)
				}
				g.takes(1)
				if o == window.Unclear || o == window.Timeout && takes == 200 {
					want = window.Neutral
				}
				require.Equal(t, want, g.ends(&r, o, false, flow), "%v %d", o, flow)
				require.False(t, r.Ends())
			}
		}
	}
}

// tries is the number of attempts after which an operation ends, if the share of the operations that fail at first is one in per,
// another is accepted between two of its attempts, and own failures began long ago.
func tries(t *testing.T, per int, s limiter.Settings, r *limiter.Run, o window.Outcome) (n int) {
	g := newFailing(t, s)
	for i := range 3000 {
		if i%per == 0 {
			g.fails(&limiter.Run{})
		} else {
			g.takes(1)
		}
	}
	g.episode()
	for n = 1; n <= 40; n++ {
		heard := g.ends(r, o, o == window.Unclear, 1)
		if r.Ends() {
			require.Contains(t, []window.Outcome{window.ClientError, window.Neutral}, heard)
			return n
		}
		g.now += 10 * time.Millisecond
		g.takes(per - 1)
	}
	return n
}

// docs/design.md: "A run of own 500s, 502s and broken connections that chance would not bring is final": one in 2^18,
// and seven tries at least.
func TestTheRunThatIsFinal(t *testing.T) {
	for per, want := range map[int]int{100: 7, 16: 7, 5: 9, 3: 13} {
		var r limiter.Run
		require.InDelta(t, want, tries(t, per, limiter.Settings{}, &r, window.Unclear), 2, "one in %d", per)
		require.InDelta(t, 1+math.Ceil(18/min(3, math.Log2(float64(per)))), want, 1, "the arithmetic of it")
	}
}

// docs/design.md: "A time-out weighs half, and nothing if more than one operation in eight, or such a retry, fails". Refusals have
// no end.
func TestTheRunOfTimeOutsThatIsFinal(t *testing.T) {
	for _, per := range []int{100, 16} {
		var r limiter.Run
		require.Equal(t, 13, tries(t, per, limiter.Settings{}, &r, window.Timeout), "one in %d", per)
	}
	for per, want := range map[int]bool{12: true, 6: false} {
		var r limiter.Run
		g := newFailing(t, limiter.Settings{})
		for range 40 { // for seven minutes one in so many fails at first
			for range 20 {
				g.fails(&limiter.Run{})
				g.takes(per - 1)
			}
			g.ends(&r, window.Timeout, false, 1)
			g.now += 10 * time.Second
		}
		require.Equal(t, want, r.Ends(), "one in %d", per)
	}
	var r limiter.Run
	require.Equal(t, 41, tries(t, 100, limiter.Settings{MaxFailures: 1}, &r, window.Overload))
}

// Config.MaxFailures: the number of own failures; negative: no end.
func TestMaxFailures(t *testing.T) {
	for most, want := range map[int]int{-1: 41, 1: 2, 5: 6, 12: 13} { // the first is not its own
		var r limiter.Run
		require.Equal(t, want, tries(t, 100, limiter.Settings{MaxFailures: most}, &r, window.Unclear), most)
	}
}

// docs/design.md: "Nothing is final in the first 30 s of own failures, or of those after a minute without".
func TestNothingIsFinalInAFailover(t *testing.T) {
	g := newFailing(t, limiter.Settings{})
	g.takes(200)
	last := func(after time.Duration) bool { // whether an operation ends whose own failures come at the end of that time
		begin, first := g.now, limiter.Run{}
		g.fails(&first)
		g.takes(1)
		g.fails(&first) // the episode begins
		g.now = begin + after
		var r limiter.Run
		for range 8 {
			g.fails(&r)
			g.takes(1)
		}
		return r.Ends()
	}
	require.False(t, last(30*time.Second-1))
	g.now += time.Minute + 1
	require.True(t, last(30*time.Second))
	g.now += time.Minute // no other episode
	require.True(t, last(0))
	g.now += time.Minute + 1
	require.False(t, last(0))
}

// docs/design.md: "In Each nothing is final before MaxRetryAfter".
func TestWhoIsPatientEndsLate(t *testing.T) {
	for waited, want := range map[time.Duration]bool{5*time.Minute + time.Second - 1: false, 5*time.Minute + time.Second: true} {
		r := limiter.Run{Patient: true}
		g := newFailing(t, limiter.Settings{})
		g.takes(200)
		for g.now < waited {
			g.fails(&r)
			g.takes(1)
			require.False(t, r.Ends())
			g.now += min(20*time.Second, waited-g.now)
		}
		g.fails(&r)
		require.Equal(t, want, r.Ends(), waited)
		// "its waits double up to then": 50 ms at first, with jitter.
		for failures, want := range map[int]time.Duration{1: 50 * time.Millisecond, 5: 800 * time.Millisecond, 30: 5 * time.Minute} {
			if left := 5*time.Minute + time.Second - waited; left > 0 {
				want = left
			}
			_, backoff, _ := g.Waits(failures, window.Neutral, 0, false, &r)
			require.InEpsilon(t, want, backoff, .51)
		}
		r.Patient = false
		_, backoff, _ := g.Waits(30, window.Neutral, 0, false, &r)
		require.LessOrEqual(t, backoff, 7500*time.Millisecond)
	}
}

// A retry comes when all slots are taken: how often the retries of operations that ended well failed weighs, if that is more.
func TestRetriesThatFailMoreOftenWeighLess(t *testing.T) {
	tries := func(retries int) int {
		g := newFailing(t, limiter.Settings{})
		g.episode()
		for range 300 { // one operation in 100 fails, and then so often again
			g.takes(99)
			g.retried(retries + 1)
		}
		return g.own()
	}
	require.Equal(t, 7, tries(0))
	require.Greater(t, tries(1), 15) // half of the retries failed
	require.Greater(t, tries(3), 25)
}

// The mean of the retries is over 32 of them. Each of eight operations that fails once and then ends well is a failure and a
// success, so the share goes to a half with them.
func TestTheMeanOfTheRetries(t *testing.T) {
	g := newFailing(t, limiter.Settings{})
	g.episode()
	g.takes(300)
	for range 8 {
		g.retried(2)
		g.takes(99)
	}
	require.Equal(t, 9, g.own(), "12 with a mean over 16, 7 with one over 64")
}

// While most of the latest answers are unclear, a rate of one attempt in 15 s becomes one in PauseMax: nobody says that it is too
// much, and the end is to be seen soon.
func TestTheGapInAnOutageWithoutAWordOfLoad(t *testing.T) {
	for o, want := range map[window.Outcome]time.Duration{window.Unclear: 4 * time.Second, window.Overload: 22 * time.Second} {
		g, err := limiter.NewGate(aimd.Probe(), limiter.Settings{})
		require.NoError(t, err)
		now, longest := time.Second, time.Duration(0)
		for range 400 {
			ticket, ok := g.Next(now, 1)
			for !ok {
				at, waits := g.Deadline(1)
				require.True(t, waits)
				longest = max(longest, at-now)
				now = at
				ticket, ok = g.Next(now, 1)
			}
			now += 100 * time.Millisecond
			g.Answered(now, ticket, o, 0)
		}
		require.LessOrEqual(t, longest, want+time.Second)
		require.Greater(t, longest, want/2, "%v", o)
	}
}
