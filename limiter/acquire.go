package limiter

import (
	"context"
	"time"

	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// Acquire waits for a slot, behind all who wait already. It returns ctx.Err()
// if the context ends first, ErrClosed if the limiter is or gets closed, and
// ErrQueueFull if there is a bound and it is reached.
func (l *Limiter) Acquire(ctx context.Context) (Permit, error) { return l.acquire(ctx, atBack) }

// Reacquire is Acquire for an operation whose last attempt failed: it waits at
// the front of the queue, behind others that failed before it. The
// queue's bound does not apply.
func (l *Limiter) Reacquire(ctx context.Context) (Permit, error) { return l.acquire(ctx, atFront) }

// TryAcquire takes a slot if one is free at once and nobody waits for it.
func (l *Limiter) TryAcquire() (Permit, bool) {
	if id, ok := l.latch.take(); ok {
		return Permit{l, l.stamped(id)}, true
	}
	l.lock()
	if l.closed {
		l.open()
		return Permit{}, false
	}
	t, ok := l.core.Tried(l.time())
	l.open()
	return Permit{l, t}, ok
}

// place is where in the queue a waiter goes.
type place uint8

const (
	atBack place = iota
	atFront
)

func (l *Limiter) acquire(ctx context.Context, at place) (Permit, error) {
	if err := ctx.Err(); err != nil {
		return Permit{}, err
	}
	if id, ok := l.latch.take(); ok {
		return Permit{l, l.stamped(id)}, nil
	}
	return l.acquireLocked(ctx, at)
}

// stamped is the ticket of an attempt that found its slot free.
func (l *Limiter) stamped(id uint64) window.Ticket {
	if !l.timed {
		return window.Stamped(id, 0)
	}
	return window.Stamped(id, l.config.Clock.Since(l.made))
}

// acquireLocked is acquire where no slot lay free.
func (l *Limiter) acquireLocked(ctx context.Context, at place) (Permit, error) {
	w := l.waiters.Get().(*waiter) // most who come here wait; and not under the lock
	l.lock()
	if l.closed {
		l.open()
		l.waiters.Put(w)
		return Permit{}, ErrClosed
	}
	now := l.time()
	if t, ok := l.core.Tried(now); ok {
		l.open()
		l.waiters.Put(w)
		return Permit{l, t}, nil
	}
	if at == atFront {
		l.core.Rejoined(&w.item)
	} else if !l.core.Queued(&w.item) {
		l.note(Event{Kind: Full})
		l.unlock(now)
		l.waiters.Put(w)
		return Permit{}, ErrQueueFull
	}
	if l.timing == nil || l.config.Observer != nil {
		w.since, l.timing = l.config.Clock.Since(l.made)+1, w
	}
	if l.core.NeedsTime() {
		l.unlockFor(w, now)
	} else {
		// Only an answer can let anybody go, and there is nothing to tell.
		l.published.queued.Store(int64(l.core.Waiting()))
		l.open()
	}
	return l.wait(ctx, w)
}

// unlockFor is unlock for one who is about to wait. Where the observer panics he
// never does; so he leaves, and a slot that he was given goes to the next one.
func (l *Limiter) unlockFor(w *waiter, now time.Time) {
	told := false
	defer func() {
		if !told {
			l.leave(w)
		}
	}()
	l.unlock(now)
	told = true
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

// leave takes a waiter whose context ended out of the queue. It reports false
// when the waiter was dismissed just before: then that is its answer.
func (l *Limiter) leave(w *waiter) bool {
	l.lock()
	if l.core.Cancelled(&w.item) {
		if l.timing == w {
			l.timing = nil
		}
		l.unlock(l.time())
		l.recycle(w)
		return true
	}
	l.open()
	// Its turn came at the same moment: the signal is sent or about to be.
	<-w.ready
	if w.dismissed {
		return false
	}
	// The slot goes to the next one as if it had never been given.
	l.lock()
	l.core.Withdrawn(w.ticket)
	l.published.withdrawn.Inc()
	l.unlock(l.time())
	l.recycle(w)
	return true
}

func (l *Limiter) recycle(w *waiter) {
	w.ticket, w.since, w.dismissed = window.Ticket{}, 0, false
	l.waiters.Put(w)
}

// waiter is one goroutine in Acquire that found no free slot. Waiters are reused.
type waiter struct {
	item queue.Item[*waiter]
	// ready takes one signal, sent after ticket or dismissed is set and the lock released.
	ready  chan struct{}
	ticket window.Ticket
	// since is when it began to wait, counted from a nanosecond before the limiter
	// was made; 0: this one is not timed.
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
