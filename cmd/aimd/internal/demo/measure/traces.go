package measure

import (
	"time"

	"github.com/aimd-go/aimd/sim"
)

// Traces are the samples as the simulator has its own, at even intervals, and when they
// end. Between two samples all goes on evenly.
func Traces(samples []Sample) (sim.Traces, time.Duration) {
	if len(samples) < 2 {
		return sim.Traces{}, 0
	}
	end := samples[len(samples)-1].At
	t := sim.Traces{Interval: max(sampleEvery, end/maxSamples)}
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
