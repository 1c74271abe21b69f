package remote

import (
	"fmt"
	"time"

	"github.com/benbjohnson/clock"
)

// Defaults of the settings.
const (
	// DefaultPeriod: "period = 300 // Once every 5 minutes" (seed 3).
	DefaultPeriod = 5 * time.Minute
	// DefaultTimeout: our choice. Longer than a good source ever takes, and not so
	// long that a program cannot start behind a bad one.
	DefaultTimeout = 10 * time.Second
)

// Settings are what a Client may be made with. Zero fields take the documented
// default.
type Settings struct {
	// Period is the time from one look at the source to the next, on average:
	// each falls on any moment of its cell of a grid (package schedule), so that
	// many clients never ask together. 1 s to 24 h; 0 means DefaultPeriod.
	Period time.Duration
	// Timeout bounds one look at the source, the first one in Start among them:
	// 1 ms to 10 min; 0 means DefaultTimeout.
	Timeout time.Duration
	// Store is the path of a file that keeps the last good document for the next
	// start, with mode 0600, in a directory that is there; "": none.
	Store string
	// Observer is called with the state after each look at the source, whatever
	// came of it, by the goroutine that looked: the place for a line in a log. It
	// should be quick, and must not call Close. nil: none.
	Observer func(Snapshot)
	// Clock is the source of time; nil: the real one.
	Clock clock.Clock
}

func (s Settings) withDefaults() (Settings, error) {
	if s.Period == 0 {
		s.Period = DefaultPeriod
	}
	if s.Period < time.Second || s.Period > 24*time.Hour {
		return s, fmt.Errorf("period: %v is not allowed, want a duration from 1s to 24h", s.Period)
	}
	if s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
	if s.Timeout < time.Millisecond || s.Timeout > 10*time.Minute {
		return s, fmt.Errorf("timeout: %v is not allowed, want a duration from 1ms to 10m", s.Timeout)
	}
	if s.Clock == nil {
		s.Clock = clock.New()
	}
	return s, nil
}
