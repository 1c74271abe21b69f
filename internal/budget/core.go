// Package budget bounds retries to a share of all requests. It is the pure core of retry.Budget.
package budget

import (
	"cmp"
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/internal/sliding"
)

// Settings has the rules of a Core; retry.BudgetConfig documents its fields.
type Settings struct {
	Share  float64
	Window time.Duration
	Floor  int
}

func (s Settings) withDefaults() (Settings, error) {
	// The floor is our choice: one operation, or two, can use up their retries without other requests. A client of
	// three requests a second has its three retries by the share.
	s.Floor = max(cmp.Or(s.Floor, 3), -1)
	return s, cmp.Or(
		// "only 10% of outgoing requests can be retries" ("Safe Client Behaviour", 2018).
		check.Share("Share", &s.Share, 0.1),
		// Our choice. Short, so that the share of a good time is soon used up in an outage.
		check.Duration("Window", &s.Window, 10*time.Second, time.Second, time.Hour),
	)
}

// Core is the retry budget without its lock: it counts the attempts that are sent, and decides which retries are
// allowed. It is pure.
//
//	"Limit retries to a percentage of total outgoing requests." ("Safe Client Behaviour", 2018)
//
// Invariant: whenever a retry goes, no more than the share of all requests are retries, over the window
// and also over its newest tenth, or no more than the floor. Without the tenth, the share of the whole
// window would go in one burst when an outage begins.
//
// now is the time of the event since any start that stays the same; a time before the last one counts as the last
// one. Make a Core with New.
type Core struct {
	// Settings are the rules, with defaults filled in. The Share may change.
	Settings
	// sent counts all attempts; retries are marked.
	sent sliding.Counter
}

// The window has 50 parts, and the newest tenth 5.
const (
	buckets       = 50
	newestBuckets = buckets / 10
)

// New returns a budget without requests, or an error that names the wrong setting.
func New(s Settings) (Core, error) {
	s, err := s.withDefaults()
	if err != nil {
		return Core{}, err
	}
	return Core{s, sliding.New(s.Window, buckets)}, nil
}

// Sent counts an operation's first attempt.
func (b *Core) Sent(now time.Duration) { b.sent.Added(now, false) }

// Asked reports whether a retry may be sent, and if so, counts it.
func (b *Core) Asked(now time.Duration) bool {
	allowed := b.allows(b.sent.Sum(now)) && b.allows(b.sent.Within(now, newestBuckets))
	if allowed {
		b.sent.Added(now, true)
	}
	return allowed
}

// allows decides over a span with these counts.
func (b *Core) allows(sent sliding.Counts) bool {
	// Both with the one that is asked for.
	retries, requests := sent.Marked+1, sent.All+1
	return retries <= b.Floor || float64(retries) <= b.Share*float64(requests)
}

// Exhausted returns the time over which a refused retry would exceed the share: the window, or its newest tenth if
// the share is used up only there. It also returns the requests and retries in that time.
func (b *Core) Exhausted(now time.Duration) (over time.Duration, requests, retries int) {
	over, sent := b.Window, b.sent.Sum(now)
	if b.allows(sent) {
		over, sent = over*newestBuckets/buckets, b.sent.Within(now, newestBuckets)
	}
	return over, sent.All, sent.Marked
}
