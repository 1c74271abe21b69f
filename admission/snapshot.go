package admission

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Counts are what became of the requests of one criticality. Every request is
// counted once: it waits, or was admitted, was shed for one reason, or vanished.
type Counts struct {
	// Queued is the number of those that wait now.
	Queued int `json:"queued"`
	// Admitted counts those served, Delayed those of them that waited first.
	Admitted uint64 `json:"admitted"`
	Delayed  uint64 `json:"delayed"`
	// Full, Displaced and Expired count those shed, by reason; ShedRetries
	// those of them that were retries.
	Full        uint64 `json:"full"`
	Displaced   uint64 `json:"displaced"`
	Expired     uint64 `json:"expired"`
	ShedRetries uint64 `json:"shed_retries"`
	// Vanished counts those whose context ended while they waited, or before.
	Vanished uint64 `json:"vanished"`
}

// Shed is the number of all that were shed.
func (c Counts) Shed() uint64 { return c.Full + c.Displaced + c.Expired }

// Snapshot is how a controller stands at one moment.
type Snapshot struct {
	// Limit is how many requests may be served at a time, Ssthresh the law's
	// slow-start threshold.
	Limit    float64 `json:"limit"`
	Ssthresh float64 `json:"ssthresh"`
	// InFlight is the number of requests being served, Queued of those that wait.
	InFlight int `json:"in_flight"`
	Queued   int `json:"queued"`
	// Service is the smoothed time that a success takes, 0 before the first; in
	// JSON in nanoseconds.
	Service time.Duration `json:"service"`
	// Successes, Overloads, Timeouts, Neutrals and ClientErrors count how those served ended.
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
	state := c.core.window.State()
	s := Snapshot{
		Limit: state.Cwnd, Ssthresh: state.Ssthresh,
		InFlight: c.core.window.Flying(), Queued: c.core.line.len(), Service: c.core.service,
		Successes: c.outcomes[window.Success], Overloads: c.outcomes[window.Overload],
		Timeouts: c.outcomes[window.Timeout], Neutrals: c.outcomes[window.Neutral], ClientErrors: c.outcomes[window.ClientError],
		ByCriticality: make(map[tag.Criticality]Counts, len(c.counts)),
	}
	for _, of := range tag.Criticalities {
		s.ByCriticality[of] = c.counts[rank(of)]
	}
	return s
}

// tally counts what became of requests.
type tally struct {
	// counts are by criticality, the least critical first.
	counts [len(tag.Criticalities)]Counts
	// outcomes counts how the admitted ones ended.
	outcomes [window.ClientError + 1]uint64
}

func (t *tally) of(tags tag.Tags) *Counts { return &t.counts[rank(tags.Criticality)] }

func (t *tally) queued(tags tag.Tags) { t.of(tags).Queued++ }

func (t *tally) admitted(tags tag.Tags) { t.of(tags).Admitted++ }

func (t *tally) delayed(tags tag.Tags) {
	n := t.of(tags)
	n.Queued--
	n.Admitted++
	n.Delayed++
}

func (t *tally) refused(s *Shed) {
	n := t.of(s.Tags)
	n.Queued--
	switch s.Reason {
	case Full:
		n.Full++
	case Displaced:
		n.Displaced++
	case Expired:
		n.Expired++
	}
	if s.Tags.Retry() {
		n.ShedRetries++
	}
}

func (t *tally) vanished(tags tag.Tags) {
	n := t.of(tags)
	n.Queued--
	n.Vanished++
}
