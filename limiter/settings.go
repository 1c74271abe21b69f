package limiter

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

const (
	// DefaultPauseMin and DefaultPauseMax: a 60 s outage is met with some 360 requests of Tahoe 0.9 instead
	// of 8000 (scenario outage-pause of aimd sim).
	DefaultPauseMin = 50 * time.Millisecond
	DefaultPauseMax = 5 * time.Second
	// DefaultPatience: our choice. With fewer, operations that lose their place in an ordinary overshoot back
	// off (TestRetryAfterOfASmoothRateCap in package sim).
	DefaultPatience = 5
	// DefaultMaxRetryAfter: our choice; a mistaken or malicious header must not stop a client permanently.
	DefaultMaxRetryAfter = 5 * time.Minute
	// rest is the gap from which, after one cut in a row of each restEvery, an attempt comes at once.
	rest, restEvery = 500 * time.Millisecond, 20
	// minRate and maxRate bound Settings.MaxRate: from some nine sends a day to one each microsecond. Our choice.
	minRate, maxRate = 0.0001, 1_000_000
	// longAgo is before the start by as long as any gap.
	longAgo = -10_000 * time.Second
)

// Settings are the rules of a Gate or a Machine. aimd.Rules documents the fields.
type Settings struct {
	Window             window.Settings
	QueueBound         int
	PauseMin, PauseMax time.Duration
	Patience           int
	MaxRetryAfter      time.Duration
	MaxRate, Reserve   float64
	Rand               *rand.Rand
}

// Backoffs is the number of the own backoff that is due after n failures in a row, the latest with the
// outcome last; 0: none. After overloads it begins when the patience is over: the window paces them.
func (s Settings) Backoffs(failures int, last window.Outcome) int {
	if !last.Overloaded() {
		return failures
	}
	return max(0, failures-cmp.Or(s.Patience, DefaultPatience))
}

// WithDefaults returns s with defaults instead of zeros, or an error that names the first wrong setting.
func (s Settings) WithDefaults() (Settings, error) {
	w, err := s.Window.WithDefaults()
	s.Window = w
	if s.PauseMax >= 0 {
		err = cmp.Or(err, setting.Duration("PauseMax", &s.PauseMax, DefaultPauseMax, time.Millisecond, time.Hour))
		err = cmp.Or(err, setting.Duration("PauseMin", &s.PauseMin, min(DefaultPauseMin, s.PauseMax), time.Millisecond, s.PauseMax))
	}
	rate := s.MaxRate // 0: no bound
	s.Rand = cmp.Or(s.Rand, rand.New(rand.NewPCG(4, 4)))
	err = cmp.Or(
		err,
		setting.Duration("MaxRetryAfter", &s.MaxRetryAfter, DefaultMaxRetryAfter, time.Millisecond, 24*time.Hour),
		setting.Count("Patience", &s.Patience, DefaultPatience, 1, math.MaxInt),
		setting.Number("MaxRate", &rate, minRate, minRate, maxRate),
		setting.Number("Reserve", &s.Reserve, 0, 0, 1),
		setting.Optional("QueueBound", s.QueueBound),
	)
	return s, err
}

// apart is the least time between two sends, 0 without a MaxRate.
func (s Settings) apart() time.Duration {
	if s.MaxRate == 0 {
		return 0
	}
	return time.Duration(math.Ceil(float64(time.Second) / s.MaxRate))
}
