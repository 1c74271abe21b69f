package window

// Defaults and bounds of the settings.
const (
	// DefaultSsthresh: "suitable starting values are e.g. 20 and 1024" (the text).
	DefaultSsthresh = 1024
	// MinWindow: cwnd never falls below 1. At 0 no attempt would ever be sent again.
	MinWindow = 1
	// MaxWindow is the largest window. Our choice: counting never loses precision.
	MaxWindow = 1 << 20
)

// Settings say where a window starts, its bounds, and which part a cut keeps.
type Settings struct {
	// Initial is the window at the start, in attempts: Min to Max; 0 means 20, or the nearest bound.
	// Tahoe also restarts there at every cut.
	Initial float64
	// Ssthresh is the slow-start threshold at the start: 1 to MaxWindow; 0 means DefaultSsthresh.
	Ssthresh float64
	// Factor is the part of the window that a cut keeps: greater than 0, less than 1; 0 means 0.5. Laws
	// without a multiplicative decrease ignore it.
	Factor float64
	// Min and Max bound the window, in attempts: 1 <= Min <= Max <= MaxWindow; 0 means 1 and MaxWindow.
	Min, Max float64
	// Timed makes the window measure round-trip times though the law needs none.
	Timed bool
}
