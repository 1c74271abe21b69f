package aimd

import (
	"slices"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// Limiter bounds the attempts in flight by a congestion window; other operations wait. It is safe for any
// number of goroutines. It is [limiter.Limiter], so go doc shows its methods there (go doc
// github.com/aimd-go/aimd/limiter Limiter):
//
//	Do(ctx, fn) error                 one operation, with retries
//	Begin(ctx) (attempt.Attempt, error)   an attempt of your own, with retries
//	Acquire(ctx) (Permit, error)      a slot for one attempt
//	TryAcquire() (Permit, bool)       a slot if one is free at once
//	Snapshot() Snapshot               how it stands; String is one line
//	State() State                     its window and its threshold, for WithState
//	Decisions(seq) []Event            the latest cuts and pauses
//	Config() Config                   the settings in force
//	Reconfigure(Rules) error          new rules while it works
//	Close() error                     no new work
//	Drain(ctx) error                  no new work, and wait for the attempts in flight
type Limiter = limiter.Limiter

// These are the types of package limiter, here so that most programs need one import.
type (
	// Permit is a [limiter.Permit].
	Permit = limiter.Permit
	// Event is a [limiter.Event].
	Event = limiter.Event
	// SettingError is a constructor's error for a wrong setting: the field's Name ("MaxWindow"), the Value as
	// text, and the allowed values, Want. errors.As finds it.
	SettingError = setting.Error
)

// The outcomes of an attempt; see package window.
const (
	Success     = window.Success
	Overload    = window.Overload
	Timeout     = window.Timeout
	Neutral     = window.Neutral
	ClientError = window.ClientError
)

// New returns a limiter with the law of [WithLaw], by default [Probe], which needs no tuning. The error
// names the wrong setting, its value and the allowed values.
func New(opts ...Option) (*Limiter, error) {
	var s settings
	for _, o := range opts {
		o(&s)
	}
	if s.law == nil {
		s.law = Probe
	}
	return limiter.New(s.law, s.Config)
}

// newWith is New with that law.
func newWith(law window.NewLaw, opts []Option) (*Limiter, error) {
	return New(append(slices.Clone(opts), WithLaw(law))...)
}
