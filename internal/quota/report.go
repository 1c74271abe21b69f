package quota

import (
	"time"

	"github.com/aimd-go/aimd/answer"
)

// Head is the head of an answer to the request with the Number.
type Head struct {
	answer.Head
	Number uint64
	// Amount is the cost that the request says; 0: it is not said.
	Amount float64
}

// State is the state of a quota.
type State struct {
	Name        string
	Limit, Left float64
	// Refused is the share of the spent quota that went to refused requests.
	Refused float64
	// Back is the time at which the quota is whole again, or a refused request may be sent again; 0: it is not
	// known.
	Back time.Duration
	// Until is the time at which the next request may go, if the quota is used up; 0: it is not.
	Until time.Duration
}

// States returns how the quotas stand.
func (q *Quotas) States(now time.Duration) []State {
	var all []State
	for i := range q.all {
		all = append(all, q.state(&q.all[i], now, 0))
	}
	return all
}

// UsedUp returns the quota that is used up for longest by a request of this amount (0: a mean request), and false
// without a used quota.
func (q *Quotas) UsedUp(now time.Duration, amount float64) (longest State, ok bool) {
	for i := range q.all {
		if s := q.state(&q.all[i], now, amount); s.Until > longest.Until {
			longest, ok = s, true
		}
	}
	return longest, ok
}

func (q *Quotas) state(d *quota, now time.Duration, amount float64) State {
	left, use := d.left(now), d.cost(amount)
	s := State{Name: d.Name, Limit: d.Limit, Left: max(0, left), Refused: d.lost / max(1, d.gone), Back: d.end}
	switch {
	case d.untrue, q.soon(d), d.end <= now, left >= use:
	case d.Bucket:
		s.Until = min(now+d.after(use-left), d.end)
	default:
		s.Until = d.end
	}
	return s
}
