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
	// defaultQueueBound: our choice; a queue takes up what a moment brings, and
	// no queue helps when it is too much for longer than that. The SRE book,
	// chapter "Addressing Cascading Failures", wants it short against the
	// number of threads, "50% or less".
	defaultQueueBound = 64
	// defaultQueueTime: our choice; who waits in front of a screen hardly notices it.
	defaultQueueTime = 200 * time.Millisecond
	// defaultRetryAfterMin and defaultRetryAfterMax: our choice. HTTP's
	// Retry-After has a grain of a second, and half a minute after an outage
	// all are back.
	defaultRetryAfterMin = time.Second
	defaultRetryAfterMax = 30 * time.Second
)

// Settings are the rules of a Controller. Zero fields take the documented default.
type Settings struct {
	// QueueBound is the most requests that wait: 1 or more; 0 means
	// 64; negative: nobody waits, what does not fit is shed.
	QueueBound int
	// QueueTime is the longest that a request waits, then it is shed: 1 ms to 1
	// min; 0 means 200 ms.
	QueueTime time.Duration
	// Rules say who is shed before, or after, all others; the first that
	// matches counts.
	Rules []Rule
	// RetryAfterMin and RetryAfterMax bound the mean of what those who are shed
	// are told to wait: 100 ms <= RetryAfterMin <= RetryAfterMax <= 1 h. 0 means
	// 1 s and 30 s. See the package's comment.
	RetryAfterMin, RetryAfterMax time.Duration
	// Rand is the source of jitter, for one Controller alone; nil: one with a random
	// seed.
	Rand *rand.Rand
}

func (s Settings) withDefaults() (Settings, error) {
	if s.QueueBound == 0 {
		s.QueueBound = defaultQueueBound
	}
	s.QueueBound = max(0, s.QueueBound)
	if err := setting.Duration("queue time", &s.QueueTime, defaultQueueTime, time.Millisecond, time.Minute); err != nil {
		return s, err
	}
	if err := setting.Duration("longest Retry-After", &s.RetryAfterMax, min(max(defaultRetryAfterMax, s.RetryAfterMin), time.Hour), 100*time.Millisecond, time.Hour); err != nil {
		return s, err
	}
	if err := setting.Duration("shortest Retry-After", &s.RetryAfterMin, min(defaultRetryAfterMin, s.RetryAfterMax), 100*time.Millisecond, s.RetryAfterMax); err != nil {
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
