package remote

import (
	"time"

	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/schedule"
)

// Applier brings documents to a part of the program: Limiters, Features,
// ToPolicy, ToBudget, ToSchedule, or one of your own.
//
// A document is put in force in two steps. First every applier of a Client is
// asked whether it can take it; if one cannot, nothing changes anywhere. Then each
// applies it. A Client calls its appliers one at a time; they must not call the
// Client's Refresh or Close.
type Applier interface {
	// Check returns an error, a *FieldError best, if the document, which is
	// valid, does not fit here. It changes nothing.
	Check(Document) error
	// Apply puts a document in force that Check has let pass.
	Apply(Document)
}

// ToPolicy brings retry.max_attempts and retry.max_pause to the policy, as its
// caps: how often is in the place of what the policy has, how long is at most
// what the policy's backoff says. Without them the caps are those that the policy
// has now. It panics if p is nil: that one is everybody's.
func ToPolicy(p *retry.Policy) Applier {
	if p == nil {
		panic("remote: ToPolicy with a nil policy")
	}
	return policy{p, p.Caps()}
}

type policy struct {
	p   *retry.Policy
	own retry.Caps
}

// Check: caps that are valid fit any policy.
func (policy) Check(Document) error { return nil }

func (a policy) Apply(d Document) {
	caps := a.own
	override(&caps.MaxAttempts, d.Retry.MaxAttempts)
	override(&caps.PauseMax, d.Retry.MaxPause)
	_ = a.p.SetCaps(caps)
}

// ToBudget brings retry.budget_share to the budget. Without it the share is the
// one that the budget has now.
func ToBudget(b *retry.Budget) Applier { return budget{b, b.Settings()} }

type budget struct {
	b   *retry.Budget
	own retry.BudgetSettings
}

// Check: a share that is valid fits any budget.
func (budget) Check(Document) error { return nil }

func (a budget) Apply(d Document) {
	s := a.own
	override(&s.Share, d.Retry.BudgetShare)
	_ = a.b.Reconfigure(s)
}

// ToSchedule brings schedule.period to the schedule. Without it the period is
// the one that the schedule has now.
func ToSchedule(s *schedule.Schedule) Applier { return period{s, s.Snapshot().Period} }

type period struct {
	s   *schedule.Schedule
	own time.Duration
}

// Check: a period that is valid fits any schedule.
func (period) Check(Document) error { return nil }

func (a period) Apply(d Document) {
	p := a.own
	override(&p, d.Schedule.Period)
	_ = a.s.SetPeriod(p)
}

// override sets what the document says, if it says something.
func override[T comparable](setting *T, said T) {
	var nothing T
	if said != nothing {
		*setting = said
	}
}
