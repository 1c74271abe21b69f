package aimd

import "math"

// pulse tells whether the service is slower than it can be.
type pulse struct {
	// best are the least means of a batch in this span and the one before it, which
	// began at since. None is there before the first batch: the first answers of a
	// burst are its quickest.
	best  [2]float64
	since float64
	// sum is that of the n round trips of a batch, which began at began.
	sum, began float64
	n          int
	// slow and long are how many in a row were; the first that was long came at lag.
	slow, long int
	lag        float64
}

// beat tells whether the last answers all were slow and, at the end of a batch, whether
// they were so slow, for a round trip, that the window must shrink. A pause of our own
// process makes all that fly late, but those that come next are not.
func (l *pulse) beat(t *tuning, now, rtt, trip float64) (slow, long bool) {
	best := min(l.best[0], l.best[1])
	if l.slow++; rtt <= t.slow*best {
		l.slow = 0
	}
	if l.long++; rtt <= t.long*best {
		l.long = 0
	} else if l.long == 1 {
		l.lag = now
	}
	if l.n == 0 {
		l.began = now
	}
	l.n++
	l.sum += rtt
	if l.n >= t.batch && now-l.began >= trip {
		if now-l.since > t.age {
			l.best, l.since = [2]float64{l.best[1], math.Inf(1)}, now
		}
		l.best[1] = min(l.best[1], l.sum/float64(l.n))
		l.n, l.sum = 0, 0
		long = l.long >= t.run && now-l.lag >= trip
	}
	return l.slow >= t.run, long
}
