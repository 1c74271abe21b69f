package window

// Defaults and bounds of the settings.
const (
	// DefaultSsthresh: "suitable starting values are e.g. 20 and 1024" (the text).
	DefaultSsthresh = 1024
	// MinWindow: cwnd never falls below 1. Repeated halving otherwise reaches 0 in an outage, and no
	// attempt is ever sent again.
	MinWindow = 1
	// MaxWindow is the largest window. Our choice: more than any one process can hold open, and small
	// enough that counting never loses precision.
	MaxWindow = 1 << 20
)

// Settings say where a window starts, its bounds, and which part a cut keeps. Zero fields take the
// documented default.
type Settings struct {
	// Initial is the window at the start, in attempts: Min to Max; 0 means 20, or the nearest bound.
	// Tahoe also restarts there at every cut.
	Initial float64
	// Ssthresh is the slow-start threshold at the start, in attempts: 1 to MaxWindow; 0 means
	// DefaultSsthresh.
	Ssthresh float64
	// Factor is the part of the window that a cut keeps: greater than 0, less than 1; 0 means 0.5. Laws
	// without a multiplicative decrease ignore it.
	Factor float64
	// Min and Max bound the window, in attempts: 1 <= Min <= Max <= MaxWindow; 0 means 1 and MaxWindow.
	Min, Max float64
	// Timed makes the window measure round-trip times though the law needs none.
	Timed bool
}
