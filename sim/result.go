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
// more; it is done after a success, or given up. Times are virtual.
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

	// Operations is how many were born, Done and GivenUp how many were done and given up. The others were
	// under way at the end.
	Operations, Done, GivenUp int
	// Attempts is the number of requests that were sent, with Retries that were not an operation's first.
	Attempts, Retries int
	// Succeeded, Refused, Failed and TimedOut are how attempts ended for the client: a success, an overload
	// answer, another error, no answer in time. The other attempts were under way at the end.
	Succeeded, Refused, Failed, TimedOut int
	// Rejected is the number of times that a budget, a throttle or carrier sense refused an attempt.
	Rejected int

	// Finite reports whether the clients had a number of operations.
	Finite bool
	// Makespan is the time when the last operation was done; a lower bound if Done is less than Operations.
	Makespan time.Duration
	// Optimum is the makespan of a clairvoyant, who sends each operation so that it arrives just when the
	// server has room; 0 without a number of operations, or if that does not end either.
	Optimum time.Duration

	// SinceBirth and SinceSend are the latencies of done operations, from their birth and from their first
	// attempt to their success.
	SinceBirth, SinceSend Latency

	// PeakInFlight is the most attempts that clients waited for at one time, PeakConcurrency the most requests
	// that the server had at one time.
	PeakInFlight, PeakConcurrency int
	// Useful is the server's time for requests that reached a client as a success, Wasted its time for busy
	// refusals, for requests that were given up, and for collisions.
	Useful, Wasted time.Duration
	// Jain is Jain's fairness index of the clients' throughputs, 1/clients to 1; 0 if no operation was done.
	Jain float64

	// Find is the time that it took from the start until 90% of the capacity was used, or of the clients' demand if
	// that is less. Recovery is the same from the end of the last outage.
	Find, Recovery Spell
	// OutageSent is the number of requests that were sent during outages; Outages reports whether there was one.
	OutageSent int
	Outages    bool

	// MeanRate and PeakRate are requests sent a second: over the run, and in its worst second. ReturnRate is
	// the rate of the first second after the last outage.
	MeanRate, PeakRate, ReturnRate float64

	// Watched has the counts of the time of Scenario.Watch.
	Watched Watched `json:",omitzero"`
	// Regain is the time that it took, after the last change of capacity or end of an outage, until Scenario.Regain
	// of the capacity was used again.
	Regain Spell `json:",omitzero"`

	// Interactive and Background count the operations of the two kinds, with Clients.Background.
	Interactive, Background fared `json:",omitzero"`

	// QuotaClients is the number of clients that share the service's quotas, 0 if it has none. QuotaShare is the share of
	// the quotas that done operations used, in the time of Scenario.Watch if there is one; 0 if no quota came
	// back. It may be more than 1, since a bucket is full at the start.
	QuotaClients int     `json:",omitzero"`
	QuotaShare   float64 `json:",omitzero"`

	// Traces are the courses over time.
	Traces Traces
}

// Latency is the mean, the median, the 99th percentile and the longest of many times; zero for no times.
type Latency struct{ Mean, P50, P99, Max time.Duration }

// Spell is a time that may not be Over: For is then the time to the end of the run. Applies is false if the
// measure has no meaning.
type Spell struct {
	For           time.Duration
	Over, Applies bool
}

// Watched has the counts of the time of Scenario.Watch.
type Watched struct {
	// Applies is false without a Watch, or if the run ended before.
	Applies bool
	// Attempts is the number of requests that were sent, Errors how many ended without success, and Done how many
	// operations were done.
	Attempts, Errors, Done int
	// Capacity is the number of operations that the server could have served, outages or not; 0: no bound.
	Capacity float64
	// Jain is Jain's fairness index of the clients' done operations, as in Result.
	Jain float64
}

// fared is how many operations of one kind were born, and how many were done.
type fared struct{ Operations, Done int }

