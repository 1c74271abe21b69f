package aimd

import (
	"context"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Close takes no new work: callers that wait, and later ones, get ErrClosed. It may be called more than once.
// The error is always nil; it makes a Limiter an io.Closer.
func (l *Limiter) Close() error {
	l.close()
	return nil
}

// Shutdown is Close, and waits until no attempt is in flight. If the context ends first, the error says how many
// attempts still are.
func (l *Limiter) Shutdown(ctx context.Context) error {
	l.close()
	select {
	case <-l.idle:
	case <-ctx.Done():
		if n := l.Snapshot().InFlight; n > 0 {
			return fmt.Errorf("aimd: %d attempts still in flight: %w", n, ctx.Err())
		}
	}
	return nil
}

func (l *Limiter) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.shut)
		if l.timer != nil {
			l.timer.Stop()
		}
		for i := range l.queue.All() {
			l.queue.Remove(i)
			w := i.Value
			w.dismissed, w.next, l.woken = ErrClosed, l.woken, w
		}
		l.note(l.now(), Event{Kind: Closed})
	}
	l.unlock(0)
}

// settle lets Shutdown return once no attempt is in flight. A closed limiter sends no more.
func (l *Limiter) settle() {
	if l.gate.Flying() > 0 {
		return
	}
	select {
	case <-l.idle:
	default:
		close(l.idle)
	}
}

// restoreAge: a window of an hour ago is probably still right. Our choice.
const restoreAge = time.Hour

// State is the knowledge of a limiter, and its time: plain data that goes through JSON. docs/recipes.md keeps
// it in a file.
type State struct {
	window.State
	// Law is the type of the law that set Ssthresh and Spaced, "" if it is not known. A limiter with another law
	// starts with Cwnd as its window and as its threshold.
	Law string `json:"law,omitempty"`
	// At is the time of the state; zero: not known. A state with a time of more than an hour ago is ignored.
	At time.Time `json:"at,omitzero"`
}

// State returns what the limiter learned, for Config.Restore at the next start.
func (l *Limiter) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{l.gate.State(), l.law, l.made.Add(l.now())}
}

// restored is the state that a limiter with the law starts from, or the zero State.
func (c Config) restored(law string) window.State {
	s := c.Restore
	old := !s.At.IsZero() && c.Clock.Since(s.At) > restoreAge
	switch {
	case s.State == window.State{} || old:
		return window.State{}
	case s.Law != "" && s.Law != law:
		return window.State{Cwnd: s.Cwnd, Ssthresh: max(s.Cwnd, window.MinWindow)}
	}
	return s.State
}
