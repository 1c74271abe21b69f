// Package quota paces requests by the quotas that a service reports in its answers: the limit,
// the rest of it, and the time to the reset. It is pure: time is an argument.
package quota

import (
	"math"
	"slices"
	"time"
)

// Quotas are the quotas of a service. With the zero value each request may go at once.
type Quotas struct {
	// Reserve is the share of each quota that is paced, 0 to 1. 0: a tenth is paced, and only
	// if more waits than is left.
	Reserve float64

	all []quota
	// last is the number of the request sent last. Numbers rise by one with each send.
	last uint64
	// begun are the requests in flight whose answers have begun.
	begun []begun
}

// quota is one quota as the answers report it.
type quota struct {
	Report
	// Left was left at the time at, by the report that the service certainly made last: less is
	// left than in the one before, or its request is numbered above read and so was sent later.
	at   time.Duration
	read uint64
	// back is when a window's quota is whole again: of its reports the earliest, since most are
	// in whole seconds. early is by how much these are too early; negative: too late.
	back, early time.Duration
	// fell is the amount by which the quota fell, spent the number of our requests meanwhile; old
	// counts fade. If others spend the same quota, each of our requests seems to spend more.
	fell, spent float64
	// rate is what comes back in a second; 0: all comes back at the reset. kind is the evidence
	// for a rate since the report then.
	rate, kind float64
	then       sample
	// probe is the one request sent since the reset, 0 if none is in flight.
	probe uint64
	// doubt counts accepted requests in a row after which the quota was empty. Above 1 the reports are not believed:
	// of two such requests only one can be the last, unless the quota is of a single request.
	doubt int
	// closed is the end of the pause that a refusal asked for.
	closed time.Duration
}

// sample is a report to judge the kind by: the used part, and the time until that part is back.
type sample struct {
	at, reset time.Duration
	used      float64
}

// begun is a request whose answer has begun. short: it was refused because a quota is used up.
type begun struct {
	number uint64
	short  bool
}

// The constants are our choice.
const (
	// most quotas are kept; the oldest makes room for another.
	most = 16
	// tenth is the reserve by default.
	tenth = 0.1
	// fading is how much of the counts an answer keeps.
	fading = 0.995
	// shared: if a request seems to spend more than this, others spend the quota too.
	shared = 1.05
	// exact is how exact a reset in whole seconds is.
	exact = time.Second
	// never is when a quota without a reset is whole again.
	never = time.Duration(math.MaxInt64 / 2)
)

// Sent notes that a request goes.
func (q *Quotas) Sent(now time.Duration, number uint64) {
	q.last = number
	for i := range q.all {
		if d := &q.all[i]; d.probe == 0 && d.over(now) {
			d.probe = number
		}
	}
}

// Answered notes what the head of an answer says. It returns the quota that is used up since then,
// if there is one.
func (q *Quotas) Answered(now time.Duration, a Answer) (used State, ok bool) {
	b := begun{number: a.Number}
	for _, r := range a.Reports {
		if !r.valid() || r.InFlight {
			continue
		}
		d := q.named(r)
		before := d.at == 0 || d.Left >= d.use(0)
		b.short = d.answered(now, a, r, q.last) || b.short
		if s := d.state(now); before && d.Left < d.use(0) && s.Back > now && d.doubt < 2 {
			used, ok = s, true
		}
	}
	q.begun = append(q.begun, b)
	return used, ok
}

// Ended notes that a request has ended, after Answered if there is a report. It returns true for
// one refused because a quota is used up, which is no reason to cut the window. If the first
// request after a reset is accepted without a report, the service reports no longer.
func (q *Quotas) Ended(number uint64, accepted bool) (short bool) {
	i := slices.IndexFunc(q.begun, func(b begun) bool { return b.number == number })
	if i >= 0 {
		short = q.begun[i].short
		q.begun = slices.Delete(q.begun, i, i+1)
	}
	for j := range q.all {
		d := &q.all[j]
		if accepted && i < 0 {
			d.spent++
		}
		if d.probe == number {
			d.probe = 0
			if accepted {
				d.Left, d.back = d.Limit, never
			}
		}
	}
	return short
}

func (q *Quotas) named(r Report) *quota {
	i := slices.IndexFunc(q.all, func(d quota) bool { return d.Name == r.Name })
	if i < 0 {
		q.all = append(q.all[max(0, len(q.all)+1-most):], quota{fell: 1, spent: 1, back: never})
		i = len(q.all) - 1
	}
	return &q.all[i]
}

