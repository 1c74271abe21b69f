package race

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/sim"
)

// Result is one row: how a strategy did. Its JSON is what scripts rely on.
type Result struct {
	// Strategy is the strategy's fixed name.
	Strategy string `json:"strategy"`
	// Factor is the share of the window that a cut keeps, 0 for a strategy without a factor.
	Factor float64 `json:"factor"`
	// Operations is how many were to be done, or how many ended if the run was interrupted.
	Operations int `json:"operations"`
	// Attempts counts the requests, Refused the answers 429 and 503.
	Attempts int `json:"attempts"`
	Refused  int `json:"refused"`
	// Lost is how many operations left no trace with the service, or a wrong one.
	Lost int `json:"lost"`
	// MakespanS is the time from the first operation's begin to the last one's end, OptimumS the least that
	// it could be (0: not known), P99S what 99 of 100 successful operations took at most. All in seconds.
	MakespanS float64 `json:"makespan_s"`
	OptimumS  float64 `json:"optimum_s"`
	P99S      float64 `json:"p99_s"`
	// Interrupted and CutOff: the run did not come to its end, by the user or by the time limit.
	Interrupted bool `json:"interrupted,omitempty"`
	CutOff      bool `json:"cut_off,omitempty"`

	// Silent is how many of the lost ones the client took for done.
	Silent int `json:"-"`
	// Reason is why the first of the failed operations failed.
	Reason string `json:"-"`
	// Peak is the most that the service served at a time by its own count; 0: not known.
	Peak    int      `json:"-"`
	Samples []Sample `json:"-"`
}

// TimesOptimum is the makespan over the optimum. It is 0 if the optimum is not known, or if work was lost.
func (r Result) TimesOptimum() float64 {
	if r.OptimumS == 0 || r.Lost > 0 {
		return 0
	}
	return r.MakespanS / r.OptimumS
}

// p99 is the time that 99 of 100 successful operations took at most.
func p99(ends []end) time.Duration {
	var took []time.Duration
	for _, e := range ends {
		if e.state == succeeded {
			took = append(took, e.took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[int(math.Ceil(0.99*float64(len(took))))-1]
}

// seconds is d in seconds to the millisecond.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// Traces returns the samples in the simulator's form, at even intervals, and their end.
// Values between two samples are interpolated.
func Traces(samples []Sample) (sim.Traces, time.Duration) {
	if len(samples) < 2 {
		return sim.Traces{}, 0
	}
	end := samples[len(samples)-1].At
	t := sim.Traces{Interval: max(sampleEvery, end/shownMost)}
	perSecond := 1 / t.Interval.Seconds()
	var accepted, refused float64
	var values [4][]float64
	for at := t.Interval; at <= end; at += t.Interval {
		for samples[1].At < at {
			samples = samples[1:]
		}
		a, b := samples[0], samples[1]
		share := float64(at-a.At) / float64(b.At-a.At)
		between := func(a, b float64) float64 { return a + share*(b-a) }
		nowAccepted, nowRefused := between(float64(a.Accepted), float64(b.Accepted)), between(float64(a.Refused), float64(b.Refused))
		for i, v := range []float64{(nowAccepted - accepted) * perSecond, (nowRefused - refused) * perSecond, between(a.Cwnd, b.Cwnd), between(a.Ssthresh, b.Ssthresh)} {
			values[i] = append(values[i], v)
		}
		accepted, refused = nowAccepted, nowRefused
	}
	for i, name := range []string{"successes", "refusals", "cwnd", "ssthresh"} {
		t.Series = append(t.Series, sim.Series{Name: name, Values: values[i]})
	}
	return t, end
}
