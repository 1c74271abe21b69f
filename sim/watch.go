package sim

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Watch is a part of a run that is measured by itself: the time after a warm-up,
// or the seconds after a change.
type Watch struct {
	// From is when it begins.
	From time.Duration `yaml:"from"`
	// For is how long it lasts; 0: nothing is watched.
	For time.Duration `yaml:"for"`
}

// Watched is what happened in the time of Scenario.Watch.
type Watched struct {
	// Applies is false without a Watch, or if the run ended before.
	Applies bool
	// Attempts is how many requests were sent in it, Errors how many ended in it
	// without success, and Done how many operations were done in it.
	Attempts, Errors, Done int
	// Capacity is how many operations the server could have served in it, outages
	// or not; 0: no bound.
	Capacity float64
	// Jain is Jain's fairness index of what the clients had done in it, 1/clients
	// to 1; 0 with nothing done.
	Jain float64
}

// watch counts in the time of a Watch.
type watch struct {
	conf Watch
	Watched
	// dones is how many operations of each client were done.
	dones []int
}

func newWatch(s Scenario) watch {
	w := watch{conf: s.Watch}
	if w.conf.For > 0 {
		w.dones = make([]int, s.Clients.Count)
	}
	return w
}

// on reports whether that time is watched.
func (w *watch) on(now time.Duration) bool {
	return now >= w.conf.From && now-w.conf.From < w.conf.For
}

func (w *watch) sent(now time.Duration) {
	if w.on(now) {
		w.Attempts++
	}
}

func (w *watch) ended(now time.Duration, o window.Outcome) {
	if o != window.Success && w.on(now) {
		w.Errors++
	}
}

func (w *watch) done(now time.Duration, client int32) {
	if w.on(now) {
		w.Done++
		w.dones[client]++
	}
}

// watched is what was seen by the end of a run.
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

// capacity is how many operations can be served in that time, 0: no bound.
func (s Server) capacity(from, to time.Duration) float64 {
	sum := 0.0
	for at := from; at < to; {
		next := to
		for _, c := range s.Capacity {
			if c.At > at {
				next = min(next, c.At)
			}
		}
		sum += float64(s.throughput(at) * (next - at).Seconds())
		at = next
	}
	if math.IsInf(sum, 1) {
		return 0
	}
	return sum
}

// lastChange is when the capacity last changed or an outage last ended before the
// end of a run, and false if neither did.
func (s Server) lastChange(end time.Duration) (at time.Duration, changed bool) {
	for _, c := range s.Capacity {
		if c.At < end {
			at, changed = max(at, c.At), true
		}
	}
	for _, o := range s.Outages {
		if o.end() < end {
			at, changed = max(at, o.end()), true
		}
	}
	return at, changed
}
