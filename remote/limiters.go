package remote

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"weak"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/limiter"
)

// Limiters brings documents to limiters: window.min, max and factor, retry.max_attempts and retry.max_pause,
// which turns pauses on. If a document lacks a field, the limiter has the setting that it had when it was
// added. With a retry.Policy a limiter keeps to the lower of both attempt limits: bring the document to the
// policy too, with ToPolicy.
//
// Limiters may be added at any time, as a [limiter.Keyed] makes them, and are not kept alive. It is safe for
// any number of goroutines; the observer of a limiter must not call it. The zero value has no limiters.
type Limiters struct {
	mu sync.Mutex
	// all is guarded by mu, as is the document in force, at first zero.
	all      []tuned
	document Document
}

// tuned is a limiter and the rules of its own.
type tuned struct {
	limiter weak.Pointer[limiter.Limiter]
	own     limiter.Rules
}

// NewLimiters returns one with these limiters. It panics if one is nil.
func NewLimiters(all ...*limiter.Limiter) *Limiters {
	ls := &Limiters{}
	for _, l := range all {
		_ = ls.Add(required(l, "NewLimiters with a nil limiter")) // there is no document yet
	}
	return ls
}

// Add adds a limiter and brings the document in force to it. If the document does not fit, the error says
// why, and the limiter keeps its own settings until the next document: log it, and use the limiter all the
// same.
func (ls *Limiters) Add(l *limiter.Limiter) error {
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
func (t tuned) with(d Document) limiter.Rules {
	r := t.own
	r.MinWindow = cmp.Or(d.Window.Min, r.MinWindow)
	r.MaxWindow = cmp.Or(d.Window.Max, r.MaxWindow)
	r.Factor = cmp.Or(d.Window.Factor, r.Factor)
	r.MaxAttempts = cmp.Or(d.Retry.MaxAttempts, r.MaxAttempts)
	r.PauseMax = cmp.Or(d.Retry.MaxPause, r.PauseMax)
	if r.PauseMax > 0 { // else pauses are off
		r.PauseMin = min(r.PauseMin, r.PauseMax)
	}
	return r
}
