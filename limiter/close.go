package limiter

import (
	"context"
	"errors"
	"fmt"
)

// Close takes no new work: callers that wait, and later ones, get ErrClosed. With Config.StateFile it writes
// the state, and returns the error of the write. It may be called more than once.
func (l *Limiter) Close() error {
	l.close()
	return l.save()
}

// Drain is Close, and waits until no attempt is in flight before it writes the state. If the context ends
// first, the error says how many attempts still are.
func (l *Limiter) Drain(ctx context.Context) error {
	l.close()
	var err error
	select {
	case <-l.idle:
	case <-ctx.Done():
		if n := l.Snapshot().InFlight; n > 0 {
			err = fmt.Errorf("limiter: %d attempts still in flight: %w", n, ctx.Err())
		}
	}
	return errors.Join(err, l.save())
}

func (l *Limiter) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.shut)
		if l.timer != nil {
			l.timer.Stop()
		}
		for i := l.core.Queue.Pop(); i != nil; i = l.core.Queue.Pop() {
			w := i.Value
			w.dismissed, w.next, l.woken = ErrClosed, l.woken, w
		}
		l.note(l.now(), Event{Kind: Closed})
	}
	l.unlock(0)
}

// settle lets Drain return once no attempt is in flight. A closed limiter sends no more.
func (l *Limiter) settle() {
	if l.core.Flying() > 0 {
		return
	}
	select {
	case <-l.idle:
	default:
		close(l.idle)
	}
}
