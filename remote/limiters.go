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

// Limiters brings documents to limiters: window.min, max and factor,
// retry.max_attempts and retry.max_pause. What a document does not say stays as it was
// when the limiter was added. Nothing in flight is dropped: see
// [limiter.Limiter.Reconfigure]. Retry.max_pause becomes the limiter's longest pause,
// also where it had turned pauses off. With a retry.Policy a limiter keeps to the lower
// of both attempt limits: bring the document to the policy too, with ToPolicy.
//
// Limiters may come at any time, as those of a [limiter.Keyed] do. They are not kept
// alive: one without other references is forgotten. It is safe for any number of
// goroutines. The zero value has no limiters.
type Limiters struct {
	mu sync.Mutex
	// all is guarded by mu, as is the document in force, nil if there is none.
	all      []tuned
	document *Document
}

// tuned is a limiter and the settings of its own.
type tuned struct {
	limiter weak.Pointer[limiter.Limiter]
	own     limiter.Rules
}

// NewLimiters returns one with these limiters.
func NewLimiters(all ...*limiter.Limiter) *Limiters {
	ls := &Limiters{}
	for _, l := range all {
		_ = ls.Add(l) // there is no document yet
	}
	return ls
}

// Add adds a limiter and brings the document in force to it. If that does not fit, the
// error says why, and the limiter keeps its own settings until the next document: that
// is worth a line in a log, but no reason to do without the limiter.
func (ls *Limiters) Add(l *limiter.Limiter) error {
	t := tuned{weak.Make(l), l.Config().Rules}
	ls.mu.Lock()
	known := slices.ContainsFunc(ls.living(), func(k tuned) bool { return k.limiter == t.limiter })
	if !known {
		ls.all = append(ls.all, t)
	}
	d := ls.document
	ls.mu.Unlock()
	if known || d == nil {
		return nil
	}
	if err := t.check(*d); err != nil {
		return fmt.Errorf("remote: %w", err)
	}
	ls.bring(d, t)
	return nil
}

// Check returns an error if the document does not fit one of the limiters: it
// has a min above the limiter's own max, say, and no max.
func (ls *Limiters) Check(d Document) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, t := range ls.living() {
		if err := t.check(d); err != nil {
			return err
		}
	}
	return nil
}

// Apply reconfigures the limiters.
func (ls *Limiters) Apply(d Document) {
	ls.mu.Lock()
	ls.document = &d
	all := slices.Clone(ls.living())
	ls.mu.Unlock()
	for _, t := range all {
		ls.bring(&d, t)
	}
}

// bring puts the limiter under the document, or the one that came meanwhile. It
// holds no lock, since the limiter's observer is called.
func (ls *Limiters) bring(d *Document, t tuned) {
	l := t.limiter.Value()
	for l != nil {
		_ = l.Reconfigure(t.with(*d)) // what does not fit changes nothing; Check tells
		ls.mu.Lock()
		latest := ls.document
		ls.mu.Unlock()
		if latest == d {
			return
		}
		d = latest
	}
}

// living forgets the limiters that are no more, and returns the others.
func (ls *Limiters) living() []tuned {
	ls.all = slices.DeleteFunc(ls.all, func(t tuned) bool { return t.limiter.Value() == nil })
	return ls.all
}

// check names the field of a document that does not go with the limiter's own
// settings.
func (t tuned) check(d Document) error {
	with := t.with(d)
	switch own := t.own; {
	case with.MinWindow <= with.MaxWindow:
	case d.Window.Max == 0:
		return wrong("window.min", setting.Plain(d.Window.Min), "a number from 1 to the limiter's own maximum, "+setting.Plain(own.MaxWindow)+", or window.max beside it")
	default:
		return wrong("window.max", setting.Plain(d.Window.Max), "a number from the limiter's own minimum, "+setting.Plain(own.MinWindow)+", on, or window.min beside it")
	}
	return with.Validate()
}

// with is the limiter's own settings with what the document says.
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
