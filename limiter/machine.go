// Package limiter is the machine of a limiter: the window, the queue, the pauses, the gap between sends and the
// quotas of the service decide which operation is sent now, and when to look again. It is pure: no goroutine, lock,
// context or clock. [github.com/aimd-go/aimd] drives it for most programs, package admission at a server, and
// package sim on virtual time.
package limiter

import (
	"time"

	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// Machine is a limiter without goroutines, locks and clocks, for programs that have their own: events in,
// effects out, one deadline. It is a Gate and the queue of the operations that wait for it. T is the value that
// the driver finds again in an item of the queue. To drive a machine:
//
//   - One goroutine at a time calls it, or a lock is held. Every time is the time since one start of the driver.
//   - Tell it each event: a new operation by Queue.Push, a failed one by Queue.PutBack, one that left by
//     Queue.Remove, and an attempt that ended by Answered or Withdrawn, once for each ticket.
//   - After each event call Next until it returns nil, and send an attempt for each item that it returns.
//   - Then set one timer for Deadline, if there is one. The timer is an event without a name: call Next again.
//   - A failed operation waits for the longer of Backoff and Obeyed, without a slot, before Queue.PutBack.
//
// A question (Open, State, Deadline, Rules) changes nothing. A time that runs backwards counts as the latest one.
type Machine[T any] struct {
	Gate
	// Queue has the operations that failed (PutBack), and then the new ones (Push).
	Queue queue.Queue[T]
}

// New returns a machine in its initial state, or an error that names the wrong setting.
func New[T any](law window.NewLaw, s Settings) (Machine[T], error) {
	g, err := NewGate(law, s)
	return Machine[T]{g, queue.Queue[T]{Bound: s.QueueBound}}, err
}

// Tried sends an attempt if it may go now and no operation waits.
func (c *Machine[T]) Tried(now time.Duration) (window.Ticket, bool) {
	if c.Queue.Len() > 0 {
		return window.Ticket{}, false
	}
	return c.Gate.Tried(now)
}

// Reconfigured does as Gate.Reconfigured. A lower queue bound turns no operation away that waits.
func (c *Machine[T]) Reconfigured(now time.Duration, law window.NewLaw, s Settings) error {
	err := c.Gate.Reconfigured(now, law, s)
	if err == nil {
		c.Queue.Bound = s.QueueBound
	}
	return err
}

// Next takes the next operation that may go now out of the queue and books its attempt; nil if none may.
func (c *Machine[T]) Next(now time.Duration) (*queue.Item[T], window.Ticket) {
	t, ok := c.Gate.Next(now, c.Queue.Len())
	if !ok {
		return nil, t
	}
	return c.Queue.Pop(), t
}

// Deadline is Gate.Deadline for the queue.
func (c *Machine[T]) Deadline() (time.Duration, bool) { return c.Gate.Deadline(c.Queue.Len()) }
