package admission

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	answers "github.com/aimd-go/aimd/answer"
)

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
