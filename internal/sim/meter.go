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
	counts [rates]int
	// inFlight is the number of attempts that clients wait for, peak its largest value.
	inFlight, peak int
	// outageSent is the number of requests that were sent during outages.
	outageSent int
	// sinceBirth and sinceSend are the latencies of done operations.
	sinceBirth, sinceSend []time.Duration
	// requests are the requests sent in each second.
	requests []int32
	// interactive and background are the operations of the two kinds.
	interactive, background struct{ born, done int }
	// watched has the counts in the time of the watch: requests sent, requests that ended without success, operations
	// done, and the most attempts that clients waited for. watchedTime has the latencies of these operations,
	// watchedDone their number by client.
	watched     struct{ sent, errors, done, peak int }
	watchedTime []time.Duration
	watchedDone []float64
	regained    regained
	tracer      tracer
}

func (m *meter) init(s Scenario, windowed bool) {
	m.regained = newRegained(s)
	m.watchedDone = make([]float64, s.Clients.Count)
	m.tracer.init(s, windowed)
}

func (m *meter) born(op *operation) {
	m.Operations++
	m.kind(op).born++
}

func (m *meter) kind(op *operation) *struct{ born, done int } {
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
	m.inFlight++
	m.peak = max(m.peak, m.inFlight)
	if e.scenario.watches(e.now) {
		m.watched.sent++
		m.watched.peak = max(m.watched.peak, m.inFlight)
	}
	if e.server.down != nil {
		m.outageSent++
	}
	second := int(e.now / time.Second)
	for len(m.requests) <= second {
		m.requests = append(m.requests, 0)
	}
	m.requests[second]++
}

func (m *meter) ended(e *engine, o window.Outcome) {
	if e.scenario.watches(e.now) {
		m.watched.peak = max(m.watched.peak, m.inFlight)
		if o != window.Success {
			m.watched.errors++
		}
	}
	m.inFlight--
	m.counts[byOutcome[o]]++
}

func (m *meter) done(e *engine, op *operation) {
	m.Done++
	m.kind(op).done++
	m.Makespan = e.now
	m.sinceBirth = append(m.sinceBirth, e.now-op.born)
	m.sinceSend = append(m.sinceSend, e.now-op.sent)
	m.regained.done(e.now)
	if e.scenario.watches(e.now) {
		m.watched.done++
		m.watchedTime = append(m.watchedTime, e.now-op.born)
		m.watchedDone[op.client.id]++
	}
}

func (m *meter) over() bool { return m.Done+m.GivenUp == m.Operations }

// result completes the counts at the end of a run, and works out the measures.
func (m *meter) result(e *engine) Result {
	m.Ended, m.End, m.Events, m.Optimum = e.ended, e.now, e.events, e.scenario.Optimum
	m.Attempts, m.Refused, m.Failed, m.TimedOut = m.counts[requests], m.counts[refusals], m.counts[failures], m.counts[timeouts]
	m.Shadow = e.shadow()
	m.Interval, m.Traces = m.tracer.traces(e)
	m.ofOperations(e)
	m.ofRequests(e.scenario)
	m.ofOutages(e.scenario)
	m.ofWatch(e.scenario)
	return m.Result
}

func (m *meter) measure(name string, v float64, applies bool) *Measure {
	m.measures = append(m.measures, Measure{name, v, false, applies})
	return &m.measures[len(m.measures)-1]
}

// ratio is a over b, which does not apply if b is 0.
func (m *meter) ratio(name string, a, b float64) *Measure {
	if b == 0 {
		return m.measure(name, 0, false)
	}
	return m.measure(name, a/b, true)
}

func (m *meter) ofOperations(e *engine) {
	makespan, unfinished := m.Makespan, m.Done < m.Operations
	if unfinished && m.Ended != endedDone {
		// Some operations are under way still: the makespan is no less than the run was long.
		makespan = m.End
	}
	m.measure("makespan_s", makespan.Seconds(), e.scenario.Clients.Operations > 0).AtLeast = unfinished
	m.ratio("span", makespan.Seconds(), m.Optimum.Seconds()).AtLeast = unfinished
	m.measure("done", float64(m.Done), true)
	m.measure("given_up", float64(m.GivenUp), true)
	slices.Sort(m.sinceBirth)
	slices.Sort(m.sinceSend)
	m.measure("mean_s", mean(m.sinceBirth).Seconds(), m.Done > 0)
	m.measure("p50_s", percentile(m.sinceBirth, 50), m.Done > 0)
	m.measure("p99_s", percentile(m.sinceBirth, 99), m.Done > 0)
	m.measure("first_send_p99_s", percentile(m.sinceSend, 99), m.Done > 0)
	m.measure("jain", fairness(throughputs(e.clients)), m.Done > 0)
	m.ratio("throughput", float64(m.Done), m.End.Seconds())
	if e.scenario.Clients.Background == 0 {
		m.interactive.born, m.background.born = 0, 0
	}
	m.ratio("interactive_done", float64(m.interactive.done), float64(m.interactive.born))
	m.ratio("background_done", float64(m.background.done), float64(m.background.born))
}

