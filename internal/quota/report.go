package quota

import (
	"strings"
	"time"
	"unicode"
)

// Report is what an answer says of one quota; attempt.Report documents the fields.
type Report struct {
	Name        string
	Limit, Left float64
	Reset       time.Duration
	Bucket      bool
	Amounts     bool
	InFlight    bool
}

// Answer is the answer to a request, which has the number that it was sent with.
type Answer struct {
	Number  uint64
	Refused bool
	// Stop: the refusal speaks for all requests.
	Stop       bool
	RetryAfter time.Duration
	Reports    []Report
}

// State is how a quota stands.
type State struct {
	Name        string
	Limit, Left float64
	// Back is the time at which the quota is whole again, or a refused request may be sent again; 0: it is not
	// known.
	Back time.Duration
	// Until is the time at which the next request may go, if the quota is used up; 0: it is not.
	Until time.Duration
}

// The longest reset, the largest number and the longest name that are believed. Our choice: a service that
// says more is mistaken.
const (
	longest  = 24 * time.Hour
	largest  = 1e12
	nameSize = 64
)

// Valid reports whether a report says what is left, or what may be in flight, in numbers that can be.
func (r Report) Valid() bool {
	if r.InFlight {
		return r.Limit >= 1 && r.Limit <= largest
	}
	return r.Left >= 0 && r.Left <= largest && (r.Limit < 0 || r.Limit >= 1 && r.Limit <= largest) && r.Reset <= longest
}

// Cleaned is a name in valid UTF-8 that can be printed, of 64 bytes at most.
func Cleaned(name string) string {
	if len(name) > nameSize {
		name = name[:nameSize]
	}
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
}

// States returns how the quotas stand.
func (q *Quotas) States(now time.Duration) []State {
	var all []State
	for i := range q.all {
		all = append(all, q.all[i].state(now))
	}
	return all
}

// UsedUp returns the quota that is used up for longest, and false if none is.
func (q *Quotas) UsedUp(now time.Duration) (longest State, ok bool) {
	for i := range q.all {
		if s := q.all[i].state(now); s.Until > longest.Until {
			longest, ok = s, true
		}
	}
	return longest, ok
}

func (d *quota) state(now time.Duration) State {
	left, use := d.left(now), d.use()
	s := State{Name: d.Name, Limit: d.Limit, Left: max(0, left), Back: d.end}
	switch {
	case d.untrue, d.end <= now, left >= use:
	case d.Bucket:
		s.Until = now + d.after(use-left)
	default:
		s.Until = d.end
	}
	return s
}
