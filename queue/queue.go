// Package queue is a queue of operations that wait for a slot: first in, first out, with retries at the front.
// Every item can leave at any time. The package is pure, and does not allocate: the items belong to the caller.
package queue

import "iter"

// Item is one waiting operation. The zero value is ready for use. An item may be in one queue at a time, and must
// not be copied while it is in a queue.
type Item[T any] struct {
	// Value is the caller's.
	Value      T
	next, prev *Item[T]
	queue      *Queue[T]
}

// Queue is a list of items. The zero value is an empty queue without a bound. Not safe for use by several
// goroutines. Every method takes constant time.
type Queue[T any] struct {
	// Bound is the greatest number of items for Push; 0: no bound. PutBack ignores it: an item that was let in once
	// is not dropped.
	Bound int

	head, tail *Item[T]
	// returned is the last item that came by PutBack; all such items stand at the front.
	returned *Item[T]
	n        int
}

// Push puts the item at the end, and reports false if the queue is full. It panics if the item is in a
// queue already.
func (q *Queue[T]) Push(i *Item[T]) bool {
	if q.Bound > 0 && q.n >= q.Bound {
		return false
	}
	q.insert(q.tail, i)
	return true
}

// PutBack puts an item that was served, and has to wait again, at the front: before the items of Push, and behind
// items that were put back earlier. So the oldest of several failed operations goes first. It panics if the item is
// in a queue already.
func (q *Queue[T]) PutBack(i *Item[T]) {
	q.insert(q.returned, i)
	q.returned = i
}

// Remove takes the item out of the queue wherever it stands, and reports false if it is not in this queue.
func (q *Queue[T]) Remove(i *Item[T]) bool {
	if i.queue != q {
		return false
	}
	if q.returned == i {
		q.returned = i.prev
	}
	if i.prev == nil {
		q.head = i.next
	} else {
		i.prev.next = i.next
	}
	if i.next == nil {
		q.tail = i.prev
	} else {
		i.next.prev = i.prev
	}
	i.next, i.prev, i.queue = nil, nil, nil
	q.n--
	return true
}

// Ends returns the items at the front and at the end, nil if the queue is empty. They stay where they are.
func (q *Queue[T]) Ends() (first, last *Item[T]) { return q.head, q.tail }

// All yields the items from the front to the end. An item may be taken out when it is yielded.
func (q *Queue[T]) All() iter.Seq[*Item[T]] {
	return func(yield func(*Item[T]) bool) {
		for i, next := q.head, (*Item[T])(nil); i != nil; i = next {
			if next = i.next; !yield(i) {
				return
			}
		}
	}
}

// Len is the number of items in the queue.
func (q *Queue[T]) Len() int { return q.n }

// insert puts i behind after, or at the head if after is nil.
func (q *Queue[T]) insert(after, i *Item[T]) {
	if i.queue != nil {
		panic("queue: the item is in a queue already")
	}
	i.queue, i.prev = q, after
	if after == nil {
		i.next, q.head = q.head, i
	} else {
		i.next, after.next = after.next, i
	}
	if i.next == nil {
		q.tail = i
	} else {
		i.next.prev = i
	}
	q.n++
}
