package admission

import (
	"time"

	gate "github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/tag"
)

// request is a request that waits. It must not be copied.
type request struct {
	tags tag.Tags
	// since is when it began to wait, level how important it is, 0 the least.
	since time.Duration
	level int
	// arrival, turn and retry are its places in the lists of the line.
	arrival, turn, retry queue.Item[*request]

	// shed is set if it was shed, otherwise ticket if it was admitted; the driver sets permit then. It
	// closes ready in both cases.
	shed   *Shed
	ticket gate.Ticket
	permit Permit
	ready  chan struct{}
}

// line is the queue. Requests are served from the highest level down, within a level first come, first
// served. They are shed from the lowest level up, within a level retries before the others, among equals
// the latest first: it has waited the least.
//
// The zero value is an empty line. All methods take constant time.
type line struct {
	// arrivals has all requests, the oldest first.
	arrivals queue.Queue[*request]
	// levels have the requests of a level, and its retries, the oldest first.
	levels [int(Last-First+1) * len(tag.Criticalities)]struct{ all, retries queue.Queue[*request] }
}

// levelOf is the level of a request: by the first rule that matches, then by criticality.
func levelOf(rules []Rule, t tag.Tags) int {
	for _, r := range rules {
		if r.matches(t) {
			return level(r.Shed, t.Criticality)
		}
	}
	return level(ordinary, t.Criticality)
}

func level(t Turn, c tag.Criticality) int { return int(t-First)*len(tag.Criticalities) + rank(c) }

// rank is the criticality's place among all there are, 0 the least. One that does not exist counts as the
// nearest.
func rank(c tag.Criticality) int {
	return int(min(max(c, tag.Sheddable), tag.CriticalPlus) - tag.Sheddable)
}

func (l *line) push(r *request) {
	r.arrival.Value, r.turn.Value, r.retry.Value = r, r, r
	l.arrivals.Push(&r.arrival)
	l.levels[r.level].all.Push(&r.turn)
	if r.tags.Retry() {
		l.levels[r.level].retries.Push(&r.retry)
	}
}

// remove reports false if the request is not in the line.
func (l *line) remove(r *request) bool {
	if !l.arrivals.Remove(&r.arrival) {
		return false
	}
	l.levels[r.level].all.Remove(&r.turn)
	l.levels[r.level].retries.Remove(&r.retry)
	return true
}

// oldest, next and least are the request that has waited the longest, the one to serve next and the one
// to shed next; nil if the line is empty.
func (l *line) oldest() *request { return of(l.arrivals.Ends()).first }

func (l *line) next() *request {
	for n := len(l.levels) - 1; n >= 0; n-- {
		if first := of(l.levels[n].all.Ends()).first; first != nil {
			return first
		}
	}
	return nil
}

func (l *line) least() *request {
	for n := range l.levels {
		if last := of(l.levels[n].retries.Ends()).last; last != nil {
			return last
		}
		if last := of(l.levels[n].all.Ends()).last; last != nil {
			return last
		}
	}
	return nil
}

type ends struct{ first, last *request }

// of is the requests of two places, nil for no place.
func of(first, last *queue.Item[*request]) ends {
	if first == nil {
		return ends{}
	}
	return ends{first.Value, last.Value}
}

func (l *line) len() int { return l.arrivals.Len() }

// waiting is the number of requests of a criticality in the line.
func (l *line) waiting(c tag.Criticality) (n int) {
	for t := First; t <= Last; t++ {
		n += l.levels[level(t, c)].all.Len()
	}
	return n
}
