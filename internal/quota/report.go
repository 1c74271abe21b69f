package quota

import "time"

// Report is what an answer says of one quota.
type Report struct {
	// Name is the quota's: "requests", "tokens", or the service's own key.
	Name string
	// InFlight: the limit is for the requests in flight, and the other fields have no meaning.
	InFlight bool
	// Limit and Left are the whole quota and its rest; negative: not reported.
	Limit, Left float64
	// Reset is the time until the quota is whole again; negative: not reported.
	Reset time.Duration
}

// State is how a quota stands.
type State struct {
	Name        string
	Limit, Left float64
	// Back is when the quota is whole again, or when a refusal lets the next request go; 0: it is
	// not known.
	Back time.Duration
}

// Answer is the answer to a request, which has the number that it was sent with.
type Answer struct {
	Number     uint64
	Refused    bool
	RetryAfter time.Duration
	Reports    []Report
}

// The longest reset and the largest limit that are believed. Our choice: more is a mistake.
const (
	longest = 366 * 24 * time.Hour
	largest = 1e12
)

// valid reports whether a report says what is left, or what may be in flight, in numbers that can
// be.
func (r Report) valid() bool {
	if r.InFlight {
		return r.Limit >= 1 && r.Limit <= largest
	}
	return r.Left >= 0 && r.Left <= largest && r.Limit <= largest && r.Reset <= longest
}

// States returns how the quotas stand.
func (q *Quotas) States(now time.Duration) []State {
	var all []State
	for i := range q.all {
		all = append(all, q.all[i].state(now))
	}
	return all
}

func (d *quota) state(now time.Duration) State {
	s := State{Name: d.Name, Limit: d.Limit, Left: d.left(now), Back: max(d.closed, d.back)}
	switch {
	case d.rate > 0:
		s.Back = max(d.closed, now+d.after(d.Limit-s.Left))
	case d.back == never:
		s.Back = d.closed
	}
	return s
}
