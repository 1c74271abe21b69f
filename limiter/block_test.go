package limiter_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// permitted notes so many successes.
func permitted(t *testing.T, g *limiter.Gate, now time.Duration, n int) {
	t.Helper()
	for range n {
		_, ok := g.Answered(now, g.Sent(now), window.Success, 0)
		require.True(t, ok)
	}
}

// used is a gate after so many successes.
func used(t *testing.T, successes int) *limiter.Gate {
	g := newGate(t)
	permitted(t, g, 0, successes)
	return g
}

// denied notes so many 403, and returns the number from which they are of a block.
func denied(g *limiter.Gate, now time.Duration, n int) (first int) {
	for i := 1; i <= n; i++ {
		if blocked, _ := g.Denied(now, g.Sent(now), false); blocked && first == 0 {
			first = i
		}
	}
	return first
}

// docs/design.md, rule 16: "A block is, after 50 successes, a run of ten 403", "a block is twice the longest such run,
// and 40 at most".
func TestFromWhenARunIsABlock(t *testing.T) {
	g := used(t, 49)
	require.Zero(t, denied(g, 0, 1000), "a client that was hardly ever permitted")
	permitted(t, g, 0, 1)
	require.Equal(t, 40, denied(g, 0, 1000), "after that run, but no more")

	require.Equal(t, 10, denied(used(t, 50), 0, 1000))

	g = used(t, 200)
	require.Zero(t, denied(g, 0, 9))
	permitted(t, g, 0, 1)
	require.Zero(t, denied(g, 0, 9))

	g = used(t, 200)
	require.Zero(t, denied(g, 0, 7))
	for n := range 3 { // a run that a pause ended counts for nothing
		now := time.Duration(n) * time.Hour
		permitted(t, g, now, 1)
		require.Equal(t, 14, denied(g, now, 20))
		require.LessOrEqual(t, g.PausedUntil()-now, 61*time.Second, "a success begins a new count of pauses")
	}
}

// "A success ends the run only if it was sent after the first refused attempt, since a firewall refuses faster than a
// service works. Four fifths of the attempts sent since then must be refused already."
func TestQuickRefusalsAmongSlowSuccesses(t *testing.T) {
	g := used(t, 50)
	before := g.Sent(0)
	require.Zero(t, denied(g, 0, 5))
	g.Answered(0, before, window.Success, 0)
	require.Equal(t, 5, denied(g, 0, 9))

	for refused, want := range map[int]bool{2: false, 4: true} {
		g, blocked := used(t, 50), false
		for range 30 {
			blocked = denied(g, 0, refused) > 0 || blocked
			g.Sent(0)
		}
		require.Equal(t, want, blocked, "%d of %d", refused, refused+1)
	}
}

// Half of all objects may not be read, and answers that come at once come in any order.
func TestAnswersOfAnyOrderAreNoBlock(t *testing.T) {
	blocks := 0
	for seed := range uint64(100) {
		random, g := rand.New(rand.NewPCG(seed, 0)), used(t, 50)
		for range 25 {
			var sent []window.Ticket
			for range 40 {
				sent = append(sent, g.Sent(0))
			}
			random.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
			for _, ticket := range sent {
				if random.IntN(2) == 0 {
					g.Answered(0, ticket, window.Success, 0)
				} else if _, begun := g.Denied(0, ticket, false); begun {
					blocks++
				}
			}
		}
	}
	require.Zero(t, blocks, "of 100 clients")
}

// The pauses of a run are of a minute, two and four. "After the third pause 403 is final for that limiter"
func TestBlocksHaveAnEnd(t *testing.T) {
	g := used(t, 50)
	now := time.Duration(0)
	for _, minutes := range []time.Duration{1, 2, 4} {
		denied(g, now, 19)
		pause := g.PausedUntil() - now
		require.GreaterOrEqual(t, pause, minutes*time.Minute)
		require.LessOrEqual(t, pause, minutes*time.Minute+time.Second)
		permitted(t, g, now+pause-1, 9) // sent before
		require.Equal(t, 1, denied(g, now+pause-1, 9), "during the pause")
		require.Equal(t, now+pause, g.PausedUntil(), "and the pause stays")
		now += pause
	}
	require.Zero(t, denied(g, now, 99))
	permitted(t, g, now, 200)
	require.Zero(t, denied(g, now, 99))
	require.Equal(t, now, g.PausedUntil())
}

// "if others pass after a pause and a refused operation is refused again": the service refuses that object. Without a
// pause before, a refusal after another one says nothing.
func TestAPauseThatWasAMistakeIsTheLast(t *testing.T) {
	g := used(t, 50)
	_, _ = g.Denied(0, g.Sent(0), true)
	permitted(t, g, 0, 1)
	require.Equal(t, 10, denied(g, 0, 10))
	now := g.PausedUntil()
	permitted(t, g, now, 1)
	blocked, _ := g.Denied(now, g.Sent(now), true)
	require.False(t, blocked)
	permitted(t, g, now, 50)
	require.Zero(t, denied(g, now, 99))
	require.Equal(t, now, g.PausedUntil())
}

// The pause of a block is a guess: who cannot wait for its end ends it, but no other pause.
func TestAPauseThatIsDoubtedEnds(t *testing.T) {
	g := used(t, 50)
	require.False(t, g.Doubted(0))
	denied(g, 0, 10)
	require.True(t, g.Doubted(time.Second))
	require.Equal(t, time.Second, g.PausedUntil())
	require.False(t, g.Doubted(time.Second), "once")
	denied(g, time.Second, 1)
	g.Stopped(time.Second, time.Hour)
	until := g.PausedUntil()
	require.False(t, g.Doubted(2*time.Second))
	require.Equal(t, until, g.PausedUntil())
}

// All that is in flight gets the answer that stops everybody. That is one pause.
func TestAStopIsOnePause(t *testing.T) {
	g := newGate(t)
	pauses := map[time.Duration]bool{}
	for now := time.Duration(0); now < 20*ms; now += ms {
		g.Stopped(now, 0)
		pauses[g.PausedUntil()] = true
	}
	require.Len(t, pauses, 1)
	g.Stopped(0, time.Hour)
	require.GreaterOrEqual(t, g.PausedUntil(), 5*time.Minute, "a longer one, to MaxRetryAfter")
	require.Less(t, g.PausedUntil(), 6*time.Minute)
}