func (f fared) done(name string) Measure {
	return Measure{name, float64(f.Done) / float64(max(f.Operations, 1)), false, f.Operations > 0}
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

// Measures are the result's numbers, always the same and in the same order.
func (r Result) Measures() []Measure {
	unfinished := r.Done < r.Operations
	makespan := r.Makespan
	if unfinished && r.Ended != endedDone {
		// Some operations are under way still: the makespan is no less than the run was long.
		makespan = r.End
	}
	ratio := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	return []Measure{
		{"makespan_s", makespan.Seconds(), unfinished, r.Finite},
		{"span", ratio(makespan.Seconds(), r.Optimum.Seconds()), unfinished, r.Optimum > 0},
		{"operations", float64(r.Operations), false, true},
		{"done", float64(r.Done), false, true},
		{"given_up", float64(r.GivenUp), false, true},
		{"attempts", float64(r.Attempts), false, true},
		{"attempts_per_op", ratio(float64(r.Attempts), float64(r.Operations)), false, r.Operations > 0},
		{"efficiency", ratio(float64(r.Succeeded), float64(r.Attempts)), false, r.Attempts > 0},
		{"refused", float64(r.Refused), false, true},
		{"timed_out", float64(r.TimedOut), false, true},
		{"mean_s", r.SinceBirth.Mean.Seconds(), false, r.Done > 0},
		{"p50_s", r.SinceBirth.P50.Seconds(), false, r.Done > 0},
		{"p99_s", r.SinceBirth.P99.Seconds(), false, r.Done > 0},
		{"first_send_mean_s", r.SinceSend.Mean.Seconds(), false, r.Done > 0},
		{"first_send_p50_s", r.SinceSend.P50.Seconds(), false, r.Done > 0},
		{"first_send_p99_s", r.SinceSend.P99.Seconds(), false, r.Done > 0},
		{"peak_in_flight", float64(r.PeakInFlight), false, true},
		{"peak_concurrency", float64(r.PeakConcurrency), false, true},
		{"useful_s", r.Useful.Seconds(), false, true},
		{"wasted_s", r.Wasted.Seconds(), false, true},
		{"jain", r.Jain, false, r.Done > 0},
		{"throughput", ratio(float64(r.Done), r.End.Seconds()), false, r.End > 0},
		{"find_s", r.Find.For.Seconds(), !r.Find.Over, r.Find.Applies},
		{"recovery_s", r.Recovery.For.Seconds(), !r.Recovery.Over, r.Recovery.Applies},
		{"outage_sent", float64(r.OutageSent), false, r.Outages},
		{"mean_rate", r.MeanRate, false, true},
		{"peak_rate", r.PeakRate, false, true},
		{"peak_over_mean", ratio(r.PeakRate, r.MeanRate), false, r.MeanRate > 0},
		{"return_over_mean", ratio(r.ReturnRate, r.MeanRate), false, r.MeanRate > 0 && r.Recovery.Applies},
		{"watch_use", ratio(float64(r.Watched.Done), r.Watched.Capacity), false, r.Watched.Capacity > 0},
		{"watch_attempts_per_op", ratio(float64(r.Watched.Attempts), float64(r.Watched.Done)), false, r.Watched.Done > 0},
		{"watch_errors", float64(r.Watched.Errors), false, r.Watched.Applies},
		{"watch_jain", r.Watched.Jain, false, r.Watched.Done > 0},
		{"regain_s", r.Regain.For.Seconds(), !r.Regain.Over, r.Regain.Applies},
		{"refused_per_hour", ratio(float64(r.Refused), r.End.Hours()*float64(r.QuotaClients)), false, r.QuotaClients > 0},
		{"quota_share", r.QuotaShare, false, r.QuotaShare > 0},
		r.Interactive.done("interactive_done"),
		r.Background.done("background_done"),
	}
}

// Traces are courses over time, all with the same interval.
type Traces struct {
	// Interval is the time between two samples; 0: there are no traces. Sample i of a rate is the
	// rate from i to i+1 intervals; sample i of another series is its value at the end of that
	// time. The last interval may be cut short.
	Interval time.Duration
	// Series are the courses, all of the same length.
	Series []Series
}

// Series is one course over time.
type Series struct {
	// Name identifies the measured quantity: "requests", "retries", "successes", "refusals", "failures" and
	// "timeouts" are rates, a second; "in_flight" is the attempts that clients wait for, "concurrency" the
	// requests that the server has, "waiting" the operations in a limiter's queue or backing off; "cwnd" and
	// "ssthresh" are the windows, summed up over the limiters, only with a window.
	Name string
	// Unit is "1/s", "requests", "operations" or "attempts".
	Unit string
	// Values are the samples.
	Values []float64
}

// Of returns the samples of the series with that name, or nil.
func (t Traces) Of(name string) []float64 {
	for _, s := range t.Series {
		if s.Name == name {
			return s.Values
		}
	}
	return nil
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
	rates // how many these are
)

const (
	inFlight = rates + iota
	concurrency
	waiting
	cwnd
	ssthresh
	traced
)

var traceNames = [traced]struct{ name, unit string }{
	{"requests", "1/s"}, {"retries", "1/s"}, {"successes", "1/s"},
	{"refusals", "1/s"}, {"failures", "1/s"}, {"timeouts", "1/s"},
	{"in_flight", "requests"}, {"concurrency", "requests"}, {"waiting", "operations"},
	{"cwnd", "attempts"}, {"ssthresh", "attempts"},
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
func (t *tracer) traces(e *engine) Traces {
	if t.off {
		return Traces{}
	}
	if e.now > t.next-t.interval || t.counted != e.meter.counts {
		t.sample(e)
	}
	r := Traces{Interval: t.interval}
	for i, v := range t.values {
		if v == nil {
			continue
		}
		if i < rates {
			for j := range v {
				v[j] /= t.interval.Seconds()
			}
		}
		r.Series = append(r.Series, Series{traceNames[i].name, traceNames[i].unit, v})
	}
	return r
}
