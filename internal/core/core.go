// Package core decides when attempts are sent: it is what limiter, admission and sim share.
package core

import (
	"iter"
	"time"

	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// Core is the limiter without its lock: a Gate and a queue. It decides which operation goes now and when
// to look again. It is pure; T is the value that the driver finds again in an item that waits.
//
// limiter.Limiter drives it behind a lock, on real time; a simulator drives the same Core on virtual
// time. After each event a driver calls Next until it returns nil, and then sets one timer for Deadline.
type Core[T any] struct {
	Gate
	queue queue.Queue[T]
}

// New returns a core in its initial state, or an error that names the wrong setting, its value and the
// allowed values.
func New[T any](law window.NewLaw, s Settings) (Core[T], error) {
	g, err := NewGate(law, s)
	return Core[T]{g, queue.Queue[T]{Bound: s.QueueBound}}, err
}

// Tried sends an attempt at once if it may go now. It reports false if the attempt has to wait:
// operations wait already, the window is full, or there is a pause or a gap.
func (c *Core[T]) Tried(now time.Duration) (Ticket, bool) {
	if c.queue.Len() > 0 {
		return Ticket{}, false
	}
	return c.Gate.Tried(now)
}

// Queued puts a new operation at the end of the queue, and reports false if the queue is full.
func (c *Core[T]) Queued(i *queue.Item[T]) bool { return c.queue.Push(i) }

// Rejoined puts an operation whose last attempt failed at the front of the queue, behind others of its kind.
func (c *Core[T]) Rejoined(i *queue.Item[T]) { c.queue.PutBack(i) }

// Cancelled takes an operation out of the queue, and reports false if it is not in the queue.
func (c *Core[T]) Cancelled(i *queue.Item[T]) bool { return c.queue.Remove(i) }

// Dismissed takes the operation at the front out of the queue without sending it, nil if none waits. A
// driver that shuts down calls it until it returns nil.
func (c *Core[T]) Dismissed() *queue.Item[T] {
	i, _ := c.queue.Ends()
	if i != nil {
		c.queue.Remove(i)
	}
	return i
}

// Reconfigured does as Gate.Reconfigured. A lower queue bound turns no operation away that waits.
func (c *Core[T]) Reconfigured(now time.Duration, law window.NewLaw, s Settings) error {
	err := c.Gate.Reconfigured(now, law, s)
	if err == nil {
		c.queue.Bound = s.QueueBound
	}
	return err
}

// Next takes the next operation that may go now out of the queue and books its attempt. It returns nil if
// no operation may go.
func (c *Core[T]) Next(now time.Duration) (*queue.Item[T], Ticket) {
	t, ok := c.Gate.Next(now, c.queue.Len())
	if !ok {
		return nil, t
	}
	return c.Dismissed(), t
}

// Deadline returns when to call Next again without an event, and false if only an event can let an
// operation go. Its value may change with every event.
func (c *Core[T]) Deadline() (time.Duration, bool) { return c.Gate.Deadline(c.queue.Len()) }

// All yields the values of the operations in the queue, from the front to the end. One may be cancelled
// when it is yielded.
func (c *Core[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range c.queue.All() {
			if !yield(i.Value) {
				return
			}
		}
	}
}

// Waiting is the number of operations in the queue.
func (c *Core[T]) Waiting() int { return c.queue.Len() }
