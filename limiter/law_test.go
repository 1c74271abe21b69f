package limiter_test

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// timedLaw is a law that answers what the function says, and is told the time.
type timedLaw func(s window.State, a window.Answer) window.State

func (f timedLaw) Answered(_ time.Duration, s window.State, a window.Answer) window.State {
	return f(s, a)
}
func (timedLaw) Timed() bool { return true }
