package aimd

import (
	"context"
	"fmt"

	"github.com/aimd-go/aimd/event"
)

// Close ends the intake of work: waiting and later callers get ErrClosed. It may be called more than once. The
// error is always nil; it makes a Limiter an io.Closer.
func (l *Limiter) Close() error {
	l.close()
	return nil
}

// Shutdown is Close, and waits until no attempt is in flight. If the context ends first, the error has the number
// of attempts in flight.
func (l *Limiter) Shutdown(ctx context.Context) error {
	l.close()
	select {
	case <-l.idle:
	case <-ctx.Done():
		if n := l.atWork(); n > 0 {
			return fmt.Errorf("aimd: %d attempts still in flight: %w", n, ctx.Err())
		}
	}
	return nil
}

func (l *Limiter) close() {
	l.lock()
	if !l.closed {
		l.closed = true
		close(l.shut)
		if l.timer != nil {
			l.timer.Stop()
		}
		for i := range l.line.All() {
			l.line.Remove(i)
			w := i.Value
			w.dismissed = ErrClosed
			l.woken.add(w)
		}
		l.note(l.now(), Event{Kind: event.Closed})
	}
	l.unlock(0)
}

// atWork is the number of attempts in flight, and of answers that are open outside the window.
func (l *Limiter) atWork() int {
	s := l.Snapshot()
	return s.InFlight + s.Open
}

// settle lets Shutdown return once no attempt is in flight. A closed limiter sends no more.
func (l *Limiter) settle() {
	if l.gate.Flying()+l.gate.Outside() > 0 {
		return
	}
	select {
	case <-l.idle:
	default:
		close(l.idle)
	}
}
