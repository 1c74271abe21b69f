package fleet

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Leader runs a law on the sums of all. To the law the way over the store is a part of the round trip: an attempt flies until
// its answer is reported, and until the share that follows from it is in use.
type Leader struct {
	ID  string
	Law window.NewLaw
	// Initial is the window at the start, 0: 20; Max is the largest. MaxRate and MaxAmountRate are the fleet's, 0: no bound.
	Initial, Max           float64
	MaxRate, MaxAmountRate float64
	// Delay is the time of two calls of the store, and Every that between two reports; 0: it follows the number of processes.
	Delay, Every time.Duration

	lead
}

// lead is the knowledge of a leader.
type lead struct {
	law   window.Law
	state window.State // as the law sees it
	known bool         // state.Trip is of accepted answers
	trip  float64      // at the service alone, in seconds
	ends  float64      // answers a second
	// took is the number of answers accepted a second of late, and fly the number of attempts in flight.
	took, fly float64
	// accepted and refused are the numbers of the latest answers.
	accepted, refused float64
	// begun is the time of the first step, stepped and last of the last, also of one that did not know enough. Attempts
	// sent before cut belong to the last cut.
	begun, last, stepped, cut time.Duration
	// way is the lag when the law began. The law would take a store that gets slower for a service that does.
	way time.Duration
	// were is the number of processes before the store lost rows, or was away, 0: it has all. It is of the time lost.
	were int
	lost time.Duration
	// fresh: answers to attempts that were sent before do not count.
	fresh  time.Duration
	counts map[string]Counts
	ranks  map[string]int
	// came is the time when a process was first seen, and then the time when it got its rank.
	came    map[string]time.Duration
	message Message
	every   time.Duration
}

// The leader's numbers. Our choice.
const (
	// shortest is the time between two reports of a process, in a fleet of up to a hundred; of a larger one a
	// store gets a thousand reports a second.
	shortest, perProcess = 100 * time.Millisecond, time.Millisecond
	// shortestLease and leases are in Lease. 400 ms was too short on a busy machine.
	shortestLease, leases = 800 * time.Millisecond, 4
	// ticks: the leader looks at the sums after two fifths of the time between two reports.
	ticks = 0.4
	// remembers is the time of which what is safe is a mean. Of 10 s the start is a part for long: .79 of the slots.
	remembers = 3 * time.Second
	// While more than few of the latest answers are refusals, and more than many of each, the shares are as much less. So a
	// service that refuses by chance is used as before. latest is the time of those answers, in times between two reports.
	few, many, latest = 2, 0.1, 0.5
	// leastWindow is the least window of a fleet.
	leastWindow = 1e-3
	// longest is the longest time between two sends of a fleet, as package window has it.
	longest = 15 * time.Second
)

// Interval is the time between two reports of a process.
func Interval(processes int) time.Duration {
	return max(shortest, time.Duration(processes)*perProcess)
}

// Lease is the least lease of a row: a process that is killed leaves its share after it.
func Lease(every time.Duration) time.Duration { return max(shortestLease, leases*every) }

// Tick is the time between two steps of the leader.
func Tick(every time.Duration) time.Duration { return time.Duration(ticks * float64(every)) }

// lag is the time that an answer takes to have an effect.
func (l *Leader) lag() time.Duration { return l.every + Tick(l.every)/2 + l.Delay }

// Step takes the rows of all, and returns the message; false: it does not know enough yet. now is any clock that does
// not go back, and at the store's.
func (l *Leader) Step(now, at time.Duration, rows map[string]Row, said Message) (Message, bool) {
	if now > l.stepped+Lease(l.every) { // rows have ended meanwhile, and the answers are old
		l.lead = lead{}
	}
	l.misses(now, rows)
	l.every = cmp.Or(l.Every, Interval(max(l.were, len(rows))))
	if way := l.lag(); l.law != nil && (way > 3*l.way/2 || way < 2*l.way/3) {
		l.lead = lead{every: l.every, were: l.were, lost: l.lost}
	}
	l.stepped = now
	sum, flying := l.sums(rows)
	if l.law == nil && !l.begin(now, at, rows, said) {
		return Message{}, false
	}
	l.learn(now, sum, flying)
	l.last = now
	return l.say(now, at, rows), true
}

// misses notes that many rows are gone at once: the store lost them. Their processes have shares still, and report soon.
func (l *Leader) misses(now time.Duration, rows map[string]Row) {
	if now > l.lost+2*Lease(l.every) {
		l.were = 0
	}
	gone := 0
	for id := range l.counts {
		if _, ok := rows[id]; !ok {
			gone++
		}
	}
	if gone > 1 && 3*gone > len(l.counts) {
		l.were, l.lost = max(l.were, len(l.counts)), now
	}
}

