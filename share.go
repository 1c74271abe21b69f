package aimd

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// Share is what a limiter has of a window that several processes share: see package share.
type Share struct {
	// Mode is where the window is from: "shared"; "waiting" for a first share; "silent": the store is, and the last share holds;
	// "alone": the limiter has a window of its own, by the number of processes.
	Mode string `json:"mode"`
	// Window is the share, in attempts; 0: there is none. Below 2 attempts are sent in turns with those of other processes.
	Window float64 `json:"window"`
	// Processes is the number of processes.
	Processes int `json:"processes"`
	// Leads: this process computes the window of all.
	Leads bool `json:"leads,omitempty"`
	// Heard is the time of the store's last answer, zero before the first.
	Heard time.Time `json:"heard,omitzero"`
}

// Follow sets the window of a limiter at work, and what package limiter calls its part. It is for package share: the
// law should leave the window as it is. The zero State leaves the window. It is no decision; a change of the mode or of
// the leader is an event.Share, with the reason that the store is not heard. The error is that of a State that no
// window can have.
func (l *Limiter) Follow(s Share, to window.State, p limiter.Part, reason error) error {
	l.lock()
	now := l.now()
	if to == (window.State{}) {
		to = l.gate.State()
	}
	if err := l.gate.Shared(now, to, p); err != nil {
		l.mu.Unlock()
		return fmt.Errorf("aimd: Follow: %w", err)
	}
	if was := l.counts.Share; was == nil || was.Mode != s.Mode || was.Leads != s.Leads {
		cause := s.Mode
		if s.Leads {
			cause += ", leads"
		}
		l.note(now, Event{Kind: event.Share, Cause: cause, Count: uint64(s.Processes), Err: reason})
	}
	l.counts.Share = &s
	l.unlock(now)
	return nil
}
