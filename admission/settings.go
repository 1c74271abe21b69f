package admission

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
)

// Defaults of the settings.
const (
	// DefaultQueueBound: our choice; a queue takes up what a moment brings, and
	// no queue helps when it is too much for longer than that. The SRE book,
	// chapter "Addressing Cascading Failures", wants it short against the
	// number of threads, "50% or less".
	DefaultQueueBound = 64
	// DefaultQueueTime: our choice; who waits in front of a screen hardly notices it.
	DefaultQueueTime = 200 * time.Millisecond
	// DefaultRetryAfterMin and DefaultRetryAfterMax: our choice. HTTP's
	// Retry-After has a grain of a second, and half a minute after an outage
	// all are back.
	DefaultRetryAfterMin = time.Second
	DefaultRetryAfterMax = 30 * time.Second
)

// Settings are the rules of a Controller. Zero fields take the documented default.
type Settings struct {
	// QueueBound is the most requests that wait: 1 or more; 0 means
	// DefaultQueueBound; negative: nobody waits, what does not fit is shed.
	QueueBound int
	// QueueTime is the longest that a request waits, then it is shed: 1 ms to 1
	// min; 0 means DefaultQueueTime.
	QueueTime time.Duration
	// Rules say who is shed before, or after, all others; the first that
	// matches counts.
	Rules []Rule
	// RetryAfterMin and RetryAfterMax bound the mean of what those who are shed
	// are told to wait: 100 ms <= RetryAfterMin <= RetryAfterMax <= 1 h. 0 means
	// DefaultRetryAfterMin and DefaultRetryAfterMax. See the package's comment.
	RetryAfterMin, RetryAfterMax time.Duration
	// Rand is the source of jitter, for one Controller alone; nil: one with a random
	// seed.
	Rand *rand.Rand
}

func (s Settings) withDefaults() (Settings, error) {
	if s.QueueBound == 0 {
		s.QueueBound = DefaultQueueBound
	}
	s.QueueBound = max(0, s.QueueBound)
	if err := setting.Duration("queue time", &s.QueueTime, DefaultQueueTime, time.Millisecond, time.Minute); err != nil {
		return s, err
	}
	if err := setting.Duration("longest Retry-After", &s.RetryAfterMax, min(max(DefaultRetryAfterMax, s.RetryAfterMin), time.Hour), 100*time.Millisecond, time.Hour); err != nil {
		return s, err
	}
	if err := setting.Duration("shortest Retry-After", &s.RetryAfterMin, min(DefaultRetryAfterMin, s.RetryAfterMax), 100*time.Millisecond, s.RetryAfterMax); err != nil {
		return s, err
	}
	s.Rules = slices.Clone(s.Rules)
	for i, r := range s.Rules {
		if err := r.check(); err != nil {
			return s, fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	if s.Rand == nil {
		s.Rand = rand.New(rand.NewPCG(5, 5))
	}
	return s, nil
}