func (m *meter) ofRequests(s Scenario) {
	m.measure("attempts", float64(m.Attempts), true)
	m.ratio("attempts_per_op", float64(m.Attempts), float64(m.Operations))
	m.ratio("efficiency", float64(m.Done), float64(m.Attempts))
	m.measure("refused", float64(m.Refused), true)
	m.measure("timed_out", float64(m.TimedOut), true)
	m.measure("peak_in_flight", float64(m.peak), true)
	m.measure("mean_rate", m.meanRate(), true)
	m.measure("peak_rate", float64(slices.Max(append(m.requests, 0))), true)
	m.ratio("peak_over_mean", float64(slices.Max(append(m.requests, 0))), m.meanRate())
	clients := min(1, len(s.Server.Quotas)) * s.Clients.Count
	m.ratio("refused_per_hour", float64(m.Refused), m.End.Hours()*float64(clients))
	m.measure("cpu_s", float64(m.Attempts)*s.Clients.CPU.Seconds(), s.Clients.CPU > 0)
	m.measure("price", float64(m.Attempts)*s.Clients.Price, s.Clients.Price > 0)
}

func (m *meter) meanRate() float64 {
	if m.End == 0 {
		return 0
	}
	return float64(m.Attempts) / m.End.Seconds()
}

func (m *meter) ofOutages(s Scenario) {
	began, ended := false, time.Duration(-1)
	for _, o := range s.Server.Outages {
		began = began || o.From < m.End
		if o.end() < m.End {
			ended = o.end()
		}
	}
	m.measure("outage_sent", float64(m.outageSent), began)
	recovered := m.sinceThen("recovery_s", ended, 0.9, ended >= 0).Applies
	first := 0.0 // in the second after the last outage
	if i := int(ended / time.Second); ended >= 0 && i < len(m.requests) {
		first = float64(m.requests[i])
	}
	returned := m.ratio("return_over_mean", first, m.meanRate())
	returned.Applies = returned.Applies && recovered
	at, changed := s.Server.lastChange(m.End)
	m.sinceThen("regain_s", at, s.Regain, changed && s.Regain > 0)
}

// sinceThen is the time until the throughput was at that share.
func (m *meter) sinceThen(name string, from time.Duration, share float64, applies bool) *Measure {
	x := m.measure(name, 0, false)
	if applies {
		x.Value, x.AtLeast, x.Applies = m.regained.since(from, m.End, share)
	}
	return x
}

func (m *meter) ofWatch(s Scenario) {
	watched, capacity, share := s.WatchFor > 0 && m.End > s.WatchFrom, 0.0, 0.0
	if watched {
		capacity = s.Server.capacity(s.WatchFrom, min(m.End, s.WatchFrom+s.WatchFor))
	}
	m.ratio("watch_use", float64(m.watched.done), capacity)
	m.measure("watch_sent", float64(m.watched.sent), watched)
	m.ratio("watch_attempts_per_op", float64(m.watched.sent), float64(m.watched.done))
	slices.Sort(m.watchedTime)
	m.measure("watch_p99_s", percentile(m.watchedTime, 99), len(m.watchedTime) > 0)
	m.measure("watch_errors", float64(m.watched.errors), watched)
	m.measure("watch_peak_in_flight", float64(m.watched.peak), watched)
	m.measure("watch_jain", fairness(m.watchedDone), m.watched.done > 0)
	for _, q := range s.Server.Quotas {
		switch {
		case watched:
			share = float64(m.watched.done) / capacity
		case m.End >= q.Per:
			share = float64(m.Done) / s.Server.capacity(0, m.End)
		}
	}
	// The share may be more than 1, since a bucket is full at the start.
	m.measure("quota_share", share, share > 0)
}

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

// percentile is the smallest of the sorted times that p percent do not exceed, in seconds; 0 without times.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)].Seconds()
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

// since is the seconds after from until the throughput was at that share, at least until the end of the run.
func (r *regained) since(from, end time.Duration, share float64) (seconds float64, atLeast, applies bool) {
	want := r.want(from)
	if math.IsInf(want, 1) || want == 0 {
		return 0, false, false
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
			return max(0, begin-from).Seconds(), false, true
		}
	}
	return max(0, end-from).Seconds(), true, true
}
