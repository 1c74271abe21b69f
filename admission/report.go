package admission

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Shed is the error of a request that was shed.
type Shed struct {
	// Reason is "full", "displaced" or "expired". full: the queue was full, and its requests were more important.
	// displaced: the request waited in a full queue, and a more important request came. expired: it waited for the
	// queue time.
	Reason string
	// RetryAfter is the time that the client is asked to wait, jittered; more than 0.
	RetryAfter time.Duration
	// Waited is the time that the request waited in the queue.
	Waited time.Duration
	// Tags are the request's.
	Tags tag.Tags
}

const full, displaced, expired = "full", "displaced", "expired"

func (e *Shed) Error() string {
	client := ""
	if e.Tags.Client != "" {
		client = fmt.Sprintf(" of %q", e.Tags.Client)
	}
	return fmt.Sprintf("admission: shed (%s): %v request%s, to come back after %v",
		e.Reason, e.Tags.Criticality, client, e.RetryAfter.Round(time.Millisecond))
}

// Event is the end of a request; each request has one. It was served (Outcome), or shed (Shed), or its context
// ended before it got a place. Observers are called without the lock, so the events of two goroutines may arrive in
// another order.
type Event struct {
	// Tags are the request's.
	Tags tag.Tags
	// Waited is the time that the request waited in the queue.
	Waited time.Duration
	// Shed is the error of a request that was shed.
	Shed *Shed
	// Outcome is the end of the service of the request, and Took the time for which it had its place.
	Outcome window.Outcome
	Took    time.Duration
}

// Counts counts the requests of one criticality. Every request is counted once: it waits, or was
// admitted, was shed for one reason, or vanished.
type Counts struct {
	// Queued is the number of requests that wait now.
	Queued int `json:"queued"`
	// Admitted counts the served requests, Delayed the served requests that waited first.
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

func (c *Counts) shed(s *Shed) {
	switch s.Reason {
	case full:
		c.Full++
	case displaced:
		c.Displaced++
	case expired:
		c.Expired++
	}
	if s.Tags.Attempt > 1 {
		c.ShedRetries++
	}
}

// Snapshot is the state of a controller at one moment.
type Snapshot struct {
	// Limit is the number of requests that may be served at a time, Ssthresh the law's slow-start threshold.
	Limit    float64 `json:"limit"`
	Ssthresh float64 `json:"ssthresh"`
	// InFlight is the number of requests in service, Queued the number of waiting requests.
	InFlight int `json:"in_flight"`
	Queued   int `json:"queued"`
	// Service is the smoothed time that a success takes, 0 before the first; in JSON in nanoseconds.
	Service time.Duration `json:"service"`
	// Successes, Overloads, Timeouts, Neutrals and ClientErrors count the ends of served requests.
	Successes    uint64 `json:"successes"`
	Overloads    uint64 `json:"overloads"`
	Timeouts     uint64 `json:"timeouts"`
	Neutrals     uint64 `json:"neutrals"`
	ClientErrors uint64 `json:"client_errors"`
	// ByCriticality has the counts of each criticality.
	ByCriticality map[tag.Criticality]Counts `json:"by_criticality"`
}

// Snapshot returns the present state.
func (c *Controller) Snapshot() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	state, n := c.core.gate.State(), &c.outcomes
	s := Snapshot{
		Limit: state.Cwnd, Ssthresh: state.Ssthresh,
		InFlight: c.core.gate.Flying(), Queued: c.core.line.n, Service: c.core.service,
		Successes: n[window.Success], Overloads: n[window.Overload], Timeouts: n[window.Timeout],
		Neutrals: n[window.Neutral], ClientErrors: n[window.ClientError],
		ByCriticality: make(map[tag.Criticality]Counts, criticalities),
	}
	for of := range c.counts {
		n := c.counts[of]
		n.Queued = c.core.line.waiting(of)
		s.ByCriticality[tag.Sheddable+tag.Criticality(of)] = n
	}
	return s
}
