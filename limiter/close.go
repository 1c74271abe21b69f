package limiter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/internal/keep"
	"github.com/aimd-go/aimd/window"
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

// restoreAge: a window of an hour ago is probably still right. Our choice.
const restoreAge = time.Hour

// State is the knowledge of a limiter, and its time: plain data that goes through JSON.
type State struct {
	window.State
	// Law is the type of the law that set Ssthresh and Gap, "" if it is not known. A limiter with another law
	// starts with Cwnd as its window and as its threshold.
	Law string `json:"law,omitempty"`
	// At is the time of the state, zero if it is not known.
	At time.Time `json:"at,omitzero"`
}

// State returns what the limiter learned, for Config.Restore at the next start.
func (l *Limiter) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{l.core.State(), l.core.Law(), l.made.Add(l.now())}
}

// restored is the state that a limiter with the law starts from, or the zero State.
func (c Config) restored(law string) window.State {
	for _, s := range []State{readState(c.StateFile), c.Restore} {
		old := c.RestoreAge > 0 && !s.At.IsZero() && c.Clock.Since(s.At) > c.RestoreAge
		switch {
		case s.State == window.State{} || old:
		case s.Law != "" && s.Law != law:
			return window.State{Cwnd: s.Cwnd, Ssthresh: s.Cwnd}
		default:
			return s.State
		}
	}
	return window.State{}
}

func readState(path string) (s State) {
	data, err := keep.Read(path, 4<<10)
	if err != nil || json.Unmarshal(data, &s) != nil || new(core.Window).Restored(s.State) != nil {
		return State{}
	}
	return s
}

func (l *Limiter) save() error {
	path := l.config.Load().StateFile
	if path == "" {
		return nil
	}
	data, err := json.Marshal(l.State())
	if err == nil {
		err = keep.Write(path, data)
	}
	if err != nil {
		return fmt.Errorf("limiter: state: %w", err)
	}
	return nil
}
