package remote

import (
	"cmp"

	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/schedule"
)

// Applier brings documents to a part of the program: Limiters, Features, ToPolicy, ToBudget, ToSchedule, or
// one of your own. A Client calls Check of every applier and, if none returned an error, Apply of each, one at
// a time. They must not call Refresh or Close.
type Applier interface {
	// Check returns an error, an aimd.SettingError best, if the document, which is valid, does not
	// fit here. It changes no setting.
	Check(Document) error
	// Apply puts a document in force that Check has let pass.
	Apply(Document)
}

// ToPolicy brings retry.max_attempts and retry.max_pause to the policy, as its caps. If a document lacks
// them, the policy has the caps that it has now. It panics if p is nil: that is the default policy, which all
// share.
func ToPolicy(p *retry.Policy) Applier {
	own := required(p, "ToPolicy with a nil policy").Caps()
	return applier(func(d Document) {
		_ = p.SetCaps(retry.Caps{
			MaxAttempts: cmp.Or(d.Retry.MaxAttempts, own.MaxAttempts), PauseMax: cmp.Or(d.Retry.MaxPause, own.PauseMax),
		})
	})
}

// ToBudget brings retry.budget_share to the budget. If a document lacks it, the share is the one that the
// budget has now. It panics if b is nil.
func ToBudget(b *retry.Budget) Applier {
	own := required(b, "ToBudget with a nil budget").Settings()
	return applier(func(d Document) {
		s := own
		s.Share = cmp.Or(d.Retry.BudgetShare, s.Share)
		_ = b.Reconfigure(s)
	})
}

// ToSchedule brings schedule.period to the schedule. If a document lacks it, the period is the one that the
// schedule has now. It panics if s is nil.
func ToSchedule(s *schedule.Schedule) Applier {
	own := required(s, "ToSchedule with a nil schedule").Snapshot().Period
	return applier(func(d Document) { _ = s.SetPeriod(cmp.Or(d.Schedule.Period, own)) })
}

// required returns v, or panics if it is nil.
func required[T any](v *T, what string) *T {
	if v == nil {
		panic("remote: " + what)
	}
	return v
}

// applier applies documents; any valid one fits.
type applier func(Document)

func (applier) Check(Document) error { return nil }
func (a applier) Apply(d Document)   { a(d) }
