// Package quota holds requests back as a service asks for in its answers: by its quotas, each with a limit, its rest, and
// the time to the reset, and by a Retry-After. The ten rules of quotas stand in docs/quota.md. It is pure: time is an
// argument.
package quota

import (
	"slices"
	"time"

	"github.com/aimd-go/aimd/answer"
)

// Quotas are the quotas of a service. Without a report each request may go at once.
type Quotas struct {
	// Reserve is the share of each quota that is spread evenly, 0 to 1. 0: a tenth is spread, and only if
	// more waits than is left.
	Reserve float64
	// MaxRetryAfter is the longest time without a send: after it one request asks the service.
	MaxRetryAfter time.Duration
	// Soon: a quota whose longest reset is no longer than this is no reason to wait.
	Soon time.Duration
	// Rand is the source of jitter.
	Rand interface{ Float64() float64 }
	// Next is the amount of the next request; 0: it is not said. Pending is the sum of the amounts that are said of
	// requests in flight without an answer, Said their number.
	Next, Pending float64
	Said          int

	all []quota
	// last is the number of the request sent last, at the time sent. Numbers rise by one with each send. No request
	// goes before the time stopped, since a refusal spoke for all.
	last          uint64
	sent, stopped time.Duration
}

// quota is one quota: the service's report, the amount spent since, and the price of a request.
type quota struct {
	report
	spent
	price
}

// report is the service's report, as far as it is believed.
type report struct {
	answer.Quota
	// read is the number of the request sent last when the report was read, at the time at. From end on, the
	// quota is whole by its own account, or a refused request may be sent again; 0: there is no reason to wait.
	read    uint64
	at, end time.Duration
	// longest is the longest reset that was told. low is the time since which the limit is as it is, or the time of the
	// last request whose amount was above it.
	longest, low time.Duration
}

// spent is the spending that the answers since the report show.
type spent struct {
	// accepted is the amount spent by the requests accepted since then without a report of this quota. deeds counts
	// those accepted from the time since on while the rest stayed the same. untrue: they were more than the service
	// said.
	accepted, deeds float64
	since           time.Duration
	untrue          bool
	// gone is the amount by which it fell from report to report, and lost the part of gone that refused requests spent.
	gone, lost float64
}

// price is the fall of the quota for each request.
type price struct {
	// fell is the amount by which the quota fell up to epoch. answers counts the accepted requests meanwhile, and
	// weight is the sum of their amounts. A request whose amount is not said has the mean weight, at first 1.
	fell, answers, weight float64
	epoch                 time.Duration
	// first is the rest by the report that began this, before the number of the request sent last then. The falls of
	// requests that were served earlier are not known.
	first  float64
	before uint64
}

// The constants are our choice.
const (
	// most quotas are kept, the first.
	most = 16
	// slowest is the longest time for which a bucket is awaited.
	slowest = 24 * time.Hour
	// tenth is the reserve by default.
	tenth = 0.1
	// grain is the precision of a reset in whole seconds, and the time between two questions without an answer.
	grain = time.Second
	// doubled: a quota may come back this many times as fast as a report says before it is untrue.
	doubled = 2
	// shared: if a window falls by more than this for each accepted request, others spend it too.
	shared = 1.05
)

// Asked lets the next request go at once: its answer decides.
func (q *Quotas) Asked(now time.Duration) { q.sent, q.stopped = now-q.MaxRetryAfter, 0 }

// Sent notes that a request goes.
func (q *Quotas) Sent(now time.Duration, number uint64) {
	q.sent, q.last = now, number
	for i := range q.all {
		if d := &q.all[i]; d.below(q.Next) {
			d.low = now
		}
	}
}

// Noted notes what the head of an answer reports or, without a report, that a request has ended. It
// returns true for a refusal because a quota is used up, which is no reason to cut the window.
func (q *Quotas) Noted(now time.Duration, h Head) (short bool) {
	for _, r := range h.Reports {
		known := slices.ContainsFunc(q.all, func(d quota) bool { return d.Name == r.Name })
		if !known && len(q.all) < most && r.Valid() && !r.InFlight && max(r.Limit, r.Left) >= 1 {
			q.all = append(q.all, quota{report: report{Quota: answer.Quota{Name: r.Name}}})
		}
	}
	for i := range q.all {
		d := &q.all[i]
		if j := slices.IndexFunc(h.Reports, d.named); j >= 0 {
			short = q.noted(d, now, h, h.Reports[j]) || short
		} else if !h.Refused && (h.Number > d.read || len(h.Reports) > 0) {
			d.accepted += d.cost(h.Amount)
			d.did(now)
			if d.whole(now) { // the service reports it no longer
				d.end = 0
			}
		}
	}
	return short
}

