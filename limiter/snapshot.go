package limiter

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Snapshot is how a limiter stood at one moment.
type Snapshot struct {
	// Name is the limiter's, Config.Name.
	Name string `json:"name,omitempty"`
	// Cwnd and Ssthresh are the congestion window and the slow-start threshold, in attempts.
	Cwnd     float64 `json:"cwnd"`
	Ssthresh float64 `json:"ssthresh"`
	// InFlight is the number of attempts sent and not answered, Queued that of
	// operations that wait for a slot.
	InFlight int `json:"in_flight"`
	Queued   int `json:"queued"`
	// Successes, Overloads, Timeouts and Neutrals count answers since the start.
	Successes uint64 `json:"successes"`
	Overloads uint64 `json:"overloads"`
	Timeouts  uint64 `json:"timeouts"`
	Neutrals  uint64 `json:"neutrals"`
	// ClientErrors counts the final answers that were no success: a 404, a 412.
	ClientErrors uint64 `json:"client_errors"`
	// Cuts counts the bursts of overloads that narrowed the window.
	Cuts uint64 `json:"cuts"`
	// Pauses counts the pauses for everybody.
	Pauses uint64 `json:"pauses"`
	// Late counts second releases of a permit.
	Late uint64 `json:"late"`
	// LongestWait is the longest time that an operation waited for a slot within the
	// last minute, or waits now, of the waits that were timed. As TCP times one segment
	// of a window (RFC 6298, section 3), a limiter without an observer times one
	// waiting operation at a time; with an observer, all of them. In JSON it is in
	// nanoseconds.
	LongestWait time.Duration `json:"longest_wait"`
}

// Attempts is the number of attempts that were answered.
func (s Snapshot) Attempts() uint64 {
	return s.Successes + s.Overloads + s.Timeouts + s.Neutrals + s.ClientErrors
}

// String returns the snapshot in one line.
func (s Snapshot) String() string {
	return fmt.Sprintf("cwnd=%.1f ssthresh=%.1f in-flight=%d queued=%d success=%d overload=%d timeout=%d neutral=%d client-error=%d cuts=%d pauses=%d late=%d longest-wait=%v",
		s.Cwnd, s.Ssthresh, s.InFlight, s.Queued, s.Successes, s.Overloads, s.Timeouts, s.Neutrals, s.ClientErrors,
		s.Cuts, s.Pauses, s.Late, s.LongestWait.Round(time.Millisecond))
}

// Snapshot returns how the limiter stands.
func (l *Limiter) Snapshot() Snapshot {
	now := l.now()
	l.mu.Lock()
	s, c := l.core.State(), &l.counts
	snapshot := Snapshot{
		Name:         l.name,
		Cwnd:         s.Cwnd,
		Ssthresh:     s.Ssthresh,
		InFlight:     l.core.Flying(),
		Queued:       l.core.Waiting(),
		Successes:    c.outcomes[window.Success],
		Overloads:    c.outcomes[window.Overload],
		Timeouts:     c.outcomes[window.Timeout],
		Neutrals:     c.outcomes[window.Neutral],
		ClientErrors: c.outcomes[window.ClientError],
		Cuts:         c.cuts,
		Pauses:       c.pauses,
		Late:         c.late,
		LongestWait:  l.waits.longest(now),
	}
	l.unlock(now)
	return snapshot
}

// counts is what happened since the start.
type counts struct {
	outcomes           [window.ClientError + 1]uint64
	cuts, pauses, late uint64
}

func (c *counts) answered(change window.Change, o window.Outcome) {
	if change == window.Late {
		c.late++
		return
	}
	c.outcomes[o]++
	if change == window.Cut {
		c.cuts++
	}
}

// waits keeps the longest of the waits that were timed, for this half minute and the
// one before, so that it falls again: a gauge that never does can carry no alarm.
type waits struct {
	// timing is one that waits now and is timed; nil: none does.
	timing *waiter
	// spell is the number of the half minute of latest.
	spell          time.Duration
	latest, before time.Duration
}

const spell = 30 * time.Second

func (s *waits) began(w *waiter, now time.Duration) { w.since, w.timed, s.timing = now, true, w }

// left: a waiter gave up.
func (s *waits) left(w *waiter) {
	if s.timing == w {
		s.timing = nil
	}
}

// ended: a waiter's turn came.
func (s *waits) ended(w *waiter, now time.Duration) {
	s.left(w)
	s.moved(now)
	s.latest = max(s.latest, now-w.since)
}

// moved forgets what is too long ago.
func (s *waits) moved(now time.Duration) {
	switch n := now / spell; {
	case n == s.spell+1:
		s.spell, s.before, s.latest = n, s.latest, 0
	case n > s.spell:
		s.spell, s.before, s.latest = n, 0, 0
	}
}

func (s *waits) longest(now time.Duration) time.Duration {
	s.moved(now)
	longest := max(s.latest, s.before)
	if s.timing != nil {
		longest = max(longest, now-s.timing.since)
	}
	return longest
}
