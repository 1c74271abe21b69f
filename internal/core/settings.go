package core

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

// Defaults of the settings.
const (
	// DefaultPauseMin and DefaultPauseMax: a 60 s outage is met with some 380
	// requests of Tahoe 0.9 instead of 8000 (TestOutageWithPauses in package sim), and a service
	// that comes back is found again within seconds.
	DefaultPauseMin = 50 * time.Millisecond
	DefaultPauseMax = 5 * time.Second
	// DefaultPatience: our choice. With fewer, operations that lose their place in an
	// ordinary overshoot already back off, and with 2 a client gets a fifteenth of a
	// smooth rate cap with short answers and a Retry-After
	// (TestRetryAfterOfASmoothRateCap in package sim).
	DefaultPatience = 5
	// DefaultRetryAfterMax: our choice; a mistaken or malicious header must not
	// stop a client for good.
	DefaultRetryAfterMax = 5 * time.Minute
)

// Settings are the rules of a Gate or a Core. limiter.Rules documents the fields.
type Settings struct {
	Window             window.Settings
	QueueBound         int
	PauseMin, PauseMax time.Duration
	Patience           int
	RetryAfterMax      time.Duration
	Rand               *rand.Rand
}

// Backoffs is how many times an operation has to have backed off by itself after n failures
// in a row, the latest with the outcome last: the number of the delay that is due now, 0
// for no delay. See Gate.RetryDelay.
func (s Settings) Backoffs(failures int, last window.Outcome) int {
	if !last.Overloaded() {
		return failures
	}
	return max(0, failures-cmp.Or(s.Patience, DefaultPatience))
}

// WithDefaults returns s with defaults instead of zeros, or an error that names the wrong
// setting.
func (s Settings) WithDefaults() (Settings, error) {
	var err error
	if s.Window, err = s.Window.WithDefaults(); err != nil {
		return s, err
	}
	if s.PauseMax >= 0 {
		if err := setting.Duration("PauseMax", &s.PauseMax, DefaultPauseMax, time.Millisecond, time.Hour); err != nil {
			return s, err
		}
		if err := setting.Duration("PauseMin", &s.PauseMin, min(DefaultPauseMin, s.PauseMax), time.Millisecond, s.PauseMax); err != nil {
			return s, err
		}
	}
	if err := setting.Duration("RetryAfterMax", &s.RetryAfterMax, DefaultRetryAfterMax, time.Millisecond, 24*time.Hour); err != nil {
		return s, err
	}
	if err := setting.Count("Patience", &s.Patience, DefaultPatience, 1, math.MaxInt); err != nil {
		return s, err
	}
	if err := setting.Optional("QueueBound", s.QueueBound); err != nil {
		return s, err
	}
	if s.Rand == nil {
		s.Rand = rand.New(rand.NewPCG(4, 4))
	}
	return s, nil
}
