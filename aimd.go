package aimd

import (
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

// SettingError is a constructor's error for a wrong setting: the field's Name ("MaxWindow"), the Value as
// text, and the allowed values, Want. errors.As finds it.
type SettingError = setting.Error

// Outcome is how an attempt ended; see package window.
type Outcome = window.Outcome

// The outcomes of an attempt.
const (
	Success     = window.Success
	Overload    = window.Overload
	Timeout     = window.Timeout
	Neutral     = window.Neutral
	ClientError = window.ClientError
	Unclear     = window.Unclear
)
