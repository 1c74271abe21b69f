package aimd

import (
	"slices"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

// SettingError is a constructor's error for a wrong setting: the field's Name ("MaxWindow"), the Value as
// text, and the allowed values, Want. errors.As finds it.
type SettingError = setting.Error

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
	return NewWith(s.law, s.Config)
}

// newWith is New with that law.
func newWith(law window.NewLaw, opts []Option) (*Limiter, error) {
	return New(append(slices.Clone(opts), WithLaw(law))...)
}
