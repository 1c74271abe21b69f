package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"weak"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/schedule"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
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
	required(p, "ToPolicy with a nil policy")
	return applier(func(d Document) { _ = p.SetCaps(d.Retry.MaxAttempts, d.Retry.MaxPause) })
}

// ToBudget brings retry.budget_share to the budget. If a document lacks it, the share is the one that the
// budget has now. It panics if b is nil.
func ToBudget(b *retry.Budget) Applier {
	required(b, "ToBudget with a nil budget")
	return applier(func(d Document) { _ = b.SetShare(d.Retry.BudgetShare) })
}

// ToSchedule brings schedule.period to the schedule. If a document lacks it, the period is the one that the
// schedule has now. It panics if s is nil.
func ToSchedule(s *schedule.Schedule) Applier {
	required(s, "ToSchedule with a nil schedule")
	return applier(func(d Document) { _ = s.SetPeriod(d.Schedule.Period) })
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

// Limiters brings documents to limiters: window.min and max, retry.max_attempts and retry.max_pause,
// which turns pauses on. If a document lacks a field, the limiter has the setting that it had when it was
// added. With a retry.Policy a limiter keeps to the lower of both attempt limits: bring the document to the
// policy too, with ToPolicy.
//
// Limiters may be added at any time, as an [aimd.Keyed] makes them, and are not kept alive. It is safe for
// any number of goroutines; the observer of a limiter must not call it. The zero value has no limiters.
type Limiters struct {
	mu sync.Mutex
	// all is guarded by mu, as is the document in force, at first zero.
	all      []tuned
	document Document
}

// tuned is a limiter and the rules of its own.
type tuned struct {
	limiter weak.Pointer[aimd.Limiter]
	own     aimd.Rules
}

// NewLimiters returns one with these limiters. It panics if one is nil.
func NewLimiters(all ...*aimd.Limiter) *Limiters {
	ls := &Limiters{}
	for _, l := range all {
		_ = ls.Add(required(l, "NewLimiters with a nil limiter")) // there is no document yet
	}
	return ls
}

// Add adds a limiter and brings the document in force to it. If the document does not fit, the error says
// why, and the limiter keeps its own settings until the next document: log it, and use the limiter all the
// same.
func (ls *Limiters) Add(l *aimd.Limiter) error {
	if l == nil {
		return fmt.Errorf("remote: %w", setting.Nil("limiter"))
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t := tuned{weak.Make(l), l.Config().Rules}
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

// Check returns an error if the document does not fit one of the limiters, such as a min above the limiter's
// own max.
func (ls *Limiters) Check(d Document) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, t := range ls.living() {
		if err := t.with(d).Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Apply reconfigures the limiters.
func (ls *Limiters) Apply(d Document) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.document = d
	for _, t := range ls.living() {
		if l := t.limiter.Value(); l != nil {
			_ = l.Reconfigure(t.with(d)) // a limiter that came after Check may not fit, and keeps its rules
		}
	}
}

// living forgets the limiters that are no more, and returns the others. Call it with mu.
func (ls *Limiters) living() []tuned {
	ls.all = slices.DeleteFunc(ls.all, func(t tuned) bool { return t.limiter.Value() == nil })
	return ls.all
}

// with is the limiter's own rules with the document's fields in their place.
func (t tuned) with(d Document) aimd.Rules {
	r := t.own
	r.MinWindow = cmp.Or(d.Window.Min, r.MinWindow)
	r.MaxWindow = cmp.Or(d.Window.Max, r.MaxWindow)
	r.MaxRate = cmp.Or(d.Window.MaxRate, r.MaxRate)
	r.MaxAttempts = cmp.Or(d.Retry.MaxAttempts, r.MaxAttempts)
	r.PauseMax = cmp.Or(d.Retry.MaxPause, r.PauseMax)
	if r.PauseMax > 0 { // else pauses are off
		r.PauseMin = min(r.PauseMin, r.PauseMax)
	}
	return r
}

// ErrFeatureOff: the feature of the request is off; the text names it. Limiters count it as neutral and
// final.
var ErrFeatureOff = errors.New("remote: feature is off")

// Features refuses the requests of features that a document has in features_off. A request belongs to the
// feature of its context's tags (tag.WithFeature); a request without a feature is never refused.
//
// It is an Applier, an attempt.Guard (with aimd.Config{Guards: []attempt.Guard{&features}}, Do, Each and the integrations ask it
// before each attempt waits for a slot), and makes a RoundTripper. It is safe for any number of goroutines. In
// the zero value no feature is off.
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

// Check returns nil: a valid document fits.
func (f *Features) Check(Document) error { return nil }

// Apply refuses the features that the document has, and no others.
func (f *Features) Apply(d Document) {
	off := make(map[string]bool, len(d.FeaturesOff))
	for _, feature := range d.FeaturesOff {
		off[feature] = true
	}
	f.off.Store(&off)
}

// featureOff is the ErrFeatureOff of a feature.
type featureOff string

func (f featureOff) Error() string        { return fmt.Sprintf("%v: %q", ErrFeatureOff, string(f)) }
func (f featureOff) Is(target error) bool { return target == ErrFeatureOff }

// NotSent and Verdict are for guards and limiters: the service has not answered, and no retry helps.
func (f featureOff) NotSent() bool            { return true }
func (f featureOff) Verdict() attempt.Verdict { return attempt.Verdict{Outcome: window.Neutral} }

// Transport returns a RoundTripper that sends requests with base (nil: http.DefaultTransport), except
// requests of features that are off. Within a httplimit.Transport it also refuses requests whose feature was
// turned off while they waited for a slot:
//
//	features.Transport(httplimit.New(features.Transport(nil), lim))
func (f *Features) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return transport{f, base}
}

type transport struct {
	features *Features
	http.RoundTripper
}

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.features.Admit(req.Context(), 0); err != nil {
		if req.Body != nil {
			req.Body.Close() // a RoundTripper always does
		}
		return nil, err
	}
	return t.RoundTripper.RoundTrip(req)
}

// CloseIdleConnections closes the idle connections of the base, if it can.
func (t transport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
