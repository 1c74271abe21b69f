package limiter

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/internal/keep"
	"github.com/aimd-go/aimd/window"
)

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
