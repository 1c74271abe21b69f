package sim

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

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

// maxSamples is the most samples of a series.
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

// tracer takes the traces.
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