func (d *quota) named(r answer.Quota) bool { return d.Name == r.Name && r.Valid() && !r.InFlight }

// did notes an accepted request after which no less is left than before.
func (d *quota) did(now time.Duration) {
	d.deeds++
	back := doubled * d.rate() * (now - d.since).Seconds()
	d.untrue = d.untrue || d.end > now && d.deeds > d.Left+back+1
}

// noted takes the report if it counts. It returns true for a refusal because the quota is used up.
func (q *Quotas) noted(d *quota, now time.Duration, h Head, r answer.Quota) bool {
	if r.Limit < 0 {
		r.Limit = max(d.Limit, r.Left)
	}
	if r.Left = min(r.Left, r.Limit); r.Limit != d.Limit {
		*d = quota{report: report{Quota: answer.Quota{Name: r.Name, Limit: r.Limit, Left: -1, Amounts: r.Amounts}, low: now}}
		d.fell, d.weight = 1, 1
	}
	d.longest = max(d.longest, r.Reset)
	believed := h.Number > d.read || r.Left < d.left(now)
	begins := believed && now >= d.epoch
	if begins && d.Amounts {
		d.began(now, q.last, h, r)
	}
	if !h.Refused {
		d.learns(now, h, r)
	}
	if begins && !d.Amounts {
		d.began(now, q.last, h, r)
	}
	if believed {
		q.take(d, now, r, h)
	}
	if !h.Refused || d.untrue || q.soon(d) || r.Left >= d.cost(h.Amount) || r.Reset <= 0 && h.RetryAfter <= 0 {
		return false
	}
	d.Left = 0
	if h.Stop {
		q.stopped = now + Asked{After: h.RetryAfter, Stop: true}.Within(q.MaxRetryAfter)
	} else if h.RetryAfter > 0 { // nothing comes back before that
		d.Bucket, d.end = false, now+Asked{After: h.RetryAfter}.Jittered(q.MaxRetryAfter, q.Rand)
	}
	return true
}

// began begins with the first report, or the first after a reset. What an amount cost before counts as one request.
func (d *quota) began(now time.Duration, last uint64, h Head, r answer.Quota) {
	weight := d.weighs(h.Amount)
	d.fell *= weight / d.weight
	d.weight, d.answers, d.epoch = weight, 1, now+r.Reset
	if !d.Bucket {
		d.first, d.before = r.Left, last
	}
}

// learns counts an accepted request. It does not count one whose amount the first report has already. Requests count
// nevertheless: 16 clients that share a window use 0.98 of it so, and otherwise 0.86 to 0.97.
func (d *quota) learns(now time.Duration, h Head, r answer.Quota) {
	if r.Left == d.Left {
		d.did(now)
	}
	if !d.Amounts || h.Number > d.before || r.Left < d.first {
		d.weight += d.weighs(h.Amount)
		d.answers++
	}
}

func (q *Quotas) take(d *quota, now time.Duration, r answer.Quota, h Head) {
	fell := max(0, d.promise(now)-r.Left)
	d.fell += fell
	if d.Limit > 0 && d.at > 0 {
		if d.gone += fell; h.Refused {
			d.lost += min(fell, d.cost(h.Amount))
		}
	}
	if r.Left != d.Left || now > d.since+d.Reset {
		d.deeds, d.since = 0, now
	}
	d.Quota, d.at, d.read, d.accepted, d.end = r, now, q.last, 0, 0
	if r.Reset < 0 || r.Reset == 0 && r.Left > 0 && !r.Bucket {
		return
	}
	if r.Reset%grain == 0 {
		r.Reset += grain
	}
	if d.end = now + r.Reset; r.Left < d.cost(0) {
		d.end = now + Asked{After: r.Reset}.Jittered(r.Reset, q.Rand)
	}
}

