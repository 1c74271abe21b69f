package limiter

import (
	"encoding/json"
	"time"

	"github.com/aimd-go/aimd/internal/keep"
	"github.com/aimd-go/aimd/window"
)

// restoreAge: what was learned an hour ago may well be right, what was learned
// yesterday hardly. Our choice.
const restoreAge = time.Hour

// maxState is the most bytes that a file with a state may have.
const maxState = 4 << 10

// State is what a limiter learned, and when: plain data that goes through JSON.
type State struct {
	window.State
	// Law is the type of the law that set Ssthresh and Gap. A limiter with another law
	// starts from Cwnd alone, as its window and as its threshold. "": not known.
	Law string `json:"law,omitempty"`
	// At is when it was so; the zero time: not known.
	At time.Time `json:"at,omitzero"`
}

// State returns what the limiter learned, for Config.Restore at the next start.
func (l *Limiter) State() State {
	now := l.now()
	l.mu.Lock()
	s := State{l.core.State(), l.core.Law(), l.made.Add(now)}
	l.unlock(now)
	return s
}

// restored is the state to start from, and whether there is one.
func (c Config) restored() (State, bool) {
	for _, s := range []State{readState(c.StateFile), c.Restore} {
		old := c.RestoreAge > 0 && !s.At.IsZero() && c.Clock.Since(s.At) > c.RestoreAge
		if s.State != (window.State{}) && !old {
			return s, true
		}
	}
	return State{}, false
}

// readState is the state that the file keeps, the zero State if it keeps none.
func readState(path string) (s State) {
	if path == "" {
		return s
	}
	data, err := keep.Read(path, maxState)
	if err != nil || json.Unmarshal(data, &s) != nil {
		return State{}
	}
	var w window.Window
	if w.Restored(s.State) != nil { // somebody else's file, or half a state
		return State{}
	}
	return s
}

// save writes the state to its file, if there is one.
func (l *Limiter) save() error {
	path := l.config.Load().StateFile
	if path == "" {
		return nil
	}
	data, err := json.Marshal(l.State())
	if err != nil {
		return err
	}
	return keep.Write(path, data)
}
