package admission

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Shed is the error of a request that was shed.
type Shed struct {
	// Reason is Full, Displaced or Expired.
	Reason Kind
	// RetryAfter is the time that the client is asked to wait, jittered; more than 0.
	RetryAfter time.Duration
	// Waited is the time that the request waited in the queue.
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

// Event says what happened to a request. Observers are called without the lock, so of two goroutines' events
// the later may arrive first.
type Event struct {
	Kind Kind
	// Tags are the request's.
	Tags tag.Tags
	// Wait is the time that the request has waited.
	Wait time.Duration
	// RetryAfter is the time that the client of a shed request is asked to wait.
	RetryAfter time.Duration
	// Outcome and Took are how the released request ended, and how long it had its place.
	Outcome window.Outcome
	Took    time.Duration
}

// Counts counts the requests of one criticality. Every request is counted once: it waits, or was
// admitted, was shed for one reason, or vanished.
type Counts struct {
	// Queued is the number of requests that wait now.
	Queued int `json:"queued"`
	// Admitted counts the requests served, Delayed the ones that waited first.
	Admitted uint64 `json:"admitted"`
	Delayed  uint64 `json:"delayed"`
	// Full, Displaced and Expired count the requests shed, by reason; ShedRetries the retries among them.
	Full        uint64 `json:"full"`
	Displaced   uint64 `json:"displaced"`
	Expired     uint64 `json:"expired"`
	ShedRetries uint64 `json:"shed_retries"`
	// Vanished counts the requests whose context ended while they waited, or before.
	Vanished uint64 `json:"vanished"`
}

// Shed is the number of all shed requests.
func (c Counts) Shed() uint64 { return c.Full + c.Displaced + c.Expired }

// Snapshot is how a controller stands at one moment.
type Snapshot struct {
	// Limit is the number of requests that may be served at a time, Ssthresh the law's slow-start threshold.
	Limit    float64 `json:"limit"`
	Ssthresh float64 `json:"ssthresh"`
	// InFlight is the number of requests being served, Queued of the ones that wait.
	InFlight int `json:"in_flight"`
	Queued   int `json:"queued"`
	// Service is the smoothed time that a success takes, 0 before the first; in JSON in nanoseconds.
	Service time.Duration `json:"service"`
	// Successes, Overloads, Timeouts, Neutrals and ClientErrors count how served requests ended.
	Successes    uint64 `json:"successes"`
	Overloads    uint64 `json:"overloads"`
	Timeouts     uint64 `json:"timeouts"`
	Neutrals     uint64 `json:"neutrals"`
	ClientErrors uint64 `json:"client_errors"`
	// ByCriticality has the counts of each criticality that there is.
	ByCriticality map[tag.Criticality]Counts `json:"by_criticality"`
}

// String returns the snapshot in one line.
func (s Snapshot) String() string {
	line := fmt.Sprintf("limit=%.1f in-flight=%d queued=%d success=%d overload=%d timeout=%d neutral=%d client-error=%d service=%v",
		s.Limit, s.InFlight, s.Queued, s.Successes, s.Overloads, s.Timeouts, s.Neutrals, s.ClientErrors, s.Service.Round(time.Millisecond))
	for _, c := range tag.Criticalities {
		n := s.ByCriticality[c]
		line += fmt.Sprintf(" %v=%d/%d", c, n.Admitted, n.Shed())
	}
	return line + " (admitted/shed)"
}

// Snapshot returns how the controller stands.
func (c *Controller) Snapshot() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	state, n := c.core.gate.State(), &c.counts.outcomes
	s := Snapshot{
		Limit: state.Cwnd, Ssthresh: state.Ssthresh,
		InFlight: c.core.gate.Flying(), Queued: c.core.line.n, Service: c.core.service,
		Successes: n[window.Success], Overloads: n[window.Overload], Timeouts: n[window.Timeout],
		Neutrals: n[window.Neutral], ClientErrors: n[window.ClientError],
		ByCriticality: make(map[tag.Criticality]Counts, len(tag.Criticalities)),
	}
	for _, of := range tag.Criticalities {
		n := c.counts.of[rank(of)]
		n.Queued = c.core.line.waiting(of)
		s.ByCriticality[of] = n
	}
	return s
}

// counts counts events: by criticality, the least critical first, and how the admitted requests ended.
type counts struct {
	of       [len(tag.Criticalities)]Counts
	outcomes [window.ClientError + 1]uint64
}

func (c *counts) note(e Event) {
	n := &c.of[rank(e.Tags.Criticality)]
	of := [...]*uint64{
		Admitted: &n.Admitted, Full: &n.Full, Displaced: &n.Displaced, Expired: &n.Expired, Vanished: &n.Vanished, Released: nil,
	}
	if count := of[e.Kind]; count != nil {
		*count++
	}
	c.outcomes[e.Outcome]++
	if e.RetryAfter > 0 && e.Tags.Retry() {
		n.ShedRetries++
	}
}
