package aimd

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// meter is what answers show. It decides nothing.
type meter struct {
	*tuning
	// trip is window.State.Trip at the last answer; 0 before the first.
	trip float64
	// rate is what is accepted a second, up to the last success at the time succeeded.
	rate, succeeded float64
	// refused counts the refusals since the last success, quiet is the time of the first of these sends, and before is
	// what was accepted in a round trip before them.
	refused, quiet, before float64
	// share is the share of refusals among the last answers, of which there are as many as fly. early is that share
	// among the attempts that were sent early; 1 before the first refusal.
	share, early float64
	// learns is the share by which early falls with each success, lasts the round trips for which a refusal lasts: a
	// mean of the times from the last success before a refusal to the next success.
	learns, lasts float64
}

// note keeps the shares of refusals among the last answers, of which there are as many as fly, at most two batches.
func (m *meter) note(a window.End, refused float64) {
	if m.share == 0 && refused == 0 {
		m.early = 1
		return
	}
	last := max(2, min(2*m.batch, float64(a.Flying)))
	if m.share == 0 {
		m.early = 1 - refused
	} else if a.Early && a.Outcome != window.Timeout {
		was := m.early
		if m.early += (refused - m.early) / last; m.many(m.early) && !m.many(was) {
			m.learns /= 2
		}
	} else if refused == 0 {
		m.early -= m.early * m.learns / float64(a.Flying)
	}
	m.share += (refused - m.share) / last
}

// many reports whether a share of refusals is more than those that mean nothing have.
func (m *meter) many(share float64) bool { return share > m.few/m.batch }

// span is the time for which the accepted rate is a mean.
func (m *meter) span() float64 {
	if m.trip > 0.5 { // max of floats takes five instructions more
		return m.trip
	}
	return 0.5
}

// accept notes a success that came so long after the one before.
func (m *meter) accept(now, since float64) {
	if m.refused > 0 {
		m.lasts += (min(60, (now-m.quiet)/m.trip) - m.lasts) / m.few
	}
	m.rate += (1 - m.rate*since) / (since + m.span())
	m.succeeded, m.refused = now, 0
}

// good is how many attempts the service accepts in a round trip, by Little's law. In silence it fades.
func (m *meter) good(now float64) float64 {
	return m.trip * m.rate * math.Exp((m.succeeded-now)/max(m.span(), 1/m.rate))
}

// spell is the acceptance between two silences, of a limit that is used up and refilled.
type spell struct {
	*tuning
	// taken is how many were accepted since the last silence, from the time began on; -Inf after a timeout. most is the
	// most that were accepted between two silences, longest the longest time; +Inf if the service goes up and down.
	began, taken, most, longest float64
}

// end is the window at the limit that was used up, or false. If a silence was longer than the acceptance before it, a
// lower rate is accepted for longer. If it is not, and less is taken, the service goes up and down whatever the rate.
func (s *spell) end(now float64, m *meter) (w float64, used bool) {
	took := m.succeeded - s.began + m.trip
	switch {
	case now-m.quiet <= s.more*took || s.taken <= 0:
	case s.taken*s.more < s.most && took <= s.longest:
		s.most, s.longest = math.Inf(1), math.Inf(1)
	default:
		s.most, s.longest = max(s.most, s.taken), max(s.longest, took)
		return math.Sqrt(m.before * m.trip * s.taken / (now - s.began)), true
	}
	return 0, false
}

// seconds is d.Seconds, which divides integers twice and takes a tenth of an acquire and release.
func seconds(d time.Duration) float64 { return float64(d) / 1e9 }
