package core

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// Reconfigured puts the core under new rules while attempts are in flight and operations
// wait, or returns an error that names the setting that is wrong and changes
// nothing. What is in flight or waits goes on; Next tells what may go now.
//
//   - The window and its law change as window.Window.Reconfigured says, and only
//     if Settings.Window did change.
//   - A lower queue bound turns no operation away that waits.
//   - A pause that is longer than the new rules allow ends as if it had begun now under
//     them. So a pause or a Retry-After that was set too long can be called off.
//
// Settings.Rand has no effect.
func (c *Core[T]) Reconfigured(now time.Duration, law window.NewLaw, s Settings) error {
	s.Rand, s.Window.Timed = c.rules.Rand, c.rules.Window.Timed
	s, err := s.WithDefaults()
	if err != nil {
		return err
	}
	if s.Window != c.rules.Window {
		if err := c.window.Reconfigured(law, s.Window); err != nil {
			return err
		}
	}
	c.rules, c.queue.Bound = s, s.QueueBound
	// The longest that pause and retryAfter return.
	longest := max(s.PauseMax+s.PauseMax/2, s.RetryAfterMax+min(s.RetryAfterMax/2, time.Second))
	c.pausedUntil = min(c.pausedUntil, c.seen(now)+longest)
	return nil
}
