package sim

import (
	"slices"
	"time"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// The words of Result.Ended.
const (
	endedDone    = "done"
	endedHorizon = "horizon"
	endedEvents  = "events"
	endedStopped = "stopped"
)

// Result is the result of one run. An operation is born when a client wants it done, and takes one or more
// attempts. It ends with a success, or is given up. Times are virtual.
type Result struct {
	// Ended is the reason of the end: "done", every operation was done or given up; "horizon", the virtual time was
	// up; "events", there were too many events; "stopped", by Scenario.Stop.
	Ended string
	// End is the virtual time of the end, Events the number of events.
	End    time.Duration
	Events int

	// Operations is the number of operations that were born, Done and GivenUp the numbers that were done and given
	// up. The others were under way at the end.
	Operations, Done, GivenUp int
	// Attempts is the number of requests that were sent. Done is also the number of attempts that succeeded.
	// Refused, Failed and TimedOut are the numbers of attempts that ended with an overload answer, another error,
	// and no answer in time. The other attempts were under way at the end.
	Attempts, Refused, Failed, TimedOut int
	// Rejected is the number of times that a budget, a throttle or carrier sense refused an attempt.
	Rejected int

	// Makespan is the time when the last operation was done; a lower bound if Done is less than Operations.
	Makespan time.Duration
	// Optimum is the makespan of a clairvoyant client: each of its operations arrives just when the server has
	// room. It is 0 without a number of operations, or if that run does not end either.
	Optimum time.Duration

	// Interval is the time between two samples of the traces; 0: there are no traces.
	Interval time.Duration
	// Traces are series over time, of equal length, by name. "requests", "retries", "successes", "refusals",
	// "failures" and "timeouts" are rates a second: sample i is the rate from i to i+1 intervals. Sample i of other
	// traces is the value at the end of that time. "concurrency" is the number of requests at the server. "cwnd"
	// and "ssthresh" are the sums over the limiters, only with a window. The last interval may be cut short.
	Traces map[string][]float64

	// Shadow is what the limiters would have held while they only watched (Window.Shadow).
	Shadow limiter.Shadow

	measures []Measure
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

// Measures are the numbers of the result of Run, always the same and in the same order.
func (r Result) Measures() []Measure { return slices.Clone(r.measures) }

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
	concurrency = rates + iota
	cwnd
	ssthresh
	traced
)

var traceNames = [traced]string{
	"requests", "retries", "successes", "refusals", "failures", "timeouts",
	"concurrency", "cwnd", "ssthresh",
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
	look(concurrency, float64(e.server.concurrency()))
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
