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

// Shed is the error of a request that was shed.
type Shed struct {
	// Reason is Full, Displaced or Expired.
	Reason Kind
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

// A request is Admitted, Vanished or shed (Full, Displaced, Expired), once, perhaps after it was Queued.
// An admitted one is Released, once.
const (
	// Admitted: the request may be served, after it waited for Event.Wait.
	Admitted Kind = iota + 1
	// Queued: the request waits.
	Queued
	// Full, Displaced and Expired: the request was shed. It found the queue full and no request in it to shed
	// before; it waited in a full queue and a more important one came; or it waited for the queue time.
	Full
	Displaced
	Expired
	// Vanished: the request's context ended while it waited, or before.
	Vanished
	// Released: the request gave its place back. Event.Outcome is how it ended.
	Released
)

var kinds = [...]string{"none", "admitted", "queued", "full", "displaced", "expired", "vanished", "released"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return kinds[0]
}

// Event says what happened, and how the controller stood right after it.
type Event struct {
	// Seq numbers a controller's events 1, 2, 3... in the order in which they happened. Observers are
	// called without the lock, so of two goroutines' events the later may arrive first.
	Seq  uint64
	Time time.Time
	Kind Kind
	// Tags are the request's.
	Tags tag.Tags
	// Wait is how long the request has waited.
	Wait time.Duration
	// RetryAfter is how long the client of a shed request is asked to wait.
	RetryAfter time.Duration
	// Outcome and Took are how the released request ended, and how long it had its place.
	Outcome window.Outcome
	Took    time.Duration
	// Window is the window after the event: the limit is its Cwnd.
	Window window.State
	// InFlight and Queued are counted after the event.
	InFlight, Queued int
}
