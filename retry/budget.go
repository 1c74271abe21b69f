package retry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/budget"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/window"
)

// ErrBudget: the budget has no retry left; the operation fails at once. The errors of Budget.Admit wrap it.
var ErrBudget = errors.New("aimd: retry budget exhausted")

type budgetError struct {
	// requests are the requests within the time over, and retries their retries.
	requests, retries int
	// over is the budget's window, or its newest tenth if the share is used up there alone.
	over  time.Duration
	share float64
}

func (e *budgetError) Error() string {
	return fmt.Sprintf("%v: %d of %d requests in %v were retries, allowed are %g%%",
		ErrBudget, e.retries, e.requests, e.over, 100*e.share)
}

func (e *budgetError) Unwrap() error { return ErrBudget }

// Facts says that the request was not sent; other guards do not count the attempt.
func (e *budgetError) Facts() attempt.Facts { return attempt.Facts{Reach: attempt.Unsent} }

// BudgetConfig has the settings of a Budget. Zero fields take the documented default.
type BudgetConfig struct {
	// Share is the greatest share of requests that may be retries: greater than 0, less than 1; 0 means 0.1.
	Share float64
	// Window is the time over which the share holds: 1 s to 1 h; 0 means 10 s.
	Window time.Duration
	// Floor is the number of retries that are allowed in a Window in any case; 0 means 3; negative: no retries.
	Floor int
}

// Budget is a guard that bounds the retries of its users to a share of their requests. One Budget is for one
// service: share it among all callers of the process. Put it last among the guards: requests that other guards
// reject must not count. It is safe for any number of goroutines.
type Budget struct {
	clock clock.Clock
	// made is the start of the core's time. share is the Share of its Config.
	made  time.Time
	share float64
	mu    sync.Mutex
	core  budget.Core
}

// NewBudget returns a budget without requests, or an error that names the wrong setting, its value and
// the allowed ones.
func NewBudget(c BudgetConfig) (*Budget, error) {
	core, err := budget.New(budget.Settings{Share: c.Share, Window: c.Window, Floor: c.Floor})
	if err != nil {
		return nil, fmt.Errorf("retry: %w", err)
	}
	source := clock.New()
	return &Budget{clock: source, made: source.Now(), share: core.Share, core: core}, nil
}

// Admit counts an operation's attempt. The first (or 0, not known) is always admitted; the others are
// retries, and get an [ErrBudget] when the budget is exhausted.
func (b *Budget) Admit(_ context.Context, attempt int) error {
	now := b.clock.Since(b.made)
	b.mu.Lock()
	defer b.mu.Unlock()
	if attempt <= 1 {
		b.core.Sent(now)
		return nil
	}
	if b.core.Asked(now) {
		return nil
	}
	e := budgetError{share: b.core.Share}
	e.over, e.requests, e.retries = b.core.Exhausted(now)
	return &e
}

// Ended makes no difference: a retry is paid for however it ends.
func (b *Budget) Ended(context.Context, window.Outcome) {}

// SetShare changes the share: greater than 0, less than 1; 0 brings the one of NewBudget back. If it returns an
// error, the old one stays.
func (b *Budget) SetShare(share float64) error {
	if err := check.Share("Share", &share, b.share); err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.core.Share = share
	return nil
}
