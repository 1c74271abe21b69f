package live

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
)

// recently is the time that a state is about.
const recently = 10 * time.Second

// state is what holds the limiter now, in a word. The page's style sheet has a sign for each:
//
//   - closed, idle, paused: nothing more is sent, there was nothing to send, a pause has not ended.
//   - shadow: it only watches (aimd.Config.Shadow). The page says what it would have held.
//   - quota: operations wait for a quota of the service that is used up. The page says which, and until when.
//   - unlimited: a client without a limiter.
//   - capped: the window is in use, and at the largest that the settings allow.
//   - growing: the window is in use, and grew without a cut.
//   - limited: operations wait, so the service sets the pace.
//   - steady: nothing waits for long, so the program sets the pace.
func (s *series) state(now time.Time) string {
	paused := s.pausedUntil()
	begun, waits, full := s.recent(now, paused)
	unchanged := s.now.InFlight == 0 && s.now.Queued == 0 && s.now.Attempts == begun.Attempts
	switch {
	case s.closed:
		return "closed"
	case s.now.Config.Shadow:
		return "shadow"
	case paused.After(now):
		return "paused"
	case s.now.Queued > 0 && usedUp(s.now.Quotas, now):
		return "quota"
	case unchanged:
		return "idle"
	case s.limiter == nil:
		return "unlimited"
	case full && s.now.Cwnd >= s.now.Config.MaxWindow:
		return "capped"
	case full && s.now.Cuts == begun.Cuts && math.Round(s.now.Cwnd) > math.Round(begun.Cwnd):
		return "growing"
	case waits:
		return "limited"
	}
	return "steady"
}

func usedUp(quotas []aimd.Quota, now time.Time) bool {
	return slices.ContainsFunc(quotas, func(q aimd.Quota) bool { return q.UsedUpUntil.After(now) })
}

func (s *series) pausedUntil() (end time.Time) {
	for _, e := range s.decisions {
		if until := e.Time.Add(e.Wait); e.Kind == event.Paused && until.After(end) {
			end = until
		}
	}
	return end
}

// recent returns the oldest sample since that time, of ten seconds at most. It reports whether operations waited in
// half of these samples, and whether the window was used up.
func (s *series) recent(now, since time.Time) (oldest sample, waits, full bool) {
	n, waiting, used := 0, 0, 0
	count := func(p sample) {
		oldest = p
		if n++; p.Queued > 0 {
			waiting++
		}
		if float64(p.InFlight) >= max(1, math.Floor(p.Cwnd)) {
			used++
		}
	}
	count(s.now)
	for i := len(s.past) - 1; i >= 0 && now.Sub(s.past[i].at) <= recently && s.past[i].at.After(since); i-- {
		count(s.past[i])
	}
	return oldest, 2*waiting >= n, 2*used >= n
}
