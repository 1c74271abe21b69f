package limiter

import (
	"context"
	"errors"
	"fmt"
)

// Close takes no new work: callers that wait, and those that come, get ErrClosed.
// Attempts in flight go on and are to be released as always. It may be called
// more than once.
func (l *Limiter) Close() {
	l.mu.Lock()
	if l.closed {
		l.unlock(0)
		return
	}
	l.closed = true
	close(l.shut)
	if l.timer != nil {
		l.timer.Stop()
	}
	for i := l.core.Dismissed(); i != nil; i = l.core.Dismissed() {
		w := i.Value
		w.dismissed, w.next, l.woken = true, l.woken, w
	}
	l.note(l.now(), Event{Kind: Closed})
	l.unlock(0)
	_ = l.save() // Drain tells
}

// Drain closes the limiter and waits until nothing is in flight any
// more. If the context ends first, the error says how many attempts still are. With
// Config.StateFile it also says if the file could not be written.
func (l *Limiter) Drain(ctx context.Context) error {
	l.Close()
	var err error
	select {
	case <-l.idle:
	case <-ctx.Done():
		if n := l.Snapshot().InFlight; n > 0 {
			err = fmt.Errorf("limiter: %d attempts still in flight: %w", n, ctx.Err())
		}
	}
	if saved := l.save(); saved != nil {
		err = errors.Join(err, fmt.Errorf("limiter: state: %w", saved))
	}
	return err
}

// settle tells Drain when nothing is in flight any more. A closed limiter sends
// nothing, so that happens once.
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
