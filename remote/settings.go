package remote

import (
	"cmp"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/internal/setting"
)

// Defaults of the settings.
const (
	// defaultPeriod: "period = 300 // Once every 5 minutes" (Safe Client Behaviour).
	defaultPeriod = 5 * time.Minute
	// defaultTimeout: our choice. Longer than a good source ever takes, and not so
	// long that a program cannot start behind a bad one.
	defaultTimeout = 10 * time.Second
)

// Settings are what a Client may be made with. Zero fields take the documented
// default.
type Settings struct {
	// Period is the time from one look at the source to the next, on average:
	// they are jittered (package schedule), so that many clients never ask together.
	// 1 s to 24 h; 0 means 5 min.
	Period time.Duration
	// Timeout bounds one look at the source, the first one in Start among them:
	// 1 ms to 10 min; 0 means 10 s.
	Timeout time.Duration
	// Store is the path of a file, in a directory that exists, that keeps the last good
	// document for the next start, with mode 0600; "": none. Something else of that name
	// that is no regular file is left alone, and Snapshot.StoreError names it; a link is
	// followed once, and the file behind it replaced.
	Store string
	// Observer is called with the state after each look at the source, whatever
	// came of it, by the goroutine that looked: the place for a line in a log. It
	// should be quick, and must not call Close. nil: none.
	Observer func(Snapshot)
	// Clock is the source of time; nil: the real one.
	Clock clock.Clock
}

func (s Settings) withDefaults() (Settings, error) {
	if s.Clock == nil {
		s.Clock = clock.New()
	}
	err := cmp.Or(
		setting.Duration("period", &s.Period, defaultPeriod, time.Second, 24*time.Hour),
		setting.Duration("timeout", &s.Timeout, defaultTimeout, time.Millisecond, 10*time.Minute),
	)
	return s, err
}