// Due is the time from which the next request may go. pending are the requests in flight without an answer,
// waiting the requests that wait.
func (q *Quotas) Due(now time.Duration, pending, waiting int) (at time.Duration) {
	for i := range q.all {
		if d := &q.all[i]; !q.soon(d) {
			at = max(at, d.due(now, q, pending, waiting))
		}
	}
	return max(min(at, q.sent+q.MaxRetryAfter), q.stopped)
}

// soon reports whether the quota comes back so soon that it is no reason to wait.
func (q *Quotas) soon(d *quota) bool { return d.longest > 0 && d.longest <= q.Soon }

func (d *quota) due(now time.Duration, q *Quotas, pending, waiting int) time.Duration {
	left, sent := d.left(now)-d.pending(q, pending), q.sent
	use, keep := d.need(q, left, waiting)
	switch {
	case d.untrue, d.end == 0, left >= use+keep, d.whole(now) && sent < d.end:
		return 0
	case d.whole(now):
		return sent + grain
	case d.Bucket:
		return min(now+d.after(use+keep-left), d.end)
	case left < use:
		return d.end
	}
	return sent + time.Duration(float64(d.end-sent)*use/(left+use))
}

// need is the amount that the next request uses, and the amount kept in reserve.
func (d *quota) need(q *Quotas, left float64, waiting int) (use, keep float64) {
	use, keep = d.cost(q.Next), q.Reserve*d.Limit
	switch fall := d.fell / d.answers; {
	case q.Reserve > 0 || d.cost(0)*float64(waiting) <= left:
	case !d.Bucket && !d.Amounts && fall > shared:
		use, keep = fall, d.Limit
	default:
		keep = tenth * d.Limit
	}
	return use, min(keep, d.Limit-use) // a full bucket is open
}

// whole reports whether the quota is whole by its own account.
func (d *quota) whole(now time.Duration) bool { return d.end != 0 && now >= d.end }

// rate is the amount that comes back in a second, by the report.
func (d *quota) rate() float64 { return (d.Limit - d.Left) / max(d.Reset, grain).Seconds() }

// after is the time in which n comes back to a bucket.
func (d *quota) after(n float64) time.Duration {
	return time.Duration(min(n/d.rate(), slowest.Seconds()) * float64(time.Second))
}

// promise is the rest by the report and, in a bucket, the amount that has come back since then.
func (d *quota) promise(now time.Duration) float64 {
	if !d.Bucket {
		return d.Left
	}
	return min(d.Left+d.rate()*(now-d.at).Seconds(), d.Limit)
}

// left is the promise less what the requests accepted since have spent.
func (d *quota) left(now time.Duration) float64 { return d.promise(now) - d.accepted }

func (d *quota) weighs(amount float64) float64 {
	switch {
	case !d.Amounts || amount == 0 && d.answers == 0:
		return 1
	case amount == 0:
		return d.weight / d.answers
	}
	return amount
}

// cost is the part of the quota that a request of this amount spends, by the mean fall for each amount.
func (d *quota) cost(amount float64) float64 {
	if !d.Amounts {
		return 1
	}
	return min(max(1, d.fell/d.weight*d.weighs(amount)), d.Limit)
}

// pending is what so many requests in flight spend.
func (d *quota) pending(q *Quotas, n int) float64 {
	if !d.Amounts {
		return float64(n)
	}
	return d.cost(0)*float64(n-q.Said) + d.fell/d.weight*q.Pending
}

// Above returns the quota whose whole limit is too low for the amount, and false if there is none. MaxRetryAfter after the
// report, or after the last such request, there is none: the service is asked again.
func (q *Quotas) Above(now time.Duration, amount float64) (State, bool) {
	for i := range q.all {
		if d := &q.all[i]; d.below(amount) && now < d.low+q.MaxRetryAfter {
			return State{Name: d.Name, Limit: d.Limit}, true
		}
	}
	return State{}, false
}

// below reports whether the limit is too low for the amount. If the quota falls by more than the amounts, the amounts
// count: the mean fall is no proof.
func (d *quota) below(amount float64) bool {
	return d.Amounts && !d.untrue && min(1, d.fell/d.weight)*amount > d.Limit
}
