package admission

import (
	"time"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Kind says what an event is about.
type Kind uint8

// A request is Admitted, Refused or Vanished, once, perhaps after it was Queued. An
// admitted one is Released, once.
const (
	// Admitted: the request may be served. Event.Wait is how long it waited.
	Admitted Kind = iota + 1
	// Queued: it waits.
	Queued
	// Refused: it was shed. Event.Reason is why, Event.RetryAfter what its client is
	// told, and Event.Wait how long it waited.
	Refused
	// Vanished: its context ended while it waited, or before.
	Vanished
	// Released: it gave its place back. Event.Outcome is how it ended.
	Released
)

var kinds = [...]string{"none", "admitted", "queued", "refused", "vanished", "released"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return kinds[0]
}

// Event tells an observer what happened and how things stood right after it.
type Event struct {
	// Seq numbers a controller's events 1, 2, 3... in the order in which they
	// happened. Observers are called without the lock, so of two goroutines'
	// events the later may arrive first.
	Seq  uint64
	Time time.Time
	Kind Kind
	// Tags are those of the request.
	Tags tag.Tags
	// Wait is how long the request waited, or did until now.
	Wait time.Duration
	// Reason and RetryAfter are those of a refusal; of other events, zero.
	Reason     Reason
	RetryAfter time.Duration
	// Outcome and Took are how the released request ended, and how long it had its
	// place; of other events, zero.
	Outcome window.Outcome
	Took    time.Duration
	// Window is the window after the event: the limit is its Cwnd.
	Window window.State
	// InFlight and Queued are counted after the event.
	InFlight, Queued int
}
