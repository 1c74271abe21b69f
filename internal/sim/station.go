package sim

import (
	"container/heap"
	"math"
	"time"
)

// station serves requests: it says when each is done. Without a knee an attempt's time is known when it begins.
// With a knee, each change of the concurrency moves the time at which the next attempt is done. One event looks,
// and its version shows whether it is out of date.
type station struct {
	conf Server
	// version is the version of the event that counts, at the time looks.
	version uint32
	looks   time.Duration

	// ages are the attempts at a steep knee, the oldest first; delays are the times of a request at At, At + 1
	// and so on, which grow by the exponent growth.
	ages   []int32
	delays []time.Duration
	growth float64
	// emptying keeps waiting requests out. As one leaves a steep knee, others may be old enough to leave with it;
	// a clairvoyant lets them leave first.
	emptying bool

	// works are the attempts at a linear knee, and begun their number so far. work is the amount that an attempt
	// could have had by the time worked.
	works  works
	begun  int
	work   float64
	worked time.Duration
}

// work is an attempt at a knee, and the work at which it is done.
type work struct {
	done float64
	// nth is its place in the order in which attempts began.
	nth int
	id  int32
}

// works is a heap with the attempt that is done first at its root.
type works []work

func (w works) Len() int { return len(w) }
func (w works) Less(i, j int) bool {
	return w[i].done < w[j].done || w[i].done == w[j].done && w[i].nth < w[j].nth
}
func (w works) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *works) Push(x any)   { *w = append(*w, x.(work)) }
func (w *works) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	*w = (*w)[:last]
	return x
}

const (
	never = time.Duration(math.MaxInt64)
	// missing is the nanoseconds of work that may be missing by rounding.
	missing = 0.5
	// longest is the longest time at a steep knee.
	longest = 24 * time.Hour
)

func (s *station) init(conf Server) {
	s.conf = conf
	s.looks = never
	if k := conf.Knee; k.steep() {
		s.delays = []time.Duration{conf.Service}
		s.growth = logarithm(k.Factor) / k.Scale
	}
}

// begin: an attempt's service begins; it counts in the server already.
func (s *station) begin(e *engine, a *attempt) {
	switch {
	case s.conf.Knee.steep():
		s.ages = append(s.ages, a.id)
		s.look(e)
	case s.conf.Knee.At > 0:
		s.settle(e)
		s.begun++
		heap.Push(&s.works, work{s.work + float64(a.takes), s.begun, a.id})
		s.look(e)
	default:
		e.after(a.takes, servedKind, a.id, a.gen)
	}
}

// check: an attempt may be done by now.
func (s *station) check(e *engine) {
	s.looks = never
	if e.server.stopped() {
		return
	}
	s.settle(e)
	s.emptying = e.clairvoyant
	for {
		a := s.done(e)
		if a == nil {
			break
		}
		e.server.served(e, a)
	}
	if s.emptying {
		s.emptying = false
		e.server.refill(e)
	}
	s.look(e)
}

// done takes an attempt out that is done by now; nil: every attempt needs more time.
func (s *station) done(e *engine) *attempt {
	if len(s.ages) > 0 {
		a := e.attempts.at(s.ages[0])
		if a.began+s.delay(len(s.ages)) <= e.now {
			s.ages = s.ages[1:]
			return a
		}
	}
	if len(s.works) > 0 && s.works[0].done <= s.work+missing {
		return e.attempts.at(heap.Pop(&s.works).(work).id)
	}
	return nil
}

func (s *station) look(e *engine) {
	due := never
	switch {
	case e.server.stopped():
	case len(s.ages) > 0:
		due = e.attempts.at(s.ages[0]).began + s.delay(len(s.ages))
	case len(s.works) > 0:
		left := float64(max(0, s.works[0].done-s.work) * s.conf.Knee.stretch(float64(len(s.works))))
		due = e.now + time.Duration(min(math.Ceil(left-missing/2), float64(maxDuration)))
	}
	if due < s.looks {
		s.looks = due
		s.version++
		e.at(due, checkKind, 0, s.version)
	}
}

// settle adds the work since the last call, during which the concurrency was the same.
func (s *station) settle(e *engine) {
	past := float64(e.now - s.worked)
	s.worked = e.now
	switch {
	case len(s.works) == 0:
		s.work = 0
	case !e.server.stopped():
		s.work += past / s.conf.Knee.stretch(float64(len(s.works)))
	}
}

func (s *station) clear() {
	s.ages = nil
	s.works = s.works[:0]
}

// delay is the text's minDelay * factor ^ ((concurrency - concurrencyLimit) / K).
func (s *station) delay(concurrency int) time.Duration {
	over := max(0, concurrency-s.conf.Knee.At)
	for len(s.delays) <= over && s.delays[len(s.delays)-1] < longest {
		// Each from the first, so that rounding to nanoseconds does not add up.
		s.delays = append(s.delays, min(longest, stretched(s.conf.Service, exponential(float64(len(s.delays))*s.growth))))
	}
	return s.delays[min(over, len(s.delays)-1)]
}
