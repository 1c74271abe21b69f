package viewer

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/limiter"
)

const (
	recently = 10 * time.Second // the time that advice is about
	enough   = 20               // answers, so that a share means something
)

// facts are the base of advice: the samples since the last pause, of ten seconds at most.
type facts struct {
	sample                         // the latest
	before           sample        // the oldest
	answers, refused uint64        // in between
	waits, full      bool          // in half of the samples operations waited, the window was used up
	pause            limiter.Event // the latest
	left             time.Duration // how long it still lasts
}

func (s *series) facts(now time.Time) facts {
	f := facts{sample: s.now}
	var end time.Time
	for _, e := range s.decisions {
		if until := e.Time.Add(e.Wait); e.Kind == limiter.Paused && until.After(end) {
			f.pause, end = e, until
		}
	}
	f.left = max(0, end.Sub(now))
	n, waits, full := 0, 0, 0
	count := func(p sample) {
		f.before = p
		if n++; p.Queued > 0 {
			waits++
		}
		if float64(p.InFlight) >= math.Floor(p.Cwnd) {
			full++
		}
	}
	count(s.now)
	for i := len(s.past) - 1; i >= 0 && now.Sub(s.past[i].at) <= recently && s.past[i].at.After(end); i-- {
		count(s.past[i])
	}
	f.waits, f.full = 2*waits >= n, 2*full >= n
	f.answers = f.Attempts() - f.before.Attempts()
	f.refused = f.Overloads + f.Timeouts - f.before.Overloads - f.before.Timeouts
	return f
}

// slower is the latest latency over the best one, NaN if unknown. By Little's law a
// latency is the number in flight over the answers of a second.
func slower(past []sample) float64 {
	const n = 10 // samples, a second apart
	took, best := math.NaN(), math.Inf(1)
	for j := len(past) - 1; j >= n; j -= n {
		a, b, flying := past[j-n], past[j], 0
		for _, s := range past[j-n+1 : j+1] {
			flying += s.InFlight
		}
		answers := b.Attempts() - a.Attempts()
		if answers < enough || b.at.Sub(a.at) > 2*recently { // no page was open
			continue
		}
		t := float64(flying) * b.at.Sub(a.at).Seconds() / float64(answers)
		if best = min(best, t); j == len(past)-1 {
			took = t
		}
	}
	return took / best
}
