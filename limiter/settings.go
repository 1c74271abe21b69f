package limiter

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/window"
)

const (
	// defaultPauseMin and defaultPauseMax: a 60 s outage is met with some 360 requests of Tahoe 0.9 instead
	// of 8000 (scenario outage-pause of aimd sim).
	defaultPauseMin = 50 * time.Millisecond
	defaultPauseMax = 5 * time.Second
	// defaultMaxRetryAfter: our choice; a mistaken or malicious header must not stop a client permanently.
	defaultMaxRetryAfter = 5 * time.Minute
	// small is the window below which the gap alone sets the rate, as in package window.
	small = 4
	// rest is the gap from which, after one cut in a row of each restEvery, an attempt comes at once. Under a law that
	// catches up a shorter gap is left out, too. At 5 of 140 services that refuse after a rest (TestHarm) the law takes
	// more than twice as long as others; without that at 11.
	rest, restEvery = 500 * time.Millisecond, 20
	// minRate and maxRate bound Settings.MaxRate: from some nine sends a day to one each microsecond. Our choice. An
	// amount is 1 at least, so minRate is the least MaxAmountRate too.
	minRate, maxRate = 0.0001, 1_000_000
	// longAgo is before the start by as long as any gap.
	longAgo = -10_000 * time.Second
)

// Settings are the rules of a Gate. aimd.Config documents the fields.
type Settings struct {
	Window                 window.Settings
	PauseMin, PauseMax     time.Duration
	MaxRetryAfter          time.Duration
	MaxRate, MaxAmountRate float64
	QuotaReserve           float64
	MaxFailures            int
	Shadow                 bool
	Rand                   *rand.Rand
}

// WithDefaults returns s with defaults instead of zeros, or an error that names the first wrong setting.
func (s Settings) WithDefaults() (Settings, error) {
	w, err := s.Window.WithDefaults()
	s.Window = w
	if s.PauseMax >= 0 {
		err = cmp.Or(err, check.Duration("PauseMax", &s.PauseMax, defaultPauseMax, time.Millisecond, time.Hour))
		err = cmp.Or(err, check.Duration("PauseMin", &s.PauseMin, min(defaultPauseMin, s.PauseMax), time.Millisecond, s.PauseMax))
	}
	rate, amountRate := s.MaxRate, s.MaxAmountRate // 0: no bound
	s.Rand = cmp.Or(s.Rand, rand.New(rand.NewPCG(4, 4)))
	err = cmp.Or(
		err,
		check.Duration("MaxRetryAfter", &s.MaxRetryAfter, defaultMaxRetryAfter, time.Millisecond, 24*time.Hour),
		check.Number("MaxRate", &rate, minRate, minRate, maxRate),
		check.Number("MaxAmountRate", &amountRate, minRate, minRate, mostAmount),
		check.Number("QuotaReserve", &s.QuotaReserve, 0, 0, 1),
	)
	return s, err
}

// apart is the least time from the send of an operation of this amount to the next, 0 without a rate. An operation
// that says no amount costs 1.
func (s Settings) apart(amount float64) time.Duration {
	gap := 0.
	if s.MaxRate > 0 {
		gap = 1 / s.MaxRate
	}
	if s.MaxAmountRate > 0 {
		gap = max(gap, min(max(1, amount)/s.MaxAmountRate, longestGap.Seconds()))
	}
	return time.Duration(math.Ceil(gap * float64(time.Second)))
}
