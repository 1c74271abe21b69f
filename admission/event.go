package admission

import (
	"errors"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// errReleased is the error of a second release.
var errReleased = errors.New("admission: permit released already")

// Reason is why a request was shed.
type Reason uint8

const (
	// Full: the queue was full, and no request in it was to be shed before this one.
	Full Reason = iota + 1
	// Displaced: the request waited in a full queue, and a more important one came.
	Displaced
	// Expired: the request waited for the queue time, and no place came free.
	Expired
)

// String returns the reason's name in lower case.
func (r Reason) String() string { return name(int(r), "none", "full", "displaced", "expired") }

// Shed is the error of a request that was shed.
type Shed struct {
	// Reason is why.
	Reason Reason
	// RetryAfter is how long the client is asked to wait, jittered; more than 0.
	RetryAfter time.Duration
	// Waited is how long the request waited in the queue.
	Waited time.Duration
	// Tags are the request's.
	Tags tag.Tags
}

func (e *Shed) Error() string {
	client := ""
	if e.Tags.Client != "" {
		client = fmt.Sprintf(" of %q", e.Tags.Client)
	}
	return fmt.Sprintf("admission: shed (%v): %v request%s, to come back after %v",
		e.Reason, e.Tags.Criticality, client, e.RetryAfter.Round(time.Millisecond))
}

// Kind says what an event is about.
type Kind uint8

// A request is Admitted, Refused or Vanished, once, perhaps after it was Queued. An
// admitted one is Released, once.
const (
	// Admitted: the request may be served, after it waited for Event.Wait.
	Admitted Kind = iota + 1
	// Queued: the request waits.
	Queued
	// Refused: the request was shed for Event.Reason, after it waited for Event.Wait. Its
	// client is asked to wait for Event.RetryAfter.
	Refused
	// Vanished: the request's context ended while it waited, or before.
	Vanished
	// Released: the request gave its place back. Event.Outcome is how it ended.
	Released
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	return name(int(k), "none", "admitted", "queued", "refused", "vanished", "released")
}

// name is the nth of the names; the first one stands for all others.
func name(n int, names ...string) string {
	if n < len(names) {
		return names[n]
	}
	return names[0]
}

// Event says what happened, and how the controller stood right after it.
type Event struct {
	// Seq numbers a controller's events 1, 2, 3... in the order in which they happened.
	// Observers are called without the lock, so of two goroutines' events the later may
	// arrive first.
	Seq  uint64
	Time time.Time
	Kind Kind
	// Tags are the request's.
	Tags tag.Tags
	// Wait is how long the request has waited.
	Wait time.Duration
	// Reason and RetryAfter are set for a refusal; for other events, zero.
	Reason     Reason
	RetryAfter time.Duration
	// Outcome and Took are how the released request ended, and how long it had its place;
	// of other events, zero.
	Outcome window.Outcome
	Took    time.Duration
	// Window is the window after the event: the limit is its Cwnd.
	Window window.State
	// InFlight and Queued are counted after the event.
	InFlight, Queued int
}