// answered returns true for a refusal because the quota is used up.
func (d *quota) answered(now time.Duration, a Answer, r Report, last uint64) bool {
	if r.Limit < 0 {
		r.Limit = max(d.Limit, r.Left)
	}
	over, ordered := d.over(now), a.Number > d.read
	if d.probe != 0 && a.Number >= d.probe {
		if a.Refused && r.Left < 1 && (d.early < 0 || r.Reset <= 2*exact) {
			d.early = min(max(d.early, 0)+exact/2, 2*exact)
		}
		d.probe = 0
	}
	if r.Left > 0 {
		d.doubt = 0
	} else if !a.Refused && r.Limit > 1 {
		d.doubt++
	}
	if !a.Refused && (d.rate > 0 || r.Limit-r.Left > d.then.used) {
		d.fell, d.spent = d.fell*fading, d.spent*fading+1
	}
	back := d.back
	if r.Reset >= 0 {
		back = now + r.Reset
	}
	if ordered || r.Left < d.left(now) {
		d.compare(now, back, r, over)
		d.Report, d.at, d.read = r, now, last
	}
	short := a.Refused && d.doubt <= 1 && r.Left < d.use(0)+r.Limit/50 && (r.Reset > 0 || a.RetryAfter > 0)
	if short && a.RetryAfter > 0 {
		d.closed = now + a.RetryAfter
		d.back = d.closed
	}
	return short
}

// compare learns from a report that the service made after the one before. The quota is whole again at the
// time back. over: the reset known so far is over.
func (d *quota) compare(now, back time.Duration, r Report, over bool) {
	left, s := d.left(now), sample{now, r.Reset, r.Limit - r.Left}
	switch {
	case r.Limit != d.Limit || d.rate == 0 && (over || r.Left > left && back > d.back+2*exact): // another window
		if !over && d.back < never && r.Left > (left+d.Limit)/2 && d.back-now > 2*exact {
			d.early = now - d.back
		}
		d.back, d.then = back, s
		return
	case back < d.back || back > d.back+2*exact:
		d.back = back
	}
	d.fell += left - r.Left
	if r.Reset >= 0 {
		d.judge(s)
	}
}

// judge decides the kind. Of a window the time of the reset stays where it is; of a quota that
// comes back at a rate the time to the reset is in proportion to the used part.
func (d *quota) judge(s sample) {
	then, grain := d.then, exact.Seconds()
	if s.reset%exact != 0 {
		grain /= 50
	}
	moved := (s.at + s.reset - then.at - then.reset).Abs().Seconds()
	off := math.Abs(s.reset.Seconds() - then.reset.Seconds()*s.used/max(then.used, tenth))
	if max(moved, off) > 2*grain {
		d.kind = min(3, max(-3, d.kind+(moved-off)/(moved+off)))
		if d.kind > 1 {
			d.then = s
		}
	}
	if d.kind <= 1 {
		d.rate = 0
	} else {
		d.rate = max(0, s.used) / max(s.reset, time.Millisecond).Seconds()
	}
}

// Due is when the next request may go after the one at the time sent. flying are the requests in
// flight, waiting the requests that wait.
func (q *Quotas) Due(now, sent time.Duration, flying, waiting int) (at time.Duration) {
	pending := float64(flying - len(q.begun))
	for i := range q.all {
		d := &q.all[i]
		use := d.use(pending)
		left, keep := d.left(now)-use*pending, q.Reserve*d.Limit
		if q.Reserve == 0 && use*float64(waiting) > left {
			keep = max(1, tenth*d.Limit)
			if use > shared {
				keep = d.Limit
			}
		}
		at = max(at, d.closed, d.due(now, sent, left, keep, use))
	}
	return at
}

// due is when the next request may go by this quota, if a part of the rest is kept.
func (d *quota) due(now, sent time.Duration, left, keep, use float64) time.Duration {
	gap, end := math.Sqrt(use), d.back+d.early
	switch {
	case d.doubt > 1, d.rate == 0 && d.back == never:
		return 0
	case d.over(now) && d.probe != 0:
		return sent + exact
	case d.over(now), left >= use+keep:
		return 0
	case d.rate > 0 && keep < d.Limit:
		return now + d.after(min(use+keep, d.Limit)-left)
	case left < use && d.rate > 0:
		return now + d.after(use-left)
	case left < use:
		return end
	case d.rate > 0:
		end = sent + d.after(d.Limit-left)
	}
	// The rest is spread evenly up to the reset.
	return sent + time.Duration(float64(end-sent)*gap/(left+gap))
}

// after is the time in which n comes back to a bucket.
func (d *quota) after(n float64) time.Duration {
	return time.Duration(min(n/d.rate, longest.Seconds()) * float64(time.Second))
}

func (d *quota) over(now time.Duration) bool {
	return d.rate == 0 && d.back != never && now >= d.back+d.early
}

// left is the present rest of the quota, without the requests sent since the report.
func (d *quota) left(now time.Duration) float64 {
	return min(d.Left+d.rate*(now-d.at).Seconds(), d.Limit)
}

// use is what one request spends in the mean. Those that are pending may have fallen already.
func (d *quota) use(pending float64) float64 {
	return max(1, d.fell/(d.spent+pending))
}
