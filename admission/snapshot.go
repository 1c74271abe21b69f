package admission

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

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
	// Limit is how many requests may be served at a time, Ssthresh the law's slow-start threshold.
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
