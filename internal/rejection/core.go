// Package rejection is the pure core of package throttle.
package rejection

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/internal/sliding"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Core is the throttle without its lock. It counts requests and accepts, for each criticality separately,
// and decides which requests go. It is pure: no goroutine, lock, context, clock or global randomness.
//
// now is the time of the event since any start that stays the same; a time before the last one counts as the last
// one. Make a Core with New.
type Core struct {
	rules Settings
	// levels has a level for each criticality, the least critical first.
	levels [tag.CriticalPlus - tag.Sheddable + 1]level
}

type level struct {
	// requests counts requests that were answered or rejected. The accepts are marked.
	requests sliding.Counter
	// sent is the time when the last request went; at first so long ago that the next one goes.
	sent time.Duration
}

// buckets is the number of parts of the window. Our choice: two seconds each at two minutes.
const buckets = 60

// New returns a core without requests, or an error that names the wrong setting.
func New(s Settings) (Core, error) {
	s, err := s.withDefaults()
	if err != nil {
		return Core{}, err
	}
	c := Core{rules: s}
	for i := range c.levels {
		c.levels[i] = level{requests: sliding.New(s.Window, buckets), sent: -s.Probe}
	}
	return c, nil
}

// Asked reports whether a request of the criticality may be sent. If not, it counts as a request that the
// service did not accept. If so, Ended has to follow.
func (c *Core) Asked(now time.Duration, of tag.Criticality) bool {
	l := c.level(of)
	if p := c.Rejection(now, of); p > 0 && c.rules.Rand.Float64() < p {
		l.requests.Added(now, false)
		return false
	}
	l.sent = max(l.sent, now)
	return true
}

// Ended counts a request at its end. Overload and Timeout are no accepts; the zero Outcome does not count.
// Requests do not count when they are sent: a client that starts with many at once must not reject its own.
func (c *Core) Ended(now time.Duration, of tag.Criticality, o window.Outcome) {
	if o.Valid() {
		c.level(of).requests.Added(now, !o.Overloaded())
	}
}

// Rejection is the probability with which a request of the criticality is rejected, from 0 to less than
// 1.
//
//	"Client request rejection probability: max(0, (requests - K * accepts) / (requests + 1))"
//
// (SRE book, chapter 21, Handling Overload, equation 21-1.) It is 0 if the criticality sent no request
// for the time Settings.Probe.
func (c *Core) Rejection(now time.Duration, of tag.Criticality) float64 {
	l := c.level(of)
	if now-l.sent >= c.rules.Probe {
		return 0
	}
	requests, accepts := c.Counts(now, of)
	return max(0, (float64(requests)-float64(c.rules.K*float64(accepts)))/(float64(requests)+1))
}

// Counts returns the requests, the rejected ones among them, and the accepts within the window.
func (c *Core) Counts(now time.Duration, of tag.Criticality) (requests, accepts int) {
	sum := c.level(of).requests.Sum(now)
	return sum.All, sum.Marked
}

// Window is the time that is looked back upon.
func (c *Core) Window() time.Duration { return c.rules.Window }

// level is the level of the criticality, an invalid one being the nearest.
func (c *Core) level(of tag.Criticality) *level {
	return &c.levels[min(max(of, tag.Sheddable), tag.CriticalPlus)-tag.Sheddable]
}

// Settings has the rules of a Core, as throttle.Config. A nil Rand is a source with a fixed seed.
type Settings struct {
	Window time.Duration
	K      float64
	Probe  time.Duration
	Rand   *rand.Rand
}

func (s Settings) withDefaults() (Settings, error) {
	s.Rand = cmp.Or(s.Rand, rand.New(rand.NewPCG(3, 3)))
	err := cmp.Or(
		// "each client task keeps the following information for the last two minutes of its history: requests,
		// accepts" (SRE book, chapter 21).
		check.Duration("Window", &s.Window, 2*time.Minute, time.Second, time.Hour),
		// "we generally prefer the 2x multiplier" (SRE book, chapter 21). Twice as much as the service accepts
		// reaches it, so that a service that takes more again is noticed soon.
		check.Number("K", &s.K, 2, 1, 100),
	)
	// Our choice. If all requests are refused, the formula alone lets about one pass in a window; a service that is
	// back would be found after minutes.
	if s.Probe = cmp.Or(s.Probe, time.Second); s.Probe < time.Millisecond || s.Probe > s.Window {
		err = cmp.Or(err, check.Wrong("Probe", s.Probe, "a duration from 1ms to the window, %v", s.Window))
	}
	return s, err
}
