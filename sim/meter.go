package sim

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

// meter measures a run.
type meter struct {
	births, dones, givenUp, rejected int
	attempts, retries                int
	outcomes                         [window.ClientError + 1]int
	inFlight, peakInFlight           int
	peakConcurrency                  int
	makespan                         time.Duration
	useful, wasted                   time.Duration
	outageSent                       int
	// sinceBirth and sinceSend are the latencies of done operations.
	sinceBirth, sinceSend []time.Duration
	// requests are the requests sent in each second.
	requests []int32
	regained regained
	watch    watch
	tracer   tracer
	// interactive and background count the two kinds of operations.
	interactive, background fared
}

func (m *meter) init(s Scenario, windowed bool) {
	m.regained = newRegained(s)
	m.watch = watch{conf: s.Watch, dones: make([]int, s.Clients.Count)}
	m.tracer.init(s, windowed)
}

func (m *meter) born(op *operation) {
	m.births++
	m.kind(op).Operations++
}

// kind counts operations like this one.
func (m *meter) kind(op *operation) *fared {
	if op.background {
		return &m.background
	}
	return &m.interactive
}

func (m *meter) sent(e *engine, again bool) {
	m.attempts++
	m.tracer.counts[requests]++
	if again {
		m.retries++
		m.tracer.counts[retries]++
	}
	if m.watch.on(e.now) {
		m.watch.Attempts++
	}
	m.inFlight++
	m.peakInFlight = max(m.peakInFlight, m.inFlight)
	if e.server.down != nil {
		m.outageSent++
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
		m.watch.Errors++
	}
	m.outcomes[o]++
	m.tracer.counts[byOutcome[o]]++
}

func (m *meter) done(now time.Duration, op *operation) {
	m.dones++
	m.kind(op).Done++
	m.makespan = now
	m.sinceBirth = append(m.sinceBirth, now-op.born)
	m.sinceSend = append(m.sinceSend, now-op.sent)
	m.regained.done(now)
	if m.watch.on(now) {
		m.watch.Done++
		m.watch.dones[op.client.id]++
	}
}

// concurrent: the server has n requests.
func (m *meter) concurrent(n int) { m.peakConcurrency = max(m.peakConcurrency, n) }

// worked: the server spent time on an attempt.
func (m *meter) worked(d time.Duration, useful bool) {
	if useful {
		m.useful += d
	} else {
		m.wasted += d
	}
}

// over reports whether every operation that was born has ended.
func (m *meter) over() bool { return m.dones+m.givenUp == m.births }

func (m *meter) result(e *engine) Result {
	r := Result{
		Ended: e.ended, End: e.now, Events: e.events,
		Operations: m.births, Done: m.dones, GivenUp: m.givenUp,
		Attempts: m.attempts, Retries: m.retries, Rejected: m.rejected,
		Succeeded: m.outcomes[window.Success], Refused: m.outcomes[window.Overload],
		Failed: m.outcomes[window.Neutral], TimedOut: m.outcomes[window.Timeout],
		Finite: e.scenario.Clients.Operations > 0, Makespan: m.makespan,
		SinceBirth: latency(m.sinceBirth), SinceSend: latency(m.sinceSend),
		PeakInFlight: m.peakInFlight, PeakConcurrency: m.peakConcurrency,
		Useful: m.useful, Wasted: m.wasted, Jain: jain(e.clients),
		Find: m.regained.since(0, e.now, 0.9), OutageSent: m.outageSent,
		Traces: m.tracer.traces(e), Watched: m.watch.watched(e.scenario.Server, e.now),
	}
	for _, q := range e.scenario.Server.Quotas {
		r.QuotaClients = e.scenario.Clients.Count
		switch {
		case r.Watched.Applies:
			r.QuotaShare = float64(r.Watched.Done) / r.Watched.Capacity
		case e.now >= q.Per:
			r.QuotaShare = float64(m.dones) / e.scenario.Server.capacity(0, e.now)
		}
	}
	if e.scenario.Clients.Background > 0 {
		r.Interactive, r.Background = m.interactive, m.background
	}
	if at, changed := e.scenario.Server.lastChange(e.now); changed && e.scenario.Regain > 0 {
		r.Regain = m.regained.since(at, e.now, e.scenario.Regain)
	}
	for _, o := range e.scenario.Server.Outages {
		if o.From < e.now {
			r.Outages = true
		}
		if o.end() < e.now {
			r.Recovery = m.regained.since(o.end(), e.now, 0.9)
			r.ReturnRate = m.rate(o.end())
		}
	}
	if e.now > 0 {
		r.MeanRate = float64(m.attempts) / e.now.Seconds()
	}
	if len(m.requests) > 0 {
		r.PeakRate = float64(slices.Max(m.requests))
	}
	return r
}

// rate is how many requests were sent in the second at that time.
func (m *meter) rate(t time.Duration) float64 {
	if i := int(t / time.Second); i < len(m.requests) {
		return float64(m.requests[i])
	}
	return 0
}

// latency sorts all times and sums them up.
func latency(all []time.Duration) Latency {
	if len(all) == 0 {
		return Latency{}
	}
	slices.Sort(all)
	// In two parts, so that the sum of many long times does not overflow.
	n := time.Duration(len(all))
	var whole, rest time.Duration
	for _, d := range all {
		whole += d / n
		rest += d % n
	}
	return Latency{
		Mean: whole + rest/n,
		P50:  percentile(all, 50), P99: percentile(all, 99), Max: all[n-1],
	}
}

// percentile is the smallest of the sorted times that p percent do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// jain is the fairness of the clients' throughputs, each until its last operation was done.
func jain(clients []client) float64 {
	shares := make([]float64, len(clients))
	for i := range clients {
		if c := &clients[i]; c.done > 0 {
			shares[i] = float64(c.done) / max(c.last, 1).Seconds()
		}
	}
	return fairness(shares)
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

// watch counts in the time of a Watch.
type watch struct {
	conf Watch
	Watched
	// dones is how many operations of each client were done.
	dones []int
}

// on reports whether that time is watched.
func (w *watch) on(now time.Duration) bool {
	return now >= w.conf.From && now-w.conf.From < w.conf.For
}

// watched returns the counts at the end of a run.
func (w *watch) watched(s Server, end time.Duration) Watched {
	if w.conf.For == 0 || end <= w.conf.From {
		return Watched{}
	}
	r := w.Watched
	r.Applies = true
	r.Capacity = s.capacity(w.conf.From, min(end, w.conf.From+w.conf.For))
	shares := make([]float64, len(w.dones))
	for i, n := range w.dones {
		shares[i] = float64(n)
	}
	r.Jain = fairness(shares)
	return r
}

// regained says when the throughput was a share of the throughput that is possible.
type regained struct {
	// want is how many operations a second there can be; +Inf: no bound, and no measure.
	want func(at time.Duration) float64
	// width is the width of a bucket, and dones how many operations were done in each bucket.
	width time.Duration
	dones []int32
}

// buckets is how many buckets make up the time over which the throughput is taken.
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

// since is how long after the time from the throughput was at that share.
func (r *regained) since(from, end time.Duration, share float64) Spell {
	want := r.want(from)
	if math.IsInf(want, 1) || want == 0 {
		return Spell{}
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
			return Spell{For: max(0, begin-from), Over: true, Applies: true}
		}
	}
	return Spell{For: max(0, end-from), Applies: true}
}
