package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/internal/sliding"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// ErrBudget: the budget has no retry left; the operation fails at once. The errors of Budget.Admit wrap it. The request was
// not sent, and other guards do not count the attempt.
var ErrBudget = verdict.With(errors.New("aimd: retry budget exhausted"), verdict.Facts{Reach: verdict.Unsent})

// BudgetConfig has the settings of a Budget. Zero fields take the documented default.
type BudgetConfig struct {
	// Share is the greatest share of requests that may be retries: greater than 0, less than 1; 0 means 0.1.
	Share float64
	// Window is the time over which the share holds: 1 s to 1 h; 0 means 10 s.
	Window time.Duration
	// Floor is the number of retries that are allowed in a Window in any case; 0 means 3; negative: no retries.
	Floor int
}

func (c BudgetConfig) withDefaults() (BudgetConfig, error) {
	// The floor is our choice: one operation, or two, can use up their retries without other requests. A client of
	// three requests a second has its three retries by the share.
	c.Floor = max(cmp.Or(c.Floor, 3), -1)
	return c, cmp.Or(
		// "only 10% of outgoing requests can be retries" ("Safe Client Behaviour", 2018).
		check.Share("Share", &c.Share, 0.1),
		// Our choice. Short, so that the share of a good time is soon used up in an outage.
		check.Duration("Window", &c.Window, 10*time.Second, time.Second, time.Hour),
	)
}

// Budget is a guard that bounds the retries of its users to a share of their requests. One Budget is for one
// service: share it among all callers of the process. Put it last among the guards: requests that other guards
// reject must not count. It is safe for any number of goroutines.
//
//	"Limit retries to a percentage of total outgoing requests." ("Safe Client Behaviour", 2018)
//
// Invariant: whenever a retry goes, no more than the share of all requests are retries, over the window
// and also over its newest tenth, or no more than the floor. Without the tenth, the share of the whole
// window would go in one burst when an outage begins.
type Budget struct {
	clock clock.Clock
	made  time.Time
	// own is the Share of its Config.
	own float64

	mu     sync.Mutex
	config BudgetConfig
	// sent counts all attempts; retries are marked.
	sent sliding.Counter
}

// The window has 50 parts, and the newest tenth 5.
const (
	buckets       = 50
	newestBuckets = buckets / 10
)

// NewBudget returns a budget without requests, or an error that names the wrong setting, its value and
// the allowed ones.
func NewBudget(c BudgetConfig) (*Budget, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("retry: %w", err)
	}
	source := clock.New()
	return &Budget{clock: source, made: source.Now(), own: c.Share, config: c, sent: sliding.New(c.Window, buckets)}, nil
}

// Admit counts an operation's attempt. The first (or 0, not known) is always admitted; the others are
// retries, and get an [ErrBudget] when the budget is exhausted.
func (b *Budget) Admit(_ context.Context, attempt int) error {
	return b.AdmitAt(b.clock.Since(b.made), attempt)
}

// AdmitAt is Admit for a program with a clock of its own: now is the time since any start that stays the same. A time
// before the last one counts as the last one.
func (b *Budget) AdmitAt(now time.Duration, attempt int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	retry := attempt > 1
	if retry {
		over, sent := b.config.Window, b.sent.Sum(now)
		if b.allows(sent) {
			over, sent = over*newestBuckets/buckets, b.sent.Within(now, newestBuckets)
		}
		if !b.allows(sent) {
			return fmt.Errorf("%w: %d of %d requests in %v were retries, allowed are %g%%", ErrBudget, sent.Marked, sent.All, over, 100*b.config.Share)
		}
	}
	b.sent.Added(now, retry)
	return nil
}

func (b *Budget) allows(sent sliding.Counts) bool {
	// Both with the one that is asked for.
	retries, requests := sent.Marked+1, sent.All+1
	return retries <= b.config.Floor || float64(retries) <= b.config.Share*float64(requests)
}

// Ended makes no difference: a retry is paid for however it ends.
func (b *Budget) Ended(context.Context, window.Outcome) {}

// SetShare changes the share: greater than 0, less than 1; 0 brings the one of NewBudget back. If it returns an
// error, the old one stays.
func (b *Budget) SetShare(share float64) error {
	if err := check.Share("Share", &share, b.own); err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.config.Share = share
	return nil
}