// sums are the answers since the last step, and the attempts in flight. A process that comes back with a share was cut off, and
// the law knows what it left of the window: its attempts in flight come to that, up to the window that it knows.
func (l *Leader) sums(rows map[string]Row) (sum Counts, flying float64) {
	before := l.counts
	l.counts = make(map[string]Counts, len(rows))
	for id, r := range rows {
		switch old, ok := before[id]; {
		case ok: // what a process counted before it was seen is too old
			sum.add(r.Counts, old)
		case r.Rank >= 0 && l.trip > 0:
			l.state.Cwnd = max(l.state.Cwnd, min(l.state.Cwnd+l.virtual(r.Flying), l.virtual(r.Knows.Cwnd)))
		}
		l.counts[id] = r.Counts
		flying += r.Flying
	}
	return sum, flying
}

// begin is the first step. A store that lost all knows the window from the processes. One that was away has no rows: a
// leader that is not the first waits until all can have reported.
func (l *Leader) begin(now, at time.Duration, rows map[string]Row, said Message) bool {
	if l.begun == 0 {
		l.Initial = min(cmp.Or(l.Initial, first), l.Max)
		l.begun, l.came, l.ranks = max(now, 1), map[string]time.Duration{}, map[string]int{}
	}
	w, n := said.Window, said.Processes
	for _, r := range rows {
		if said.Cwnd == 0 && r.Knows.Cwnd > w.Cwnd {
			w = r.Knows
		}
		n = max(n, r.Processes)
	}
	if w.Cwnd > 0 && now < l.begun+max(l.every, said.Every)*3/2 {
		return false
	}
	if at > said.At+2*Lease(l.every) { // the store was away, and not all may be back
		l.were, l.lost = n, now
	}
	l.way = l.lag()
	l.law = l.Law(window.Settings{Initial: l.Initial, Min: window.MinWindow, Max: window.MaxWindow})
	// The sends of a fleet come one by one, so the first refusals do, too: no start's allowance, which is for a burst.
	l.state = window.State{Cwnd: l.Initial, Ssthresh: window.MaxWindow - 1}
	l.message = Message{Sends: said.Sends, Rate: said.Rate, At: said.At}
	if w.Cwnd > 0 && w.Trip > 0 {
		l.trip, l.known = w.Trip.Seconds(), true
		l.state.Trip = w.Trip + l.lag()
		l.state.Cwnd, l.state.Ssthresh = l.virtual(w.Cwnd), min(max(1, l.virtual(w.Ssthresh)), window.MaxWindow)
		l.fresh = now + l.every + l.Delay
	}
	if l.message.At == 0 {
		l.message.At = at
	}
	l.last = now
	for id, r := range rows { // what they have they keep
		if r.Rank >= 0 && !slices.Contains(slices.Collect(maps.Values(l.ranks)), r.Rank) {
			l.ranks[id] = r.Rank
		}
	}
	return true
}

// virtual is a window with what is on the way over the store.
func (l *Leader) virtual(w float64) float64 { return w * l.state.Trip.Seconds() / l.trip }

// rank gives each process a rank from 0 on. Who comes while others have shares gets one when there is room for its
// part: when they have heard of it, and have less in flight.
func (l *Leader) rank(now time.Duration, rows map[string]Row) {
	taken, most := make([]bool, l.message.Processes), l.message.Slots.Most
	part := func(r Row) float64 { return min(r.slots().wants, r.Weight*most) }
	parts, flying := 0., 0.
	for id, k := range l.ranks {
		r, alive := rows[id]
		if !alive || k >= len(taken) || taken[k] {
			delete(l.ranks, id)
			continue
		}
		taken[k] = true
		parts += part(r)
		if now < l.came[id]+2*l.every+l.Delay { // what it has in flight is not reported yet
			r.Flying = max(r.Flying, part(r))
		}
		flying += r.Flying
	}
	room := l.message.Cwnd - max(parts, flying)
	alone := len(l.ranks) == 0
	next := 0
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		r := rows[id]
		if _, ok := l.ranks[id]; ok {
			continue
		}
		came, ok := l.came[id]
		if !ok {
			came, l.came[id] = now, now
		}
		heard := came + l.every + l.Delay
		late := l.trip > 0 && now >= heard+2*l.message.Trip
		if !alone && r.Rank < 0 && (now < heard || room < part(r)/2 && !late) {
			continue
		}
		room -= part(r)
		for taken[next] {
			next++
		}
		taken[next], l.ranks[id], l.came[id] = true, next, now
	}
	maps.DeleteFunc(l.came, func(id string, _ time.Duration) bool { _, alive := rows[id]; return !alive })
}

