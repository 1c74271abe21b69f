package sim

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

type meter struct {
	// Result has the counts so far.
	Result
	// counts are the number of attempts that were sent and how they ended, in the order of the traces.
	counts   [rates]int
	inFlight int
	// sinceBirth and sinceSend are the latencies of done operations.
	sinceBirth, sinceSend []time.Duration
	// requests are the requests sent in each second.
	requests []int32
	// watch is the time in which Watched counts, and watchedDone how many operations of each client
	// were done in that time.
	watch       Watch
	watchedDone []float64
	regained    regained
	tracer      tracer
}

func (m *meter) init(s Scenario, windowed bool) {
	m.regained = newRegained(s)
	m.watch, m.watchedDone = s.Watch, make([]float64, s.Clients.Count)
	m.tracer.init(s, windowed)
}

func (m *meter) born(op *operation) {
	m.Operations++
	m.kind(op).born++
}

func (m *meter) kind(op *operation) *fared {
	if op.background {
		return &m.background
	}
	return &m.interactive
}

func (m *meter) sent(e *engine, again bool) {
	m.counts[requests]++
	if again {
		m.counts[retries]++
	}
	if m.watch.on(e.now) {
		m.watched.attempts++
	}
	m.inFlight++
	m.PeakInFlight = max(m.PeakInFlight, m.inFlight)
	if e.server.down != nil {
		m.OutageSent++
	}
	second := int(e.now / time.Second)
	for len(m.requests) <= second {
		m.requests = append(m.requests, 0)
	}
	m.requests[second]++
}

// ended: an attempt ended for its client.
func (m *meter) ended(now time.Duration, o window.Outcome) {
	m.inFlight--
	if o != window.Success && m.watch.on(now) {
		m.watched.errors++
	}
	m.counts[byOutcome[o]]++
}

func (m *meter) done(now time.Duration, op *operation) {
	m.Done++
	m.kind(op).done++
	m.Makespan = now
	m.sinceBirth = append(m.sinceBirth, now-op.born)
	m.sinceSend = append(m.sinceSend, now-op.sent)
	m.regained.done(now)
	if m.watch.on(now) {
		m.watched.done++
		m.watchedDone[op.client.id]++
	}
}

// over reports whether every operation that was born has ended.
func (m *meter) over() bool { return m.Done+m.GivenUp == m.Operations }

// result completes the counts at the end of a run.
func (m *meter) result(e *engine) Result {
	r, s := m.Result, e.scenario
	r.Scenario, r.Strategy = s.Name, e.strategy.Name
	r.Ended, r.End, r.Events, r.finite = e.ended, e.now, e.events, s.Clients.Operations > 0
	r.Attempts, r.Retries = m.counts[requests], m.counts[retries]
	r.Succeeded, r.Refused, r.Failed, r.TimedOut = m.counts[successes], m.counts[refusals], m.counts[failures], m.counts[timeouts]
	slices.Sort(m.sinceBirth)
	slices.Sort(m.sinceSend)
	r.P50, r.P99, r.SentP99 = percentile(m.sinceBirth, 50), percentile(m.sinceBirth, 99), percentile(m.sinceSend, 99)
	r.mean, r.jain = mean(m.sinceBirth), fairness(throughputs(e.clients))
	r.Interval, r.Traces = m.tracer.traces(e)
	if s.Clients.Background == 0 {
		r.interactive = fared{}
	}
	if w := s.Watch; w.For > 0 && e.now > w.From {
		r.watched.applies, r.watched.jain = true, fairness(m.watchedDone)
		r.watched.capacity = s.Server.capacity(w.From, min(e.now, w.From+w.For))
	}
	for _, q := range s.Server.Quotas {
		r.quotaClients = s.Clients.Count
		switch {
		case r.watched.applies:
			r.quotaShare = float64(r.watched.done) / r.watched.capacity
		case e.now >= q.Per:
			r.quotaShare = float64(m.Done) / s.Server.capacity(0, e.now)
		}
	}
	if at, changed := s.Server.lastChange(e.now); changed && s.Regain > 0 {
		r.regain = m.regained.since(at, e.now, s.Regain)
	}
	for _, o := range s.Server.Outages {
		if o.From < e.now {
			r.outages = true
		}
		if o.end() < e.now {
			r.recovery = m.regained.since(o.end(), e.now, 0.9)
			r.returnRate = 0
			if i := int(o.end() / time.Second); i < len(m.requests) {
				r.returnRate = float64(m.requests[i])
			}
		}
	}
	r.meanRate = ratio(r.Attempts, e.now.Seconds())
	if len(m.requests) > 0 {
		r.peakRate = float64(slices.Max(m.requests))
	}
	return r
}

// mean is the mean of the times, 0 without times.
func mean(all []time.Duration) time.Duration {
	// In two parts, so that the sum of many long times does not overflow.
	n := time.Duration(max(1, len(all)))
	var whole, rest time.Duration
	for _, d := range all {
		whole += d / n
		rest += d % n
	}
	return whole + rest/n
}

// percentile is the smallest of the sorted times that p percent do not exceed; 0 without times.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// throughputs are the operations a second that each client had done, until its last one.
func throughputs(clients []client) []float64 {
	all := make([]float64, len(clients))
	for i := range clients {
		if c := &clients[i]; c.done > 0 {
			all[i] = float64(c.done) / max(c.last, 1).Seconds()
		}
	}
	return all
}

// fairness is Jain's index of shares, (sum x)^2 / (n * sum x^2); 0 without shares.
func fairness(shares []float64) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += x
		squares += float64(x * x)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// regained says when the throughput was a share of the throughput that is possible.
type regained struct {
	// want is the operations a second that there can be; +Inf: no bound, and no measure.
	want func(at time.Duration) float64
	// width is the width of a bucket, and dones how many operations were done in each bucket.
	width time.Duration
	dones []int32
}

// buckets is the number of buckets that make up the time over which the throughput is taken.
const buckets = 10

func newRegained(s Scenario) regained {
	want := func(at time.Duration) float64 { return min(s.Server.throughput(at), s.Clients.demand(s.Server)) }
	// A second, or until 20 operations can be expected, but at most a million buckets.
	span := time.Second
	if w := want(0); w > 0 {
		span = max(span, min(stretched(time.Second, 20/w), s.Horizon))
	}
	return regained{want: want, width: max(span/buckets, s.Horizon/1_000_000, 1)}
}

func (r *regained) done(now time.Duration) {
	i := int(now / r.width)
	for len(r.dones) <= i {
		r.dones = append(r.dones, 0)
	}
	r.dones[i]++
}

// since is the time after from until the throughput was at that share.
func (r *regained) since(from, end time.Duration, share float64) spell {
	want := r.want(from)
	if math.IsInf(want, 1) || want == 0 {
		return spell{}
	}
	need := int32(math.Ceil(share * want * (buckets * r.width).Seconds()))
	first := int((from + r.width - 1) / r.width)
	var sum int32
	for i := first; i < len(r.dones); i++ {
		sum += r.dones[i]
		if i >= first+buckets {
			sum -= r.dones[i-buckets]
		}
		if sum >= need {
			begin := time.Duration(max(first, i-buckets+1)) * r.width
			return spell{max(0, begin-from), true, true}
		}
	}
	return spell{max(0, end-from), false, true}
}
