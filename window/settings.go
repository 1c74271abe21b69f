package window

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Defaults and bounds of the settings.
const (
	// DefaultInitial and DefaultSsthresh: "suitable starting values are e.g. 20 and 1024" (seed 4).
	DefaultInitial  = 20
	DefaultSsthresh = 1024
	// DefaultFactor: "set sshthres to cwnd * 0.5" (seed 4); RFC 5681, equation 4.
	DefaultFactor = 0.5
	// MinWindow: cwnd never falls below 1. Repeated halving otherwise reaches 0
	// in an outage, and nothing is ever sent again.
	MinWindow = 1
	// MaxWindow is the largest window. Our choice: more than any one process
	// can hold open, and small enough that counting never loses precision.
	MaxWindow = 1 << 20
	// MaxGap bounds State.Gap, so that no law can close a window for good.
	// Our choice.
	MaxGap = time.Minute
)

// Settings say where a window starts, how far it may go, and how much a law
// keeps of it at a cut. Zero fields take the documented default.
type Settings struct {
	// Initial is the window at the start, in attempts: Min to Max; 0 means
	// DefaultInitial (or the nearest bound). Tahoe also restarts there at
	// every cut.
	Initial float64
	// Ssthresh is the slow-start threshold at the start, in attempts: 1 to
	// MaxWindow; 0 means DefaultSsthresh.
	Ssthresh float64
	// Factor is what a cut keeps of the window: greater than 0, less than 1; 0
	// means DefaultFactor. "If the allowed rate is supposed to be fairly stable,
	// use a factor closer to 1 ... (say, 0.9)" (seed 4). Laws without a
	// multiplicative decrease pay no heed to it.
	Factor float64
	// Min and Max bound the window, in attempts: 1 <= Min <= Max <= MaxWindow;
	// 0 means 1 and MaxWindow.
	Min, Max float64
	// Timed makes the window measure round-trip times though the law needs none.
	Timed bool
}

// WithDefaults returns s with defaults in the place of zeros, or an error that
// names the first setting that is wrong, its value, and what is allowed.
func (s Settings) WithDefaults() (Settings, error) {
	s.Min = orDefault(s.Min, MinWindow)
	s.Max = orDefault(s.Max, MaxWindow)
	if err := CheckRange("minimum window", s.Min, MinWindow, MaxWindow); err != nil {
		return s, err
	}
	if err := CheckRange("maximum window", s.Max, s.Min, MaxWindow); err != nil {
		return s, err
	}
	s.Initial = orDefault(s.Initial, min(max(DefaultInitial, s.Min), s.Max))
	s.Ssthresh = orDefault(s.Ssthresh, DefaultSsthresh)
	s.Factor = orDefault(s.Factor, DefaultFactor)
	if err := CheckRange("initial window", s.Initial, s.Min, s.Max); err != nil {
		return s, err
	}
	if err := CheckRange("initial ssthresh", s.Ssthresh, MinWindow, MaxWindow); err != nil {
		return s, err
	}
	if !(s.Factor > 0 && s.Factor < 1) {
		return s, fmt.Errorf("decrease factor: %v is not allowed, want a number greater than 0 and less than 1", s.Factor)
	}
	return s, nil
}

// CheckRange returns an error that names the setting, unless lo <= v <= hi.
func CheckRange(setting string, v, lo, hi float64) error {
	if v >= lo && v <= hi && !math.IsNaN(v) {
		return nil
	}
	// Bounds in full: 1048576, not 1.048576e+06.
	plain := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	return fmt.Errorf("%s: %v is not allowed, want a number from %s to %s", setting, v, plain(lo), plain(hi))
}

func orDefault(v, fallback float64) float64 {
	if v == 0 {
		return fallback
	}
	return v
}
