package aimd

import (
	"github.com/aimd-go/aimd/window"
)

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
