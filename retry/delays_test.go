package retry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/quota"
)

// most is a source whose numbers are as large as can be.
type most struct{}

func (most) Float64() float64     { return 1 }
func (most) NormFloat64() float64 { return 0 }

// thrice is a backoff of a second more each time, three times.
type thrice struct{}

func (thrice) Delay(s backoff.State, _ backoff.Rand) (time.Duration, bool) {
	return s.Last + time.Duration(s.Retry)*time.Second, s.Retry <= 3
}

// The delays before the next attempt: with random numbers as large as can be, a PauseMax ends at its half, and a wait
// that the service asked for is a second longer.
func TestNext(t *testing.T) {
	type delays struct {
		own, obeyed time.Duration
		more        bool
	}
	for name, c := range map[string]struct {
		most, attempts, number int
		pauseMax, last         time.Duration
		asked                  quota.Asked
		want                   delays
	}{
		"the last attempt":            {most: 3, attempts: 3, number: 1, want: delays{}},
		"more than was allowed since": {most: 2, attempts: 3, number: 1, want: delays{}},
		"one attempt is left":         {most: 3, attempts: 2, number: 1, want: delays{own: time.Second, more: true}},
		"without a limit":             {attempts: 1000, number: 1, want: delays{own: time.Second, more: true}},
		"no backoff is due":           {attempts: 1, want: delays{more: true}},
		"the backoff ends it":         {attempts: 1, number: 4, want: delays{}},
		"after the delay before":      {attempts: 1, number: 1, last: time.Minute, want: delays{own: 61 * time.Second, more: true}},
		"no bound":                    {attempts: 1, number: 3, want: delays{own: 3 * time.Second, more: true}},
		"at the bound":                {attempts: 1, number: 3, pauseMax: 3 * time.Second, want: delays{own: 3 * time.Second, more: true}},
		"above the bound":             {attempts: 1, number: 3, pauseMax: 2 * time.Second, want: delays{own: time.Second, more: true}},
		"asked":                       {attempts: 1, asked: quota.Asked{After: time.Minute}, want: delays{obeyed: 61 * time.Second, more: true}},
		"stopped, the third time":     {attempts: 3, asked: quota.Asked{Stop: true}, want: delays{obeyed: 4*time.Minute + time.Second, more: true}},
	} {
		p := Policy{c: Config{Backoff: thrice{}, MaxRetryAfter: 5 * time.Minute, Rand: most{}}, maxAttempts: c.most, pauseMax: c.pauseMax}
		var got delays
		got.own, got.obeyed, got.more = p.next(c.attempts, c.number, c.last, c.asked)
		assert.Equal(t, c.want, got, name)
	}
}
