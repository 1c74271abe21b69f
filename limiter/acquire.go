package limiter

import (
	"context"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/queue"
)

// Acquire waits for a slot, at the end of the queue. It returns ctx.Err() if the context
// ends first, ErrClosed if the limiter is closed, attempt.ErrQueueFull if the queue is at
// its bound, and ErrHasSlot if ctx belongs to an attempt of Do, Each or Begin that has a
// slot of this limiter: to wait for a second slot with the first in hand could last for
// ever. The request belongs under the slot in hand.
//
// A client that tries again uses Begin.
func (l *Limiter) Acquire(ctx context.Context) (Permit, error) {
	if l.HasSlot(ctx) {
		return Permit{}, ErrHasSlot
	}
	return l.acquire(ctx, false)
}

// TryAcquire takes a slot if one is free at once and no operation waits for it.
func (l *Limiter) TryAcquire() (Permit, bool) {
	var t core.Ticket
	l.mu.Lock()
	now, ok := l.time(), false
	if !l.closed {
		t, ok = l.core.Tried(now)
	}
	l.unlock(now)
	return Permit{l, t}, ok
}

// acquire waits at the end of the queue, a retry at its front.
func (l *Limiter) acquire(ctx context.Context, retry bool) (Permit, error) {
	if err := ctx.Err(); err != nil {
		return Permit{}, err
	}
	if p, ok := l.TryAcquire(); ok {
		return p, nil
	}
	return l.queued(ctx, retry)
}

// queued is acquire for a caller that found no free slot.
func (l *Limiter) queued(ctx context.Context, retry bool) (Permit, error) {
	w := l.waiters.Get().(*waiter) // not under the lock
	l.mu.Lock()
	now := l.time()
	if err := l.enqueue(w, retry, now); err != nil {
		l.unlock(now)
		l.waiters.Put(w)
		return Permit{}, err
	}
	l.unlock(now) // admits it if a slot was released meanwhile
	return l.wait(ctx, w)
}

// enqueue books a waiter.
func (l *Limiter) enqueue(w *waiter, retry bool, now time.Duration) error {
	switch {
	case l.closed:
		return ErrClosed
	case retry:
		l.core.Rejoined(&w.item)
	case !l.core.Queued(&w.item):
		l.note(now, Event{Kind: Full})
		return attempt.ErrQueueFull
	}
	if l.observer != nil {
		w.since = l.now()
	}
	return nil
}

// wait waits until w is admitted or dismissed, or the context ends.
func (l *Limiter) wait(ctx context.Context, w *waiter) (Permit, error) {
	if done := ctx.Done(); done == nil {
		<-w.ready // a context that cannot end: half the cost of a select
	} else {
		select {
		case <-w.ready:
		case <-done:
			if l.leave(w) {
				return Permit{}, ctx.Err()
			}
		}
	}
	t, dismissed := w.ticket, w.dismissed
	l.recycle(w)
	if dismissed {
		return Permit{}, ErrClosed
	}
	return Permit{l, t}, nil
}

// leave takes a waiter whose context ended out of the queue. It reports false if the
// waiter was dismissed just before: then ErrClosed is its answer.
func (l *Limiter) leave(w *waiter) bool {
	l.mu.Lock()
	now := l.time()
	waits := l.core.Cancelled(&w.item)
	l.unlock(now)
	if !waits {
		// Its turn came at the same moment: the signal is sent or about to be.
		<-w.ready
		if w.dismissed {
			return false
		}
		l.withdraw(w.ticket)
	}
	l.recycle(w)
	return true
}

// withdraw passes a slot on as if it had never been given.
func (l *Limiter) withdraw(t core.Ticket) {
	l.mu.Lock()
	l.core.Withdrawn(t)
	l.unlock(l.time())
}

func (l *Limiter) recycle(w *waiter) {
	w.ticket, w.dismissed = core.Ticket{}, false
	l.waiters.Put(w)
}

// waiter is one goroutine that found no free slot. Waiters are reused.
type waiter struct {
	item queue.Item[*waiter]
	// ready takes one signal, sent after ticket or dismissed is set and the lock released.
	ready  chan struct{}
	ticket core.Ticket
	// since is when it began to wait, for an observer.
	since time.Duration
	// dismissed: the limiter was closed.
	dismissed bool
	// next is the next one to wake.
	next *waiter
}

func newWaiter() any {
	w := &waiter{ready: make(chan struct{}, 1)}
	w.item.Value = w
	return w
}

// wakeAll wakes the waiter and those listed after it. It may be nil.
func (w *waiter) wakeAll() {
	for w != nil {
		next := w.next
		w.next = nil
		w.ready <- struct{}{}
		w = next
	}
}
