package limiter

import (
	"context"
	"fmt"
	"time"
)

// Close takes no new work: whoever waits, and whoever comes, gets ErrClosed.
// Attempts in flight go on and are to be released as ever. It may be called
// more than once.
func (l *Limiter) Close() {
	l.lock()
	if l.closed {
		l.open()
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
	l.timing = nil
	l.note(Event{Kind: Closed})
	l.unlock(time.Time{})
}

// Drain closes the limiter and waits until nothing flies any more. If the
// context ends first, the error says how many attempts still fly.
func (l *Limiter) Drain(ctx context.Context) error {
	l.Close()
	select {
	case <-l.idle:
		return nil
	default:
	}
	select {
	case <-l.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("limiter: %d attempts still in flight: %w", l.Snapshot().InFlight, ctx.Err())
	}
}

// settle tells Drain when nothing flies any more. A closed limiter sends
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
