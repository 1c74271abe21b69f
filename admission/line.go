package admission

import (
	"time"

	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// request is a request that waits. It must not be copied.
type request struct {
	tags tag.Tags
	// turn is Config.Turn of the tags.
	turn int
	// since is the time when it began to wait, number its place in the order of arrival.
	since  time.Duration
	number uint64
	// deadline is the time by which its caller leaves; 0: not known.
	deadline time.Duration
	// level is the queue of the line that it waits in, item its place there.
	level int
	item  queue.Item[*request]

	// shed is set if it was shed, otherwise ticket if it was admitted; the driver sets place then. It
	// closes ready in both cases.
	shed   *Shed
	ticket window.Ticket
	place  Place
	ready  chan struct{}
}

// line is the queue. Requests are served by turn and criticality from the highest down, among equals first come, first
// served, or in a crowd the newest with a deadline first. They are shed from the lowest up, among equals retries before
// the others, and then the latest first: it has waited the least.
//
// The zero value is an empty line. All methods take constant time.
type line struct {
	// levels are in the order in which requests are shed. For each turn and criticality there is a queue of the
	// retries and a queue of first attempts, each with the oldest first.
	levels [2 * turns * criticalities]queue.Queue[*request]
	// n is the number of waiting requests, arrived the number of all requests so far.
	n       int
	arrived uint64
}

// turns is the number of turns: first to be shed, by criticality, last.
const turns = 3

const criticalities = int(tag.CriticalPlus - tag.Sheddable + 1)

// retries is the level of the retries of a turn, -1 to 1, and rank, which are shed just before the others.
func retries(turn, rank int) int { return 2 * ((turn+1)*criticalities + rank) }

// rank is the criticality's place among all there are, 0 the least. An unknown criticality counts as the nearest.
func rank(c tag.Criticality) int {
	return int(min(max(c, tag.Sheddable), tag.CriticalPlus) - tag.Sheddable)
}

func (l *line) push(r *request) {
	l.arrived++
	l.n++
	r.number, r.item.Value = l.arrived, r
	r.level = retries(min(max(r.turn, -1), 1), rank(r.tags.Criticality))
	if r.tags.Attempt <= 1 {
		r.level++
	}
	l.levels[r.level].Push(&r.item)
}

func (l *line) remove(r *request) bool {
	if !l.levels[r.level].Remove(&r.item) {
		return false
	}
	l.n--
	return true
}

// oldest is the request of some levels that has waited the longest, nil if they are empty.
func oldest(levels []queue.Queue[*request]) (r *request) {
	for n := range levels {
		if first, _ := levels[n].Ends(); first != nil && (r == nil || first.Value.number < r.number) {
			r = first.Value
		}
	}
	return r
}

// next is the request to serve next, nil if the line is empty. In a crowd the newest takes the turn of the oldest, if both have a
// deadline.
func (l *line) next(crowd bool) (r *request) {
	for n := len(l.levels) - 2; n >= 0 && r == nil; n -= 2 {
		if r = oldest(l.levels[n : n+2]); r != nil && r.deadline != 0 && crowd {
			r = newest(r, l.levels[n:n+2])
		}
	}
	return r
}

// newest is the request with a deadline that came last to some levels, at least this one.
func newest(r *request, levels []queue.Queue[*request]) *request {
	for n := range levels {
		if _, last := levels[n].Ends(); last != nil && last.Value.deadline != 0 && last.Value.number > r.number {
			r = last.Value
		}
	}
	return r
}

// least is the request to shed next. The line must not be empty.
func (l *line) least() *request {
	n := 0
	for l.levels[n].Len() == 0 {
		n++
	}
	_, last := l.levels[n].Ends()
	return last.Value
}

func (l *line) waiting(rank int) (n int) {
	for turn := -1; turn <= 1; turn++ {
		n += l.levels[retries(turn, rank)].Len() + l.levels[retries(turn, rank)+1].Len()
	}
	return n
}
