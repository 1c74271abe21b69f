package admission

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// half is a source of random numbers whose Float64 is always the same.
type half float64

func (u half) Uint64() uint64 { return uint64(u * (1 << 53)) }

// booking is a core that only books Retry-After.
func booking(shortest, longest time.Duration, random rand.Source) *core {
	return &core{config: Config{RetryAfterMin: shortest, RetryAfterMax: longest, Rand: rand.New(random)}}
}

// "Make sure to jitter retry periods on the server side": "period * random(.5, 1.5)" (Safe Client Behaviour).
func TestRetryAfterIsJittered(t *testing.T) {
	for u, want := range map[half]time.Duration{0: 5 * time.Second, 0.5: 10 * time.Second, 0.75: 12500 * time.Millisecond} {
		assert.Equal(t, want, booking(10*time.Second, 10*time.Second, u).back(0))
	}
}

// Few who are shed come back soon, many over as long as they take.
func TestReturnsBookTheTimeAhead(t *testing.T) {
	r := booking(time.Second, 30*time.Second, half(0.5))
	const each = 10 * time.Millisecond
	for range 100 {
		assert.Equal(t, time.Second, r.back(each))
	}
	assert.Equal(t, 1010*time.Millisecond, r.back(each))
	r.now += time.Second
	assert.Equal(t, time.Second, r.back(each), "time goes by")
	for range 10_000 {
		r.back(each)
	}
	assert.Equal(t, 30*time.Second, r.back(each))
	r.now += time.Hour
	assert.Equal(t, time.Second, r.back(each), "and nothing is saved up")
}

// Of those who are shed in one moment, no second sees more than twice what it would see if they came back
// evenly.
func TestWhoIsShedInOneMomentComesBackEvenly(t *testing.T) {
	for _, n := range []int{100, 1000, 3000} {
		r := booking(time.Second, 30*time.Second, rand.NewPCG(1, uint64(n)))
		const perSecond = 100
		seconds := map[int]int{}
		for range n {
			seconds[int(r.back(time.Second/perSecond)/time.Second)]++
		}
		for s, got := range seconds {
			assert.LessOrEqual(t, got, 2*perSecond, "%d shed: second %d", n, s)
		}
	}
}
