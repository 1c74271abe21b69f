package admission

import (
	"time"

	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/tag"
)

// item is one request that waits. Value and Tags are the caller's, to be set
// before core.Queued. It must not be copied after that.
type item[T any] struct {
	Value T
	Tags  tag.Tags

	// since is when it began to wait.
	since time.Time
	// level is what it is worth, 0 the least.
	level int
	// refused is why it was shed.
	refused refusal
	// arrival, turn and retry are its places in the lists of the line.
	arrival, turn, retry queue.Item[*item[T]]
}

// refusal is what is told to one who is shed.
type refusal struct {
	Reason Reason
	// RetryAfter is when to come back, jittered; more than 0.
	RetryAfter time.Duration
}

// line is the order of those who wait: served from the highest level down,
// within it first come, first served; shed from the lowest level up, within
// it retries before the others, and of these the latest first: it has waited
// the least, and would have been served last.
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

// levels is how many different things a request can be worth.
const levels = len(turns) * len(tag.Criticalities)

// levelOf is what a request is worth: first by what a rule says, then by its
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

// oldest is the one who has waited the longest, nil if nobody waits.
func (l *line[T]) oldest() *item[T] {
	if first := l.arrivals.First(); first != nil {
		return first.Value
	}
	return nil
}

// next is the one to serve next, nil if nobody waits.
func (l *line[T]) next() *item[T] {
	for n := levels - 1; n >= 0; n-- {
		if first := l.levels[n].all.First(); first != nil {
			return first.Value
		}
	}
	return nil
}

// least is the one to shed next, nil if nobody waits.
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
