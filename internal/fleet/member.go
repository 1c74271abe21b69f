package fleet

import (
	"cmp"
	"math"
	"time"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// Member is a process's side: what it counts, and the share that it makes of a message. Make one with NewMember.
type Member struct {
	id     string
	weight float64
	// peers is the number of processes, as far as it is known.
	peers int

	counts Counts
	// flown is the integral of the attempts in flight since the last report, up to the time seen.
	flown          float64
	seen, reported time.Duration
	// load is that of the last report. flying is what flew since the one before. uses are what flies, and the operations and the
	// amount that are sent a second, as a mean of late, and lasts that of a longer time.
	load        Load
	flying      float64
	uses, lasts [3]float64

	rank    int
	message Message
	// renewed is the time of the first report that got this message.
	renewed time.Duration
	// lease is that of the last report. woke is when it went on after it was stopped for longer than its lease.
	lease, woke time.Duration
	// answered is the time of the first answer of the store of late, 0 before it.
	answered time.Duration
	// sure is when others may have the share, until when it is too old, and last the sure part.
	sure, until time.Duration
	last        [3]float64
	// whole is the window of a share whose sends are not spaced, 0: they are. kept are the times of refusals of a round trip.
	whole float64
	kept  []time.Duration
	// answers and refusals are those since the share is not sure any longer.
	answers, refusals float64
	mode              Mode
}

// Mode is where a process has its window from.
type Mode string

// The modes.
const (
	// Alone: the process has a law of its own. There was no share, or it is too old.
	Alone Mode = "alone"
	// Waiting: for a first share.
	Waiting Mode = "waiting"
	// Shared: the share is of the latest message.
	Shared Mode = "shared"
	// Silent: the store is silent, and the last share holds.
	Silent Mode = "silent"
)

// The numbers of a process. Our choice.
const (
	// grace: so long a process keeps its share while the store is silent, and for long if it had as much work as its
	// share: a law by the number of processes sends more than they do. Both end if more than wrong of its answers since
	// then, and those are a sample, are refusals.
	grace, long, wrong, sample = time.Minute, 10 * time.Minute, 0.3, 20
	// patience is the time for which a process waits for its first share, beside two reports and round trips; grace at most.
	patience = time.Second
	// youth is the time in which a fleet finds its window.
	youth = 10 * time.Second
	// spacedBelow is the share below which attempts are sent in turns.
	spacedBelow = 2
	// smooth is the time of which what it uses is a mean, so that the others' part follows it; lasting that for the sure part.
	smooth, lasting = time.Second, 30 * time.Second
	// first is the window at the start, of all processes.
	first = 20
)

// NewMember returns one that joins.
func NewMember(id string, weight float64) Member {
	return Member{id: id, weight: weight, peers: 1, rank: -1, mode: Alone}
}

// Peers sets the number of processes by an estimate; 0: none. It counts until a leader says it.
func (m *Member) Peers(n int) {
	if m.message.Processes == 0 {
		m.peers = max(1, n)
	}
}

// Leave ends the share.
func (m *Member) Leave() { m.until, m.rank, m.answered = 0, -1, 0 }

// Mode is the present one.
func (m *Member) Mode() Mode { return m.mode }

// Processes is the number of processes, 1 at least.
func (m *Member) Processes() int { return m.peers }

// lapsed reports whether the process was stopped for longer than its lease: others have its share, so it has none.
func (m *Member) lapsed(now time.Duration) bool {
	if m.rank < 0 || now <= m.reported+m.lease {
		return false
	}
	m.Leave()
	m.woke = now
	return true
}

// room is the window without the places that refused attempts keep for a round trip. Sends with a gap below a
// millisecond are not spaced: all that waits would be refused before the leader hears of it.
func (m *Member) room(now, trip time.Duration) float64 {
	for len(m.kept) > 0 && now >= m.kept[0]+trip {
		m.kept = m.kept[1:]
	}
	return max(1, m.whole-float64(len(m.kept)))
}

// Ended counts an answer; false: the share is gone.
func (m *Member) Ended(now time.Duration, a window.End) bool {
	m.fly(now, a.Flying)
	if m.whole > 0 && a.Outcome.Overloaded() {
		m.kept = append(m.kept, now)
	}
	gone := m.lapsed(now)
	if now-a.RTT >= m.woke { // the time of others is no round trip
		m.count(now, a)
	}
	return !gone
}

func (m *Member) count(now time.Duration, a window.End) {
	switch {
	case a.Outcome.Accepted():
		m.counts.Accepted++
		m.counts.Trips += a.RTT
	case a.Outcome.Overloaded():
		m.counts.Refused++
		m.counts.RefusedTrips += a.RTT
		m.refusals++
	default:
		return
	}
	if m.answers++; now <= m.sure {
		m.answers, m.refusals = 0, 0
	} else if m.answers >= sample && m.refusals > wrong*m.answers {
		m.until = 0
	}
}

func (m *Member) fly(now time.Duration, flying int) {
	m.flown += float64(flying) * (now - m.seen).Seconds()
	m.seen = max(m.seen, now)
}

// Load is what a limiter has at work, what it sent since its start, and its settings.
type Load struct {
	Queued, Flying         int
	Sent, Amount           float64
	MaxWindow              float64
	MaxRate, MaxAmountRate float64
}

// Report is the row, for a lease.
func (m *Member) Report(now time.Duration, l Load, lease time.Duration) Row {
	m.lapsed(now)
	m.lease = lease
	m.fly(now, l.Flying)
	if span := (now - m.reported).Seconds(); span > 0 {
		m.flying = m.flown / span
		for i, x := range [3]float64{m.flying, (l.Sent - m.load.Sent) / span, (l.Amount - m.load.Amount) / span} {
			m.uses[i] += (x - m.uses[i]) * -math.Expm1(-span/smooth.Seconds())
			m.lasts[i] += (x - m.lasts[i]) * -math.Expm1(-span/min(lasting, now).Seconds())
		}
	}
	m.flown, m.reported, m.load = 0, now, l
	return m.row()
}

func (m *Member) row() Row {
	return Row{
		Weight: m.weight, Queued: m.load.Queued, Flying: m.flying, Rate: m.uses[1], Amount: m.uses[2], Rank: m.rank,
		Counts: m.counts, Knows: m.message.Window, Processes: m.message.Processes,
	}
}

// Heard takes the leader's message, in the answer to the report that was sent at that time. By it the row lives for a lease.
func (m *Member) Heard(sent time.Duration, said Message, lease time.Duration) {
	if m.answered == 0 {
		m.answered = max(sent, 1)
	}
	if said.Processes < 1 {
		return
	}
	if said.At != m.message.At {
		m.renewed = sent
	}
	m.message, m.peers = said, said.Processes
	if k, ok := said.Ranks[m.id]; ok {
		m.rank = k
	}
	if m.rank >= 0 {
		// A store that answers while nobody leads is as one that is silent: its calls may be too slow, or its clock went back.
		m.sure = min(sent, m.renewed+lease) + lease
		switch m.until = m.sure; {
		case m.peers == 1, m.young(): // nobody has a share beside it, or shares are small: it grows
		case m.load.Queued > 0:
			m.until += long
		default:
			m.until += grace
		}
		_, m.last = m.parts()
	}
}

// young reports whether the store went while the fleet found its window. What is bounded for all keeps its parts, by demand: a law
// of its own has one in N.
func (m *Member) young() bool {
	below := m.message.Cwnd < cmp.Or(m.load.MaxWindow, window.MaxWindow)
	return m.sure < m.answered+youth && m.load.MaxRate == 0 && m.load.MaxAmountRate == 0 && below
}

// parts are the parts of the window, of MaxRate and of MaxAmountRate, and those of them that nobody else has. The leader
// may have other settings by mistake: of those of this process it has no larger part.
func (m *Member) parts() (parts, sure [3]float64) {
	r, levels := m.row(), [3]Level{m.message.Slots, m.message.MaxRate, m.message.MaxAmount}
	own := [3]float64{m.load.MaxWindow, m.load.MaxRate, m.load.MaxAmountRate}
	for i, d := range [3]demand{r.slots(), r.rate(), r.amount()} {
		parts[i] = levels[i].part(m.weight, d)
		if d.uses = m.lasts[i]; m.load.Queued == 0 {
			d.wants = 0
		}
		sure[i] = levels[i].sure(m.weight, d)
		switch most, whole := own[i], levels[i].Whole; {
		case most > 0 && levels[i].Most == 0:
			parts[i], sure[i] = most/float64(m.peers), most/float64(m.peers)
		case most > 0 && most < whole:
			parts[i], sure[i] = parts[i]*most/whole, sure[i]*most/whole
		}
	}
	return parts, sure
}

// Every is the time between two reports, a minute at most, whatever a message says: its next one may be right. The
// row does not end before.
func (m *Member) Every() time.Duration {
	every := min(max(shortest, m.message.Every), grace)
	if m.lease > 0 {
		every = min(every, m.lease/2)
	}
	return every
}

// Share is what a process has of the window.
type Share struct {
	Mode Mode
	// Window is the share in attempts, 0 if it is Alone or Waiting.
	Window float64
	// State and Part are for the gate, if Set. Otherwise its own law goes on.
	Set   bool
	State window.State
	limiter.Part
}

// Share is the present one, and the gate's present state; at is the store's time.
func (m *Member) Share(now, at time.Duration, present window.State) Share {
	s, was := Share{Set: true}, m.mode
	m.whole = 0
	s.State.Trip = present.Trip
	switch {
	case m.rank >= 0 && now < m.until:
		if m.mode = Shared; now >= m.sure {
			m.mode = Silent
		}
		m.shared(now, at, &s)
	case m.answered > 0 && m.rank < 0 && now < m.answered+min(patience+2*(m.Every()+m.message.Trip), grace):
		m.mode = Waiting
		s.State.Cwnd, s.State.Ssthresh, s.In = 1, window.MaxWindow, patience
	default:
		m.mode = Alone
		n := float64(m.peers)
		s.MaxRate, s.MaxAmountRate = m.load.MaxRate/n, m.load.MaxAmountRate/n
		switch was {
		case Alone:
			s.Set = false
		case Waiting:
			s.State.Cwnd, s.State.Ssthresh = max(1, first/n), window.MaxWindow
		default: // from the share on, which is the ceiling
			parts, _ := m.parts()
			s.State.Cwnd, s.State.Ssthresh, s.State.Pace = max(parts[0], leastWindow), max(1, parts[0]), window.CatchUp
			if n == 1 {
				s.State.Ssthresh = max(s.State.Ssthresh, min(m.message.Ssthresh, window.MaxWindow))
			}
		}
	}
	s.Mode = m.mode
	return s
}

func (m *Member) shared(now, at time.Duration, s *Share) {
	parts, _ := m.parts()
	safe := 1.
	if m.mode == Silent {
		parts, safe = m.last, m.message.Safe
	}
	w := parts[0] * safe
	s.Window, s.MaxRate, s.MaxAmountRate = w, parts[1], parts[2]
	switch {
	case m.message.Trip == 0: // nobody has an answer yet
		s.State.Cwnd = whole(w, m.rank, m.message.Processes, at)
		if float64(m.rank) >= m.message.Cwnd {
			s.In = m.Every()
		}
	case w < spacedBelow:
		s.State.Cwnd = math.Ceil(headroom * w) // an attempt that takes longer than the mean loses no turn
		m.takesTurns(at, safe, s)
	default:
		s.State.Cwnd = whole(w, m.rank, m.message.Processes, at)
		s.State.Pace = window.CatchUp
		if s.State.Trip < time.Duration(s.State.Cwnd)*time.Millisecond {
			m.whole = s.State.Cwnd
			s.State.Cwnd = m.room(now, s.State.Trip)
		}
	}
	s.State.Cwnd = max(1, s.State.Cwnd)
	s.State.Ssthresh = s.State.Cwnd
}

// takesTurns is for small shares. The sends of all processes of weight 1 are counted by a clock; each sends when the
// count, less its part of one, passes a whole number.
func (m *Member) takesTurns(at time.Duration, safe float64, s *Share) {
	rate := max(leastWindow, m.weight*m.message.Rate*safe)
	sends := m.weight*m.message.Sends + rate*(at-m.message.At).Seconds()
	part := phase(m.rank, m.message.Processes)
	s.Count = math.Ceil(sends-part) + part
	s.In = time.Duration((s.Count - sends) / rate * float64(time.Second))
	s.Every = time.Duration(float64(time.Second) / rate)
}
