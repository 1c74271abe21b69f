// Package core decides when attempts are sent: it is what limiter, admission and sim share.
package core

import (
	"time"

	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// Core is the limiter without its lock: a Gate and the queue of the operations that wait for it. It is pure;
// T is the value that the driver finds again in an item of the queue. After each event, and after each change
// of the queue, a driver calls Next until it returns nil, and then sets one timer for Deadline.
type Core[T any] struct {
	Gate
	// Queue has the operations that failed (PutBack), and then the new ones (Push).
	Queue queue.Queue[T]
}

// New returns a core in its initial state, or an error that names the wrong setting.
func New[T any](law window.NewLaw, s Settings) (Core[T], error) {
	g, err := NewGate(law, s)
	return Core[T]{g, queue.Queue[T]{Bound: s.QueueBound}}, err
}

// Tried sends an attempt if it may go now and no operation waits.
func (c *Core[T]) Tried(now time.Duration) (Ticket, bool) {
	if c.Queue.Len() > 0 {
		return Ticket{}, false
	}
	return c.Gate.Tried(now)
}

// Reconfigured does as Gate.Reconfigured. A lower queue bound turns no operation away that waits.
func (c *Core[T]) Reconfigured(now time.Duration, law window.NewLaw, s Settings) error {
	err := c.Gate.Reconfigured(now, law, s)
	if err == nil {
		c.Queue.Bound = s.QueueBound
	}
	return err
}

// Next takes the next operation that may go now out of the queue and books its attempt; nil if none may.
func (c *Core[T]) Next(now time.Duration) (*queue.Item[T], Ticket) {
	t, ok := c.Gate.Next(now, c.Queue.Len())
	if !ok {
		return nil, t
	}
	return c.Queue.Pop(), t
}

// Deadline is Gate.Deadline for the queue.
func (c *Core[T]) Deadline() (time.Duration, bool) { return c.Gate.Deadline(c.Queue.Len()) }
