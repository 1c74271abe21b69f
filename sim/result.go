package sim

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// The words of Result.Ended.
const (
	endedDone    = "done"
	endedHorizon = "horizon"
	endedEvents  = "events"
	endedStopped = "stopped"
)

// Result is the result of one run. An operation is born when a client wants it done, and takes one attempt or
// more; it is done after a success, or given up. Times are virtual. Measures returns the numbers that are worked
// out from these, such as the time to recover.
type Result struct {
	// Scenario, Strategy and Seed identify the run.
	Scenario, Strategy string
	Seed               uint64
	// Ended says why the run ended: "done", every operation was done or given up; "horizon", the virtual time
	// was up; "events", there were too many; "stopped", by Scenario.Stop.
	Ended string
	// End is the virtual time of the end, Events the number of events.
	End    time.Duration
	Events int

	// Operations is the number of operations that were born, Done and GivenUp the numbers that were done and given
	// up. The others were under way at the end.
	Operations, Done, GivenUp int
	// Attempts is the number of requests that were sent, with Retries that were not an operation's first.
	Attempts, Retries int
	// Succeeded, Refused, Failed and TimedOut are how attempts ended for the client: a success, an overload
	// answer, another error, no answer in time. The other attempts were under way at the end.
	Succeeded, Refused, Failed, TimedOut int
	// Rejected is the number of times that a budget, a throttle or carrier sense refused an attempt.
	Rejected int
	// OutageSent is the number of requests that were sent during outages.
	OutageSent int
	// PeakInFlight is the most attempts that clients waited for at one time.
	PeakInFlight int

	// Makespan is the time when the last operation was done; a lower bound if Done is less than Operations.
	Makespan time.Duration
	// Optimum is the makespan of a clairvoyant, who sends each operation so that it arrives just when the
	// server has room; 0 without a number of operations, or if that does not end either.
	Optimum time.Duration
	// P50 and P99 are the median and the 99th percentile of the latency of done operations, from their birth to
	// their success; SentP99 is the latter from their first attempt. They are 0 if no operation was done.
	P50, P99, SentP99 time.Duration

	// Interval is the time between two samples of the traces; 0: there are no traces.
	Interval time.Duration
	// Traces are courses over time, all of the same length, by name. "requests", "retries", "successes",
	// "refusals", "failures" and "timeouts" are rates, a second: sample i is the rate from i to i+1 intervals.
	// Sample i of the others is the value at the end of that time: "in_flight" is the attempts that clients wait
	// for, "concurrency" the requests that the server has, "waiting" the operations in a limiter's queue or
	// backing off; "cwnd" and "ssthresh" are the windows, summed up over the limiters, only with a window. The
	// last interval may be cut short.
	Traces map[string][]float64

	measures
}

// measures are the parts of a result that Measures alone shows.
type measures struct {
	// finite: the clients had a number of operations. outages: there was an outage.
	finite, outages bool
	// mean is the mean latency of done operations, from their birth.
	mean time.Duration
	// jain is Jain's fairness index of the clients' throughputs, 1/clients to 1; 0 if no operation was done.
	jain float64
	// recovery is the time from the end of the last outage until 90% of the capacity was used, or of the clients'
	// demand if that is less; regain is the same for Scenario.Regain, from the last change or outage.
	recovery, regain spell
	// meanRate and peakRate are requests sent a second: over the run, and in its worst second. returnRate is
	// the rate of the first second after the last outage.
	meanRate, peakRate, returnRate float64
	watched                        watched
	// interactive and background count the operations of the two kinds, with Clients.Background.
	interactive, background fared
	// quotaClients is the number of clients that share the service's quotas, 0 if it has none. quotaShare is the
	// share of the quotas that done operations used, in the time of Scenario.Watch if there is one; 0 if no quota
	// came back. It may be more than 1, since a bucket is full at the start.
	quotaClients int
	quotaShare   float64
}

// spell is a time that may not be over: length is then the time to the end of the run. applies is false if the
// measure has no meaning.
type spell struct {
	length        time.Duration
	over, applies bool
}

func (s spell) measure(name string) Measure {
	return Measure{name, s.length.Seconds(), !s.over, s.applies}
}

// watched has the counts of the time of Scenario.Watch.
type watched struct {
	// applies is false without a Watch, or if the run ended before.
	applies bool
	// attempts is the number of requests that were sent, errors the number that ended without success, and done
	// the number of operations that were done.
	attempts, errors, done int
	// capacity is the number of operations that the server could have served, outages or not; 0: no bound.
	capacity float64
	// jain is Jain's fairness index of the clients' done operations.
	jain float64
}

// fared is the number of operations of one kind that were born, and that were done.
type fared struct{ born, done int }

func (f fared) measure(name string) Measure {
	return Measure{name, ratio(f.done, f.born), false, f.born > 0}
}

// Measure is one number of a result, for tables.
type Measure struct {
	// Name is short, with its unit: "makespan_s".
	Name  string
	Value float64
	// AtLeast says that the run ended before the number was known: it is a lower bound. Applies is false if
	// the number has no meaning, such as a recovery without an outage.
	AtLeast, Applies bool
}

