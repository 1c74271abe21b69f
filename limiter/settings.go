package limiter

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
	// DefaultPatience: our choice. With fewer, operations that lose their place
	// in an ordinary overshoot already back off, and with 2 a smooth rate cap with
	// short answers and a Retry-After gives a fifteenth of what it could
	// (TestRetryAfterOfASmoothRateCap in package sim).
	DefaultPatience = 5
	// DefaultRetryAfterMax: our choice; a mistaken or malicious header must not
	// stop a client for good.
	DefaultRetryAfterMax = 5 * time.Minute
)

// Settings are the rules of a Core. Zero fields take the documented default.
type Settings struct {
	// Window is where the window starts and how far it may go.
	Window window.Settings
	// QueueBound is the most new operations that may wait; 0: no bound.
	QueueBound int
	// PauseMin and PauseMax bound the pauses that double while cut follows cut
	// with no success in between, and an operation's own backoff:
	// 1 ms <= PauseMin <= PauseMax <= 1 h. 0 means DefaultPauseMin and
	// DefaultPauseMax; a negative PauseMax turns both off.
	PauseMin, PauseMax time.Duration
	// Patience is how many overloads in a row an operation takes before it
	// backs off by itself, and how many cuts in a row it takes until a Retry-After
	// shuts the gate for everybody (never less than two): 1 or more; 0 means
	// DefaultPatience.
	Patience int
	// RetryAfterMax is the longest Retry-After that is obeyed, longer ones
	// count as this: 1 ms to 24 h; 0 means DefaultRetryAfterMax.
	RetryAfterMax time.Duration
	// Restore is a state learned earlier, to start from; the zero State: none.
	Restore window.State
	// Rand is the source of jitter. nil: a source with a fixed seed, so that
	// a Core alone always does the same.
	Rand *rand.Rand
}

// backoffs is how often an operation has to have backed off by itself after so
// many failures in a row, last being the outcome of the last of them: the delay
// that is due now is the one of that number, 0: none is. See Core.RetryDelay.
func (s Settings) backoffs(failures int, last window.Outcome) int {
	if !last.Overloaded() {
		return failures
	}
	return max(0, failures-cmp.Or(s.Patience, DefaultPatience))
}

func (s Settings) withDefaults() (Settings, error) {
	var err error
	if s.Window, err = s.Window.WithDefaults(); err != nil {
		return s, err
	}
	if s.PauseMax >= 0 {
		if err := setting.Duration("longest pause", &s.PauseMax, DefaultPauseMax, time.Millisecond, time.Hour); err != nil {
			return s, err
		}
		if err := setting.Duration("shortest pause", &s.PauseMin, min(DefaultPauseMin, s.PauseMax), time.Millisecond, s.PauseMax); err != nil {
			return s, err
		}
	}
	if err := setting.Duration("longest Retry-After", &s.RetryAfterMax, DefaultRetryAfterMax, time.Millisecond, 24*time.Hour); err != nil {
		return s, err
	}
	if err := setting.Count("patience", &s.Patience, DefaultPatience, 1, math.MaxInt); err != nil {
		return s, err
	}
	if err := setting.Optional("queue bound", s.QueueBound); err != nil {
		return s, err
	}
	if s.Rand == nil {
		s.Rand = rand.New(rand.NewPCG(4, 4))
	}
	return s, nil
}
