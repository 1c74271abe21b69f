// Package line has the order of the operations that wait for a slot of a limiter. It is pure.
package line

import (
	"iter"
	"time"

	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

const (
	// crowded times the time that a late operation had is the length of a crowd. Then the order is first in, first out again, to
	// see whether that will do. With 4 the goodput of faults_leave_test.go is .01 less, with 16 the same.
	crowded = 8
	// trips is the number of mean round trips that an operation needs, since some answers take twice as long as the mean.
	trips = 2
	// leaving is the share of the latest ends, of about as many as ends, from which callers who do not say when they leave
	// are a crowd. With less one cancelled item of a batch is one.
	leaving, ends = 1. / 8, 16
	// patient times the wait of one that left is the wait after which an operation is not in a hurry.
	patient = 2
	// again times the time that a late operation had is how long a second one begins a crowd, and how long after a crowd one is
	// enough. So it is if those that wait need more than behind times its time.
	again, behind = 3, 2
	// lasts is the part of an operation's time for which the window has to be slower.
	lasts = 4
)

// Waiter is an operation that waits. It may be in one line at a time.
type Waiter[T any] struct {
	// Value is the caller's.
	Value T
	// Since is the time when it came, Deadline the time by which it has to end; 0: it has no deadline.
	Since, Deadline time.Duration

	item, timed queue.Item[*Waiter[T]]
	// place is its place in its lane when it came, plus the lane's passed then. back: it has come back. aside: to the second queue.
	place       int32
	back, aside bool
	// Urgent: it goes before those that are not. Silent: it has no deadline, and its caller may leave at any time. They must not
	// change while it waits.
	Urgent, Silent bool
}

func (w *Waiter[T]) had() time.Duration { return w.Deadline - w.Since }

// Line is the operations that wait for a slot, in two lanes: the urgent ones go first. Each lane is first in, first out, with
// those that come back at the front. If there are deadlines, and one operation is too late, the newest of its lane goes first.
// Operations that failed are aside, in a second queue of their lane. The zero value is an empty line.
type Line[T any] struct {
	// Bound is the greatest number of operations for Push, in both lanes together; 0: no bound.
	Bound int
	// Yields: the urgent ones let the others go first. Set it before Front and Turn.
	Yields bool
	// AsideTurn is the number of turns of a lane among which its operations aside get one while others wait; else they get all.
	AsideTurn int

	urgent, others lane[T]
	// pace is the state that counts, and slower since when the present one is slower; 0: it is not.
	pace   window.State
	slower time.Duration
}

// lane is the operations of one kind that wait.
type lane[T any] struct {
	queue queue.Queue[*Waiter[T]]
	// hasty are the new ones of the queue that have a deadline, and no more time than a crowd lasts; silent those that are Silent.
	hasty, silent crowd[T]
	// left is the share of the latest ends of silent ones that were of callers who left.
	left float64
	// aside are those that failed, and turns the turns of the others since the last of theirs.
	aside queue.Queue[*Waiter[T]]
	turns int
	// passed counts the operations that got their turn, less those that came back to the front.
	passed int32
}

// Verdict is what becomes of the operation that Turn returns.
type Verdict uint8

const (
	// Goes: it is its turn.
	Goes Verdict = iota
	// Late: it has too little time left for an attempt, and is told so.
	Late
	// Last: too many go before it, and it is told so.
	Last
)

// Push lets a new operation wait at the end of its lane, and reports false if the line is full.
func (l *Line[T]) Push(w *Waiter[T]) bool {
	if l.Bound > 0 && l.Flow() >= l.Bound {
		return false
	}
	if l.Len() == 0 {
		l.slower = 0
	}
	a := l.lane(w.Urgent)
	w.item.Value, w.timed.Value = w, w
	a.queue.Push(&w.item)
	w.place, w.back, w.aside = int32(a.queue.Len())+a.passed, false, false
	if w.Silent || w.Deadline != 0 && a.hasty.hasten(w) {
		a.crowd(w).queue.Push(&w.timed)
	}
	return true
}

// PutBack lets an operation wait that has been sent before: at the front of its lane, behind others that came back.
func (l *Line[T]) PutBack(w *Waiter[T]) {
	a := l.lane(w.Urgent)
	w.item.Value, w.place, w.back, w.aside = w, 0, true, false
	a.queue.PutBack(&w.item)
	a.passed--
}

// PutAside lets an operation that failed wait in the second queue of its lane: at its end, or with first before its end, behind
// others that came so.
func (l *Line[T]) PutAside(w *Waiter[T], first bool) {
	a := l.lane(w.Urgent)
	if w.item.Value, w.place, w.back, w.aside = w, 0, true, true; first {
		a.aside.PutBack(&w.item)
	} else {
		a.aside.Push(&w.item)
	}
}

// Remove takes an operation out of the line, and reports false if it does not wait.
func (l *Line[T]) Remove(w *Waiter[T]) bool {
	a := l.lane(w.Urgent)
	a.crowd(w).queue.Remove(&w.timed)
	return a.queue.Remove(&w.item) || a.aside.Remove(&w.item)
}

// lane is the lane of an operation.
func (l *Line[T]) lane(urgent bool) *lane[T] {
	if urgent {
		return &l.urgent
	}
	return &l.others
}

// next is the lane whose turn it is.
func (l *Line[T]) next() *lane[T] {
	if l.Urgent() == 0 || l.Yields && l.others.len() > 0 {
		return &l.others
	}
	return &l.urgent
}

func (a *lane[T]) len() int { return a.queue.Len() + a.aside.Len() }

// Len is the number of operations that wait.
func (l *Line[T]) Len() int { return l.others.len() + l.Urgent() }

// Flow is the number of operations that are not aside.
func (l *Line[T]) Flow() int { return l.others.queue.Len() + l.urgent.queue.Len() }

// Urgent is the number of urgent operations that wait.
func (l *Line[T]) Urgent() int { return l.urgent.len() }

// Place is the place of an operation that waits, from 1, and about right in a crowd.
func (l *Line[T]) Place(w *Waiter[T]) int {
	place := int(w.place - l.lane(w.Urgent).passed)
	if !w.Urgent {
		place += l.Urgent()
	}
	return min(max(place, 1), l.Len())
}

// Before is the number of operations that go before the oldest of a lane, if the newest go first. w is in that lane.
func (l *Line[T]) Before(w *Waiter[T]) int {
	if w.Urgent {
		return l.Urgent() - 1
	}
	return l.Len() - 1
}

// All yields the operations that wait. One may be removed when it is yielded.
func (l *Line[T]) All() iter.Seq[*Waiter[T]] {
	return func(yield func(*Waiter[T]) bool) {
		for _, a := range [...]*lane[T]{&l.urgent, &l.others} {
			for _, q := range [...]*queue.Queue[*Waiter[T]]{&a.queue, &a.aside} {
				for i := range q.All() {
					if !yield(i.Value) {
						return
					}
				}
			}
		}
	}
}

// Front is the operation whose turn it is if no operation is late, nil if the line is empty.
func (l *Line[T]) Front() *Waiter[T] {
	a := l.next()
	first, _ := a.queue.Ends()
	if aside, _ := a.aside.Ends(); first == nil || aside != nil && a.turns >= l.AsideTurn-1 {
		first = aside
	}
	if first == nil {
		return nil
	}
	return first.Value
}

// Turn returns the operation whose turn it is, or one that is told why it is not sent; nil if the line is empty. s is the
// state of the limiter's window. In each lane:
//
//   - An operation with less time left than two mean round trips is late, with less than half of the time that it had at most,
//     and always with less than one. One that did not wait goes even so, and a round trip that is wrong is measured again.
//   - From a second one on the newest takes the turn of the oldest for eight times its time. Oldest first, each would go with a few
//     milliseconds left, and its answer would be for nobody.
//   - Meanwhile an oldest that has too little time left for those that wait now is told at once, but not sooner than a round
//     trip after it came: a caller that comes again would be told again.
//
// Operations without a deadline, with more time than the eight times, and those that come back, keep their turn. Silent
// ones are as those with a deadline once an eighth of them leave, but none is told: nobody knows its time. One that
// waits for twice as long as those that left keeps its turn.
func (l *Line[T]) Turn(now time.Duration, s window.State) (*Waiter[T], Verdict) {
	a, w := l.next(), l.Front()
	if w == nil {
		return nil, Goes
	}
	s = l.lasting(now, w.had(), s)
	c := a.crowd(w)
	switch {
	case w.Silent && now-w.Since > patient*c.span:
		return w, Goes
	case w.Silent:
	case w.Deadline == 0:
		return w, Goes
	case late(now, w, s.Trip):
		if c.second(now, w) || rest(l.Before(w), s) > behind*w.had() {
			c.found(now, w.Since, w.had())
		}
		return w, Late
	}
	_, last := c.queue.Ends()
	switch {
	case now >= c.until || w.back || last == nil || last.Value == w:
		return w, Goes
	case w.Silent:
		return last.Value, Goes
	case !c.hasten(w):
		return w, Goes
	case now-w.Since >= s.Trip && now+rest(l.Before(w), s) > w.Deadline:
		return w, Last
	case late(now, last.Value, s.Trip):
		return last.Value, Late
	}
	return last.Value, Goes
}

// lasting is the state that counts: a slower one once it has lasted for a round trip, and a quarter of an operation's time. The
// first answers after the service stood took as long as it stood, and a look at half of a window is over soon.
func (l *Line[T]) lasting(now, had time.Duration, s window.State) window.State {
	switch {
	case l.pace.Trip == 0, rest(1, s) <= rest(1, l.pace), l.slower > 0 && now-l.slower >= max(s.Trip, had/lasts):
		l.pace, l.slower = s, 0
	case l.slower == 0:
		l.slower = now
	}
	return l.pace
}

// Trip is the mean round trip by which the latest Turn decided who is late.
func (l *Line[T]) Trip() time.Duration { return l.pace.Trip }

// Went takes the operation out of the line that Turn returned, for it got its slot.
func (l *Line[T]) Went(w *Waiter[T]) {
	a := l.lane(w.Urgent)
	if l.Remove(w); w.aside {
		a.turns = 0
		return
	}
	a.turns++
	a.passed++
}

// Left notes that the caller of an operation left while it waited, at its deadline or, if it is silent, at any time.
func (l *Line[T]) Left(now time.Duration, w *Waiter[T]) {
	switch a := l.lane(w.Urgent); {
	case w.Silent:
		if a.ended(true) {
			a.silent.found(now, w.Since, now-w.Since)
		}
	case w.Deadline != 0:
		a.hasty.found(now, w.Since, w.had())
	}
}

// late reports whether an operation has too little time left for an attempt.
func late[T any](now time.Duration, w *Waiter[T], trip time.Duration) bool {
	return now+min(trips*trip, max(w.had()/2, min(trip, w.had()))) > w.Deadline
}

// rest is the time until n operations have had a turn.
func rest(n int, s window.State) time.Duration {
	return time.Duration(float64(n) * float64(s.Trip) / max(1, s.Cwnd))
}
