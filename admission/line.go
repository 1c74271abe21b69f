package admission

import (
	"time"

	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/tag"
)

// item is a request that waits. The driver sets Value and Tags before core.Queued, and
// must not copy the item after that.
type item[T any] struct {
	Value T
	Tags  tag.Tags

	// since is when it began to wait.
	since time.Time
	// level is how important it is, 0 the least.
	level int
	// refused is why it was shed.
	refused refusal
	// arrival, turn and retry are its places in the lists of the line.
	arrival, turn, retry queue.Item[*item[T]]
}

// refusal is what the client of a shed request is told.
type refusal struct {
	Reason Reason
	// RetryAfter is when to come back, jittered; more than 0.
	RetryAfter time.Duration
}

// line is the queue. Requests are served from the highest level down, within a level
// first come, first served. They are shed from the lowest level up, within a level
// retries before the others, and of these the latest first: it has waited the least,
// and would have been served last.
//
// The zero value is an empty line. All methods take constant time.
type line[T any] struct {
	// arrivals has all, the oldest first.
	arrivals queue.Queue[*item[T]]
	levels   [levels]level[T]
}

type level[T any] struct {
	// all has the level's items, the oldest first, retries those of them that are.
	all, retries queue.Queue[*item[T]]
}

// levels is how many levels there are.
const levels = len(turns) * len(tag.Criticalities)

// levelOf is the level of a request: first by what a rule says, then by its
// criticality.
func levelOf(t Turn, c tag.Criticality) int {
	return int(t-First)*len(tag.Criticalities) + rank(c)
}

// rank is the criticality's place among all there are, 0 the least. One that
// does not exist counts as the nearest.
func rank(c tag.Criticality) int {
	return int(min(max(c, tag.Sheddable), tag.CriticalPlus) - tag.Sheddable)
}

func (l *line[T]) push(i *item[T]) {
	i.arrival.Value, i.turn.Value, i.retry.Value = i, i, i
	l.arrivals.Push(&i.arrival)
	l.levels[i.level].all.Push(&i.turn)
	if i.Tags.Retry() {
		l.levels[i.level].retries.Push(&i.retry)
	}
}

// remove reports false if the item is not in the line.
func (l *line[T]) remove(i *item[T]) bool {
	if !l.arrivals.Remove(&i.arrival) {
		return false
	}
	l.levels[i.level].all.Remove(&i.turn)
	l.levels[i.level].retries.Remove(&i.retry)
	return true
}

// oldest is the request that has waited the longest, nil if none waits.
func (l *line[T]) oldest() *item[T] {
	if first := l.arrivals.First(); first != nil {
		return first.Value
	}
	return nil
}

// next is the request to serve next, nil if none waits.
func (l *line[T]) next() *item[T] {
	for n := levels - 1; n >= 0; n-- {
		if first := l.levels[n].all.First(); first != nil {
			return first.Value
		}
	}
	return nil
}

// least is the request to shed next, nil if none waits.
func (l *line[T]) least() *item[T] {
	for n := range l.levels {
		if last := l.levels[n].retries.Last(); last != nil {
			return last.Value
		}
		if last := l.levels[n].all.Last(); last != nil {
			return last.Value
		}
	}
	return nil
}

func (l *line[T]) len() int { return l.arrivals.Len() }
