package tally

import (
	"iter"
	"strings"

	"github.com/aimd-go/aimd/window"
)

// Answers yields how many attempts ended in each outcome.
func (s Sum) Answers() iter.Seq2[window.Outcome, uint64] {
	return func(yield func(window.Outcome, uint64) bool) {
		counts := [...]uint64{
			window.Success: s.Successes, window.Overload: s.Overloads, window.Timeout: s.Timeouts,
			window.Neutral: s.Neutrals, window.ClientError: s.ClientErrors,
		}
		for o := window.Success; o.Valid(); o++ {
			if !yield(o, counts[o]) {
				return
			}
		}
	}
}

// PausedUntilUnix is the end of the pause for all in seconds since 1970, 0 if there is none.
func (s Sum) PausedUntilUnix() float64 {
	if s.PausedUntil.IsZero() {
		return 0
	}
	return float64(s.PausedUntil.UnixMilli()) / 1000
}

// Label is the outcome as metrics have it: "client_error".
func Label(o window.Outcome) string { return strings.ReplaceAll(o.String(), " ", "_") }
