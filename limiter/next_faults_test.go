package limiter_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// past is a gate that had a random past: honest and hostile reports, refusals, amounts, uses, and a clock that is set
// back.
type past struct {
	*limiter.Gate
	random *rand.Rand
	now    time.Duration
	latest time.Duration
	flying []window.Ticket
	// stopped: an answer spoke for everybody.
	stopped bool
}

// of is one of them, by the past's randomness.
func of[T any](p *past, all ...T) T { return all[p.random.IntN(len(all))] }

func newPast(t *testing.T, seed uint64) (p *past, bounded bool) {
	p = &past{random: rand.New(rand.NewPCG(seed, 7))}
	s := limiter.Settings{Rand: p.random}
	switch p.random.IntN(4) {
	case 0:
		s.MaxRate, bounded = of(p, 0.0001, 0.01, 1, 1e6), true
	case 1:
		s.MaxAmountRate, bounded = of(p, 0.0001, 1, 1e12), true
	}
	if p.random.IntN(3) == 0 {
		s.QuotaReserve = p.random.Float64()
	}
	g, err := limiter.NewGate(of(p, aimd.Probe(), aimd.Reno(0.9), aimd.Tahoe(0.5, 1)), s)
	require.NoError(t, err)
	p.Gate = &g
	for range 1 + p.random.IntN(60) {
		switch k := p.random.IntN(10); {
		case k < 5:
			p.send()
		case k < 9 && len(p.flying) > 0:
			p.answer()
		default:
			p.now = max(0, p.now+of(p, 0, 1, time.Millisecond, time.Second, time.Minute, -time.Hour, time.Hour))
			p.latest = max(p.latest, p.now)
		}
	}
	return p, bounded
}

func (p *past) send() {
	if p.Amount = of(p, 0., 0, 1, 100, 1e6, 1e12); p.Allowed(p.now, p.Amount) != nil {
		p.Amount = 0
	}
	if k, ok := p.Next(p.now, 1+p.random.IntN(5)); ok {
		p.flying = append(p.flying, k)
		if p.random.IntN(4) == 0 {
			p.Used(p.now, k, of(p, 0, 1, 1e6, 1e12, -1, 1e13))
		}
	}
}

func (p *past) answer() {
	i := p.random.IntN(len(p.flying))
	k := p.flying[i]
	p.flying = slices.Delete(p.flying, i, i+1)
	if p.random.IntN(10) == 0 {
		p.Withdrawn(k)
		return
	}
	times := []time.Duration{0, 1, time.Millisecond, time.Second - 1, time.Second, 10 * time.Second, time.Minute, time.Hour, 24 * time.Hour, 25 * time.Hour}
	numbers := []float64{-1, 0, 0.5, 1, 2, 3, 60, 1000, 1e6, 1e12, 1e13}
	o := of(p, window.Success, window.Success, window.Overload, window.Timeout, window.Neutral, window.ClientError, window.Unclear)
	h := answer.Head{Refused: o.Overloaded()}
	if o == window.Overload {
		h.RetryAfter, h.Stop = of(p, 0, of(p, times...)), p.random.IntN(20) == 0
	}
	for range p.random.IntN(4) {
		h.Reports = append(h.Reports, answer.Quota{
			Name: of(p, "requests", "tokens", "x"), Limit: of(p, numbers...), Left: of(p, numbers...), Reset: of(p, append(times, -1)...),
			Bucket: of(p, true, false), Amounts: of(p, true, false), InFlight: p.random.IntN(6) == 0,
		})
	}
	p.Reported(p.now, k, h)
	p.Answered(p.now, k, o, h.RetryAfter)
	if h.Stop {
		p.stopped = true
		p.Stopped(p.now, h.RetryAfter)
	}
}

// next sends one, and returns how long it waited. Each deadline of the gate brings it nearer.
func (p *past) next(t *testing.T, seed uint64) (window.Ticket, time.Duration) {
	began := p.now
	for range 10_000 {
		if k, ok := p.Next(p.now, 1); ok {
			return k, p.now - began
		}
		at, waits := p.Deadline(1)
		if !waits {
			require.FailNow(t, "no send and no deadline", "seed %d", seed)
		}
		p.now = at
	}
	require.FailNow(t, "10 000 deadlines and no send", "seed %d", seed)
	return window.Ticket{}, 0
}

// Whatever a service said, once it is well and says no more a send waits for MaxRetryAfter at most, which is five
// minutes, and the jitter. After an answer that spoke for everybody it is a day.
func TestTheNextSendComes(t *testing.T) {
	for seed := range uint64(1000) {
		p, bounded := newPast(t, seed)
		p.now = p.latest
		for _, k := range p.flying {
			p.Answered(p.now, k, window.Success, 0)
		}
		p.Amount = 0
		for range 30 {
			k, waited := p.next(t, seed)
			switch {
			case bounded: // by the program's own rate
			case p.stopped:
				require.LessOrEqual(t, waited, 24*time.Hour+2*time.Second, "seed %d", seed)
			default:
				require.LessOrEqual(t, waited, 5*time.Minute+2*time.Second, "seed %d", seed)
			}
			p.now += 50 * time.Millisecond
			p.Answered(p.now, k, window.Success, 0)
		}
	}
}

// From the fifth cut in a row on a Retry-After set cwnd to the least window, and no page said so: the cuts of Reno 0.9 with
// a Retry-After left 1 where those without left 11.8.
func TestARetryAfterLeavesTheWindowToTheLaw(t *testing.T) {
	for _, retryAfter := range []time.Duration{0, time.Second} {
		g, err := limiter.NewGate(aimd.Reno(0.9), limiter.Settings{})
		require.NoError(t, err)
		now, want := time.Duration(0), 20.
		for range 8 {
			now += 10 * time.Minute
			ticket, ok := g.Tried(now)
			require.True(t, ok)
			g.Answered(now, ticket, window.Overload, retryAfter)
			want *= 0.9
			require.InDelta(t, want, g.State().Cwnd, 1e-9)
			require.InDelta(t, want, g.State().Ssthresh, 1e-9)
		}
	}
}
