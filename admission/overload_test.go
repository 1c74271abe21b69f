package admission

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	answers "github.com/aimd-go/aimd/answer"
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

// "Implement Retry-After header in client and server" (Safe Client Behaviour): what is written is what
// answer.RetryAfter reads.
func TestRetryAfterIsReadAsItIsWritten(t *testing.T) {
	for _, d := range []time.Duration{1, time.Millisecond, 1234567 * time.Microsecond, time.Hour} {
		h := http.Header{}
		setRetryAfter(h, d, 0.5)
		got, ok := answers.RetryAfter(h, time.Time{})
		assert.True(t, ok)
		assert.GreaterOrEqual(t, got, d, "never sooner")
		assert.Less(t, got-d, time.Millisecond)
		h.Del("Retry-After-Ms")
		got, ok = answers.RetryAfter(h, time.Time{})
		assert.True(t, ok)
		assert.Positive(t, got, "0 would say: at once")
		assert.Zero(t, got%time.Second)
	}
}

// "Make sure to jitter retry periods on the server side" (Safe Client Behaviour): jitter that is less
// than a second survives, as odds.
func TestWholeSecondsKeepTheMean(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 100_000
	for _, d := range []time.Duration{1100 * time.Millisecond, 2 * time.Second, 7900 * time.Millisecond} {
		sum := 0
		for range n {
			s := wholeSeconds(d, r.Float64())
			assert.InDelta(t, d.Seconds(), s, 1)
			sum += s
		}
		assert.InDelta(t, d.Seconds(), float64(sum)/n, 0.01)
	}
	assert.Equal(t, 1, wholeSeconds(0, 0))
	assert.Equal(t, 1, wholeSeconds(500*time.Millisecond, 0.4))
}
