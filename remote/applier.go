package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"weak"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/schedule"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Applier brings a document, which is valid, to a part of the program: Limiters.Apply, Features.Apply, ToPolicy,
// ToBudget, ToSchedule, or one of your own. If the document does not fit, the Applier returns an error, preferably
// a setting.Error, and changes nothing. A Client calls its appliers with each new document, one at a time. If an
// Applier returns an error, the appliers before it get the document in force again, at first the zero Document. An
// Applier must not call Refresh.
type Applier func(Document) error

// ToPolicy brings retry.max_attempts and retry.max_pause to the policy, by its SetCaps. It panics if p is nil: all
// share the default policy.
func ToPolicy(p *retry.Policy) Applier {
	required(p, "ToPolicy with a nil policy")
	return func(d Document) error { return p.SetCaps(d.Retry.MaxAttempts, d.Retry.MaxPause) }
}

// ToBudget brings retry.budget_share to the budget. It panics if b is nil.
func ToBudget(b *retry.Budget) Applier {
	required(b, "ToBudget with a nil budget")
	return func(d Document) error { return b.SetShare(d.Retry.BudgetShare) }
}

// ToSchedule brings schedule.period to the schedule. It panics if s is nil.
func ToSchedule(s *schedule.Schedule) Applier {
	required(s, "ToSchedule with a nil schedule")
	return func(d Document) error { return s.SetPeriod(d.Schedule.Period) }
}

func required[T any](v *T, what string) {
	if v == nil {
		panic("remote: " + what)
	}
}

// Limiters brings documents to limiters: window.min and max, retry.max_attempts and retry.max_pause, which turns
// pauses on. If a document lacks a field, the limiter gets its setting at the time of Add. With a retry.Policy a
// limiter keeps to the lower of both attempt limits: bring the document to the policy too, with ToPolicy.
//
// Limiters may be added at any time, as an [aimd.Keyed] makes them, and are not kept alive. It is safe for
// any number of goroutines; the observer of a limiter must not call it. The zero value has no limiters.
type Limiters struct {
	mu sync.Mutex
	// all is guarded by mu, as is the document in force, at first zero.
	all      []tuned
	document Document
}

// tuned is a limiter and the settings that it had when it was added.
type tuned struct {
	limiter weak.Pointer[aimd.Limiter]
	own     aimd.Config
}

// Add adds a limiter and brings the document in force to it. If the document does not fit, the error says why, and
// the limiter keeps its own settings until the next document. Log the error, and use the limiter anyway.
func (ls *Limiters) Add(l *aimd.Limiter) error {
	if l == nil {
		return fmt.Errorf("remote: %w", check.Nil("limiter"))
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t := tuned{weak.Make(l), l.Snapshot().Config}
	if slices.ContainsFunc(ls.living(), func(k tuned) bool { return k.limiter == t.limiter }) {
		return nil
	}
	ls.all = append(ls.all, t)
	if ls.document.Version == 0 {
		return nil
	}
	if err := l.Reconfigure(t.with(ls.document)); err != nil {
		return fmt.Errorf("remote: %w", err)
	}
	return nil
}

// Apply is an Applier: it reconfigures the limiters, or returns an error if the document does not fit a limiter,
// such as a min above the limiter's own max.
func (ls *Limiters) Apply(d Document) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, t := range ls.living() {
		if l := t.limiter.Value(); l != nil {
			c := l.Snapshot().Config
			t.with(d)(&c)
			if _, err := aimd.New(c); err != nil {
				return err
			}
		}
	}
	ls.document = d
	for _, t := range ls.all {
		if l := t.limiter.Value(); l != nil {
			_ = l.Reconfigure(t.with(d)) // one that was added without fitting keeps its settings
		}
	}
	return nil
}

// living forgets the limiters that are no more, and returns the others. Call it with mu.
func (ls *Limiters) living() []tuned {
	ls.all = slices.DeleteFunc(ls.all, func(t tuned) bool { return t.limiter.Value() == nil })
	return ls.all
}

// with gives the limiter the document's fields, and its own settings for those that the document lacks.
func (t tuned) with(d Document) func(*aimd.Config) {
	return func(c *aimd.Config) {
		c.MinWindow = cmp.Or(d.Window.Min, t.own.MinWindow)
		c.MaxWindow = cmp.Or(d.Window.Max, t.own.MaxWindow)
		c.MaxRate = cmp.Or(d.Window.MaxRate, t.own.MaxRate)
		c.MaxAmountRate = cmp.Or(d.Window.MaxAmountRate, t.own.MaxAmountRate)
		c.MaxAttempts = cmp.Or(d.Retry.MaxAttempts, t.own.MaxAttempts)
		c.PauseMax, c.PauseMin = cmp.Or(d.Retry.MaxPause, t.own.PauseMax), t.own.PauseMin
		if c.PauseMax > 0 { // else pauses are off
			c.PauseMin = min(c.PauseMin, c.PauseMax)
		}
	}
}

// ErrFeatureOff: the feature of the request is off; the text names it. Limiters count it as neutral and
// final.
var ErrFeatureOff = errors.New("aimd: feature is off")

// Features refuses the requests of features in a document's features_off. A request belongs to the feature of its
// context's tags (tag.WithFeature). A request without a feature is never refused.
//
// Its Apply is an Applier, and it is an attempt.Guard for limiters and policies: each attempt asks it before it is
// sent. It is safe for any number of goroutines. In the zero value no feature is off.
type Features struct {
	off atomic.Pointer[map[string]bool]
}

// Admit returns an error that matches ErrFeatureOff if the context's feature is off.
func (f *Features) Admit(ctx context.Context, _ int) error {
	feature := tag.FromContext(ctx).Feature
	if off := f.off.Load(); off != nil && (*off)[feature] {
		return featureOff(feature)
	}
	return nil
}

// Ended is there for attempt.Guard; how attempts end makes no difference.
func (f *Features) Ended(context.Context, window.Outcome) {}

// Apply is an Applier: it refuses the features that the document has, and no others.
func (f *Features) Apply(d Document) error {
	off := make(map[string]bool, len(d.FeaturesOff))
	for _, feature := range d.FeaturesOff {
		off[feature] = true
	}
	f.off.Store(&off)
	return nil
}

// featureOff is the ErrFeatureOff of a feature.
type featureOff string

func (f featureOff) Error() string        { return fmt.Sprintf("%v: %q", ErrFeatureOff, string(f)) }
func (f featureOff) Is(target error) bool { return target == ErrFeatureOff }

// Facts says that the service was not asked, and no retry helps.
func (f featureOff) Facts() verdict.Facts {
	return verdict.Facts{Verdict: verdict.Verdict{Meaning: answer.Final}, Reach: verdict.Unsent}
}
