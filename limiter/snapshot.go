package limiter

import (
	"fmt"
	"runtime"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/window"
)

// Snapshot is how a limiter stood at one moment. (Where it never stands still,
// not for as long as a look takes, a field may be of the moment after.)
type Snapshot struct {
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
	// Holds counts how often the gate was shut.
	Holds uint64 `json:"holds"`
	// Late counts second releases of a permit.
	Late uint64 `json:"late"`
	// LongestWait is the longest time that an operation waited for a slot, of
	// the waits that were timed. As TCP times one segment of a window (RFC
	// 6298, section 3), a limiter without an observer times one waiting
	// operation at a time; with an observer, all of them.
	LongestWait time.Duration `json:"longest_wait"`
}

// Attempts is the number of attempts that were answered.
func (s Snapshot) Attempts() uint64 {
	return s.Successes + s.Overloads + s.Timeouts + s.Neutrals + s.ClientErrors
}

// String returns the snapshot in one line.
func (s Snapshot) String() string {
	return fmt.Sprintf("cwnd=%.1f ssthresh=%.1f in-flight=%d queued=%d success=%d overload=%d timeout=%d neutral=%d client-error=%d cuts=%d holds=%d late=%d longest-wait=%v",
		s.Cwnd, s.Ssthresh, s.InFlight, s.Queued, s.Successes, s.Overloads, s.Timeouts, s.Neutrals, s.ClientErrors,
		s.Cuts, s.Holds, s.Late, s.LongestWait.Round(time.Millisecond))
}

// published is what others read without the lock. Only the holder of the lock
// writes it, and only what changed: an atomic store costs as much as half an
// uncontended Acquire.
type published struct {
	cwnd, ssthresh atomic.Float64
	gap            atomic.Duration
	// ceiling less the latch's free slots is what is in flight.
	ceiling atomic.Int64
	queued  atomic.Int64
	// failures counts the answers that were no success. Of all ids given, what
	// neither flies nor failed nor was withdrawn is a success.
	failures    [window.ClientError + 1]atomic.Uint64
	withdrawn   atomic.Uint64
	cuts, holds atomic.Uint64
	late        atomic.Uint64
	longestWait atomic.Duration
}

func (p *published) state(s window.State) {
	p.cwnd.Store(s.Cwnd)
	p.ssthresh.Store(s.Ssthresh)
	p.gap.Store(s.Gap)
}

// looks is how often Snapshot tries for a moment at which nothing changed.
const looks = 1000

// Snapshot returns how the limiter stands. It takes no lock and holds up nobody:
// it looks again if something changed meanwhile.
func (l *Limiter) Snapshot() Snapshot {
	var s Snapshot
	for range looks {
		before := l.latch.word.Load()
		s = l.read(before)
		if before&latched == 0 && before == l.latch.word.Load() {
			break
		}
		runtime.Gosched()
	}
	return s
}

// read reads all that is published; w is the latch's word.
func (l *Limiter) read(w uint64) Snapshot {
	p := &l.published
	s := Snapshot{
		Cwnd:      p.cwnd.Load(),
		Ssthresh:  p.ssthresh.Load(),
		InFlight:  int(p.ceiling.Load()) - freeSlots(w),
		Queued:    int(p.queued.Load()),
		Overloads: p.failures[window.Overload].Load(),
		Timeouts:  p.failures[window.Timeout].Load(),
		Neutrals:  p.failures[window.Neutral].Load(),

		ClientErrors: p.failures[window.ClientError].Load(),
		Cuts:         p.cuts.Load(),
		Holds:        p.holds.Load(),
		Late:         p.late.Load(),
		LongestWait:  p.longestWait.Load(),
	}
	others := s.Overloads + s.Timeouts + s.Neutrals + s.ClientErrors + p.withdrawn.Load() + uint64(s.InFlight)
	s.Successes = lastID(w) - min(lastID(w), others)
	return s
}

// State returns what the limiter learned, for Settings.Restore at the next
// start. It is plain data and goes through JSON.
func (l *Limiter) State() window.State {
	p := &l.published
	return window.State{Cwnd: p.cwnd.Load(), Ssthresh: p.ssthresh.Load(), Gap: p.gap.Load()}
}