// ratio is a over b; 0 if b is 0.
func ratio[A, B int | float64](a A, b B) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Measures are the result's numbers, always the same and in the same order.
func (r Result) Measures() []Measure {
	unfinished := r.Done < r.Operations
	makespan := r.Makespan
	if unfinished && r.Ended != endedDone {
		// Some operations are under way still: the makespan is no less than the run was long.
		makespan = r.End
	}
	always := func(name string, n int) Measure { return Measure{name, float64(n), false, true} }
	seconds := func(name string, d time.Duration) Measure { return Measure{name, d.Seconds(), false, r.Done > 0} }
	return []Measure{
		{"makespan_s", makespan.Seconds(), unfinished, r.finite},
		{"span", ratio(makespan.Seconds(), r.Optimum.Seconds()), unfinished, r.Optimum > 0},
		always("done", r.Done),
		always("given_up", r.GivenUp),
		always("attempts", r.Attempts),
		{"attempts_per_op", ratio(r.Attempts, r.Operations), false, r.Operations > 0},
		{"efficiency", ratio(r.Succeeded, r.Attempts), false, r.Attempts > 0},
		always("refused", r.Refused),
		always("timed_out", r.TimedOut),
		seconds("mean_s", r.mean),
		seconds("p50_s", r.P50),
		seconds("p99_s", r.P99),
		seconds("first_send_p99_s", r.SentP99),
		always("peak_in_flight", r.PeakInFlight),
		{"jain", r.jain, false, r.Done > 0},
		{"throughput", ratio(r.Done, r.End.Seconds()), false, r.End > 0},
		r.recovery.measure("recovery_s"),
		{"outage_sent", float64(r.OutageSent), false, r.outages},
		{"mean_rate", r.meanRate, false, true},
		{"peak_rate", r.peakRate, false, true},
		{"peak_over_mean", ratio(r.peakRate, r.meanRate), false, r.meanRate > 0},
		{"return_over_mean", ratio(r.returnRate, r.meanRate), false, r.meanRate > 0 && r.recovery.applies},
		{"watch_use", ratio(r.watched.done, r.watched.capacity), false, r.watched.capacity > 0},
		{"watch_attempts_per_op", ratio(r.watched.attempts, r.watched.done), false, r.watched.done > 0},
		{"watch_errors", float64(r.watched.errors), false, r.watched.applies},
		{"watch_jain", r.watched.jain, false, r.watched.done > 0},
		r.regain.measure("regain_s"),
		{"refused_per_hour", ratio(r.Refused, r.End.Hours()*float64(r.quotaClients)), false, r.quotaClients > 0},
		{"quota_share", r.quotaShare, false, r.quotaShare > 0},
		r.interactive.measure("interactive_done"),
		r.background.measure("background_done"),
	}
}

const maxSamples = 4096

// The traces: first the counts, which become rates, then the values at a time.
const (
	requests = iota
	retries
	successes
	refusals
	failures
	timeouts
	rates // the number of these
)

const (
	inFlight = rates + iota
	concurrency
	waiting
	cwnd
	ssthresh
	traced
)

var traceNames = [traced]string{
	"requests", "retries", "successes", "refusals", "failures", "timeouts",
	"in_flight", "concurrency", "waiting", "cwnd", "ssthresh",
}

var byOutcome = [...]int{
	window.Success: successes, window.Overload: refusals, window.Neutral: failures, window.Timeout: timeouts,
}

type tracer struct {
	off      bool
	windowed bool
	interval time.Duration
	// next is the end of the current interval, and counted the counts of the meter at its start.
	next    time.Duration
	counted [rates]int
	values  [traced][]float64
}

func (t *tracer) init(s Scenario, windowed bool) {
	t.off, t.windowed = s.NoTraces, windowed
	t.interval, t.next = s.Trace, s.Trace
}

// passed takes the samples that are due before now.
func (t *tracer) passed(e *engine, now time.Duration) {
	if t.off {
		return
	}
	for t.next <= now {
		t.sample(e)
		if len(t.values[0]) == maxSamples {
			t.halve()
		}
		t.next += t.interval
	}
}

func (t *tracer) sample(e *engine) {
	look := func(i int, v float64) { t.values[i] = append(t.values[i], v) }
	m := &e.meter
	for i, n := range m.counts {
		look(i, float64(n-t.counted[i]))
	}
	t.counted = m.counts
	look(inFlight, float64(m.inFlight))
	look(concurrency, float64(e.server.concurrency()))
	look(waiting, float64(m.Operations-m.Done-m.GivenUp-m.inFlight))
	if !t.windowed {
		return
	}
	var sum, threshold float64
	for _, p := range e.parties {
		s := p.core.State()
		sum += s.Cwnd
		threshold += s.Ssthresh
	}
	look(cwnd, sum)
	look(ssthresh, threshold)
}

// halve makes one interval of two.
func (t *tracer) halve() {
	for i := range t.values {
		v := t.values[i]
		for j := range len(v) / 2 {
			if i < rates {
				v[j] = v[2*j] + v[2*j+1]
			} else {
				v[j] = v[2*j+1]
			}
		}
		t.values[i] = v[:len(v)/2]
	}
	t.interval *= 2
}

// traces are the traces up to the end of the run, whose last interval may be cut short.
func (t *tracer) traces(e *engine) (time.Duration, map[string][]float64) {
	if t.off {
		return 0, nil
	}
	if e.now > t.next-t.interval || t.counted != e.meter.counts {
		t.sample(e)
	}
	all := map[string][]float64{}
	for i, v := range t.values {
		if v == nil {
			continue
		}
		if i < rates {
			for j := range v {
				v[j] /= t.interval.Seconds()
			}
		}
		all[traceNames[i]] = v
	}
	return t.interval, all
}