// learn gives the law what was answered since the last step, evenly over the time, with the refusals evenly among the rest.
func (l *Leader) learn(now time.Duration, sum Counts, flying float64) {
	n := sum.Accepted + sum.Refused
	if span := (now - l.last).Seconds(); span > 0 {
		part := min(1, span/min(remembers, now-l.begun+1).Seconds())
		l.took += (float64(sum.Accepted)/span - l.took) * part
		l.ends += (float64(n)/span - l.ends) * min(1, span/max(0.5, l.state.Trip.Seconds()))
		old := math.Exp(-span / (latest * l.every.Seconds()))
		l.accepted, l.refused = l.accepted*old+float64(sum.Accepted), l.refused*old+float64(sum.Refused)
	}
	l.fly = flying + l.ends*l.lag().Seconds()
	fly := max(1, int(l.fly+0.5))
	for i := range n {
		at := l.last + time.Duration(float64(now-l.last)*float64(i+1)/float64(n))
		if (i+1)*sum.Refused/n > i*sum.Refused/n {
			l.answered(at, window.Overload, sum.RefusedTrips/time.Duration(sum.Refused), fly)
		} else {
			l.answered(at, window.Success, sum.Trips/time.Duration(sum.Accepted), fly)
		}
	}
}

func (l *Leader) answered(at time.Duration, o window.Outcome, rtt time.Duration, flying int) {
	if at-rtt < l.fresh {
		return
	}
	mean := 1 / max(2, min(l.state.Cwnd, float64(flying)))
	a := window.End{Outcome: o, Flying: flying, RTT: rtt + l.lag(), Marks: window.Marks{Ignored: at-rtt < l.cut}}
	if o.Overloaded() && !a.Ignored {
		l.cut = at + l.every + l.Delay
	}
	if o.Accepted() {
		if l.trip == 0 {
			l.trip = rtt.Seconds()
		}
		l.trip += (rtt.Seconds() - l.trip) * mean
	}
	switch trip := &l.state.Trip; {
	case o.Accepted() && l.known:
		*trip += time.Duration(float64(a.RTT-*trip) * mean)
	case o.Accepted() || *trip == 0:
		*trip, l.known = a.RTT, o.Accepted()
	}
	next := ask(l.law, at, l.state, a)
	next.Trip = l.state.Trip
	if next.Cwnd-next.Cwnd != 0 { // no number
		next.Cwnd = l.state.Cwnd
	}
	most := l.Max
	if l.trip > 0 {
		most = l.virtual(l.Max)
	}
	next.Cwnd = min(max(next.Cwnd, leastWindow, l.state.Trip.Seconds()/longest.Seconds()), most, window.MaxWindow)
	l.state = next
}

// say is the message. The window is without what is on the way over the store.
func (l *Leader) say(now, at time.Duration, rows map[string]Row) Message {
	m := &l.message
	m.Sends += m.Rate * (at - m.At).Seconds()
	m.Leader, m.At, m.Processes, m.Every = l.ID, at, max(l.were, len(rows)), l.every
	here := float64(len(rows)) / float64(m.Processes)
	m.Window = Window{Cwnd: l.state.Cwnd, Ssthresh: l.state.Ssthresh}
	if l.trip > 0 {
		part := l.trip / l.state.Trip.Seconds()
		m.Window = Window{
			Cwnd: max(leastWindow, m.Cwnd*part), Ssthresh: max(1, m.Ssthresh*part), Trip: time.Duration(l.trip * float64(time.Second)),
		}
	}
	m.Cwnd = max(leastWindow, m.Cwnd*l.passed())
	m.Slots = level(m.Cwnd*here, rows, Row.slots)
	if m.Rate = 0; l.trip > 0 {
		m.Rate = m.Slots.Most / l.trip
	}
	m.Safe = l.took * l.trip / m.Cwnd // by Little's law
	if l.state.Ssthresh >= window.MaxWindow-1 || l.fly <= l.state.Cwnd/2 {
		m.Safe = max(1, m.Safe)
	}
	m.MaxRate, m.MaxAmount = level(l.MaxRate*here, rows, Row.rate), level(l.MaxAmountRate*here, rows, Row.amount)
	l.rank(now, rows)
	m.Ranks = maps.Clone(l.ranks)
	maps.DeleteFunc(m.Ranks, func(id string, k int) bool { return rows[id].Rank == k })
	return *m
}

// passed is the part of the window that is handed out: all that a fleet sends before it hears of a cut may be refused, and
// count for a quota.
func (l *Leader) passed() float64 {
	all := l.accepted + l.refused
	if l.refused <= few || l.refused <= many*all {
		return 1
	}
	return l.accepted / all
}
