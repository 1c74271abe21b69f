package sim

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/answer"
)

// account counts the rest of a quota. Each quota is whole at the start.
type account struct {
	conf Quota
	name string
	left float64
	// slice counts the rest of the present slice.
	slice float64
	at    time.Duration
}

func (q *account) fill(now time.Duration) {
	if q.conf.Bucket {
		back := q.conf.Limit * float64((now-q.at).Seconds()/q.conf.Per.Seconds())
		q.left = min(q.conf.Limit, q.left+back)
	} else if now/q.conf.Per != q.at/q.conf.Per {
		q.left = q.conf.Limit
	}
	if s := q.conf.Slice; s > 0 && now/s != q.at/s {
		q.slice = q.conf.perSecond() * s.Seconds()
	}
	q.at = now
}

// room returns how long a request with this cost has to wait; 0 lets it pass now.
func (q *account) room(cost float64) time.Duration {
	const nearly = 1e-9 // may be missing by rounding
	switch {
	case q.left < cost-nearly && q.conf.Bucket:
		return stretched(q.conf.Per, (cost-q.left)/q.conf.Limit) + 1
	case q.left < cost-nearly:
		return q.conf.Per - q.at%q.conf.Per
	case q.conf.Slice > 0 && q.slice < cost-nearly:
		return q.conf.Slice - q.at%q.conf.Slice
	}
	return 0
}

// report returns the report of an answer, and false if the answer has no report.
func (q *account) report(refused bool) (answer.Quota, bool) {
	r := answer.Quota{Name: q.name, Bucket: q.conf.Bucket, Amounts: q.conf.Cost > 0, Limit: q.conf.Limit, Left: math.Floor(q.left)}
	if r.Reset = q.conf.Per - q.at%q.conf.Per; q.conf.Bucket {
		r.Reset = stretched(q.conf.Per, 1-q.left/q.conf.Limit)
	}
	if q.conf.Reports != nil {
		return q.conf.Reports(r, refused)
	}
	switch q.conf.Report {
	case "rounded":
		r.Reset = (r.Reset + time.Second - 1).Truncate(time.Second)
	case "full":
		r.Left = r.Limit
	case "empty":
		r.Left = 0
	}
	return r, q.conf.Report != "none" && (q.conf.Report != "refusals" || refused)
}

// cost is the amount that each attempt of the nth operation spends. The amounts are spread evenly:
// n times the golden ratio, less the whole number.
func (q *account) cost(n int) float64 {
	if q.conf.Cost == 0 {
		return 1
	}
	_, part := math.Modf(float64(n) * (math.Phi - 1))
	return math.Round(float64(q.conf.Cost*0.1) + float64(q.conf.Cost*float64(1.8*part)))
}

// quotas lets an attempt pass that is within all quotas, and notes the reports of its answer. The
// clairvoyant's attempt comes again at the time at which it is within.
func (s *server) quotas(e *engine, a *attempt) (passes bool) {
	var wait time.Duration
	costs := make([]float64, len(s.accounts))
	for i := range s.accounts {
		q := &s.accounts[i]
		q.fill(e.now)
		costs[i] = q.cost(a.number)
		wait = max(wait, q.room(costs[i]))
	}
	a.reports = nil
	for i := range s.accounts {
		if q := &s.accounts[i]; wait == 0 {
			q.left -= costs[i]
			q.slice -= costs[i]
		}
		if r, ok := s.accounts[i].report(wait > 0); ok {
			a.reports = append(a.reports, r)
		}
	}
	if wait > 0 && e.clairvoyant {
		e.after(wait, arriveKind, a.id, a.gen)
	}
	return wait == 0
}

// allowed reports whether an attempt is within the rate, and refuses it if it is not. The
// clairvoyant's attempt comes again at the time at which it is.
func (s *server) allowed(e *engine, a *attempt) bool {
	allows := s.token
	if s.conf.Rate.Window > 0 {
		allows = s.place
	}
	now, at := allows(e)
	switch {
	case now:
		return true
	case e.clairvoyant:
		e.at(at, admitKind, a.id, a.gen)
	default:
		s.refuse(e, a, answer.Refused)
	}
	return false
}

func (s *server) fill(now time.Duration) {
	due := (now - s.filled).Seconds() * s.conf.Rate.PerSecond
	s.tokens = min(s.conf.Rate.Burst, s.tokens+float64(due))
	s.filled = now
}

// token takes a token of the bucket. It reports whether there is one now, or when there is.
func (s *server) token(e *engine) (now bool, at time.Duration) {
	// A billionth of a token may be missing by rounding.
	const nearly = 1 - 1e-9
	s.fill(e.now)
	now = s.tokens >= nearly
	switch {
	case now || e.clairvoyant:
		s.tokens--
	case s.conf.Rate.NoDebt:
		s.tokens = max(s.tokens-1, 0)
	case s.conf.Rate.CountRefused:
		s.tokens = max(s.tokens-1, -s.conf.Rate.Burst)
	}
	return now, e.now + min(time.Duration(-s.tokens/s.conf.Rate.PerSecond*float64(time.Second)), maxDuration)
}

// place takes a place in the sliding window. It reports whether there is one now, or when there is.
func (s *server) place(e *engine) (now bool, at time.Duration) {
	width := s.conf.Rate.Window
	s.passed = s.passed.within(e.now, width)
	at = e.now
	most := int(math.RoundToEven(s.conf.Rate.PerSecond * width.Seconds()))
	now = len(s.passed) < most
	if !now && e.clairvoyant {
		at = s.passed[len(s.passed)-most] + width
	}
	if now || e.clairvoyant || s.conf.Rate.CountRefused {
		s.passed = append(s.passed, at)
	}
	return now, at
}
