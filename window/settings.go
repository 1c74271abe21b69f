package window

import (
	"cmp"
	"time"

	"github.com/aimd-go/aimd/internal/check"
)

// Bounds of the settings.
const (
	// MinWindow is the lower bound of cwnd, unless sends are spaced. At 0 no attempt would ever be sent again.
	MinWindow = 1
	// MaxWindow is the largest window. Our choice: counting never loses precision.
	MaxWindow = 1 << 20
)

const (
	// "suitable starting values are e.g. 20 and 1024" (the text).
	defaultInitial, defaultSsthresh = 20, 1024
	// maxGap is the longest gap, so that no law can close a window permanently.
	maxGap = 15 * time.Second
	// maxTrip bounds the round trip. Our choice: a day, so that no State of a file makes a gap of years.
	maxTrip = 24 * time.Hour
	// grain is the gap from which a gap is left out: a timer each costs more.
	grain = time.Millisecond
	// small is the window, in attempts, below which the gap alone sets the rate: a part of an attempt admits a whole
	// one. With 1 for 1.4, the rate would be 1. After one refusal a part admits none: the attempt may have been one too
	// many. From the second in a row on it does again: gaps and pauses hold sends back then.
	small = 4
)

// Settings are the initial size of a window, and its bounds.
type Settings struct {
	// Initial is the window at the start, in attempts: Min to Max; 0 means 20, of which each of the Peers has its part, or the
	// nearest bound.
	Initial float64
	// Min and Max bound the window, in attempts: 1 <= Min <= Max <= MaxWindow; 0 means 1 and MaxWindow.
	Min, Max float64
	// Peers is the number of processes that share the service, this one included: 1 to a million; 0 means 1.
	Peers int
}

// WithDefaults returns s with defaults instead of zeros, or an error that names the first wrong setting.
func (s Settings) WithDefaults() (Settings, error) {
	err := check.Number("Min", &s.Min, MinWindow, MinWindow, MaxWindow)
	err = cmp.Or(err, check.Number("Max", &s.Max, MaxWindow, s.Min, MaxWindow))
	err = cmp.Or(err, check.Count("Peers", &s.Peers, 1, 1, 1_000_000))
	first := min(max(defaultInitial/float64(max(1, s.Peers)), s.Min), s.Max)
	return s, cmp.Or(err, check.Number("Initial", &s.Initial, first, s.Min, s.Max))
}
