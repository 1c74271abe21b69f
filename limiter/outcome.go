package limiter

import "github.com/aimd-go/aimd/window"

// Outcome is how an attempt ended. See [window.Outcome].
type Outcome = window.Outcome

// The four outcomes; see the constants of package window.
const (
	Success  = window.Success
	Overload = window.Overload
	Timeout  = window.Timeout
	Neutral  = window.Neutral
)
