package sim

import (
	"strconv"
	"time"

	"github.com/aimd-go/aimd/answer"
)

type server struct {
	conf Server
	// slots is the capacity, 0: no bound; service is the mean service time.
	slots   int
	service time.Duration
	// came is the number of requests that met the failures, latest the time of the last one.
	came   int
	latest time.Duration
	// serving are the requests in service, and busy is how many refusals keep a slot.
	serving []int32
	busy    int
	// In order: waiting are the requests in the queue, backlog the requests that came while the server was stopped.
	waiting, backlog []int32
	// tokens are the tokens of the bucket at the time filled.
	tokens float64
	filled time.Duration
	// passed are the requests that count in the sliding window.
	passed   times
	accounts []account
	blocks   blocks
	// jammed is until when every request fails.
	jammed time.Duration
	// down is the present outage, or nil; nextOutage is the one after.
	down       *Outage
	nextOutage int
	station    station
}

func (s *server) init(e *engine, conf Server) {
	s.conf = conf
	s.slots, s.service = conf.Slots, conf.Service
	s.latest = -maxDuration
	s.tokens = conf.Rate.Burst
	s.station.init(conf)
	for i, q := range conf.Quotas {
		s.accounts = append(s.accounts, account{conf: q, name: strconv.Itoa(i), left: q.Limit, slice: q.perSecond() * q.Slice.Seconds()})
	}
	for i, c := range conf.Capacity {
		e.at(c.At, capacityKind, int32(i), 0)
	}
	for _, o := range conf.Outages {
		e.at(o.From, outageKind, 0, 0)
		e.at(o.end(), outageKind, 0, 0)
	}
}

func (s *server) arrived(e *engine, a *attempt) {
	switch {
	case s.lost(e):
		a.held = false
		e.settled(a)
	case s.down != nil && (s.down.Kind == silentWord || e.clairvoyant):
		s.backlog = append(s.backlog, a.id)
	case s.conf.Block.For > 0 && s.blocked(e, a):
	case s.down != nil, e.now < s.jammed:
		s.refuse(e, a, answer.Refused)
	case s.fails(e, a):
		s.failed(e, a)
	case len(s.accounts) > 0 && !s.quotas(e, a):
		if !e.clairvoyant {
			s.refuse(e, a, answer.Refused)
		}
	case s.conf.Rate.PerSecond > 0 && !s.allowed(e, a):
	case s.conf.Jam > 0 && len(s.serving) >= s.slots:
		s.collided(e, a)
	default:
		s.admitted(e, a)
	}
}

func (s *server) fails(e *engine, a *attempt) bool {
	f := s.conf.Failures
	rest := e.now - s.latest
	s.came++
	s.latest = e.now
	switch {
	case !f.at(e.now):
		return false
	case f.Every > 0 && s.came%f.Every == 0, a.tries < f.First, f.Rest > 0 && rest > f.Rest:
		return true
	case f.Sticky:
		return float64(a.client) < f.Rate*float64(len(e.clients))
	}
	return f.Rate > 0 && e.random.Float64() < f.Rate
}

func (s *server) failed(e *engine, a *attempt) {
	switch {
	case s.conf.Failures.Lost:
		a.held = false
		e.settled(a)
	case s.conf.Failures.Overload:
		s.refuse(e, a, answer.Refused)
	default:
		s.refuse(e, a, answer.Passing)
	}
}

// admitted: only the slots are left to pass.
func (s *server) admitted(e *engine, a *attempt) {
	taken := s.taken()
	switch {
	case s.conf.Reserve > 0 && a.background && float64(taken) >= float64(s.slots)*(1-s.conf.Reserve):
		s.refuse(e, a, answer.Refused)
	case s.slots == 0 || taken < s.slots:
		s.begin(e, a)
	case len(s.waiting) < s.conf.Queue:
		a.phase = queued
		s.waiting = append(s.waiting, a.id)
	default:
		s.refuse(e, a, answer.Refused)
	}
}

func (s *server) begin(e *engine, a *attempt) {
	a.phase, a.began = serving, e.now
	mean := s.service
	if s.conf.Blocks.large(a.number) {
		mean = s.conf.Blocks.Service
	}
	a.takes = e.random.spread(mean, s.conf.Spread)
	a.place = len(s.serving)
	s.serving = append(s.serving, a.id)
	s.station.begin(e, a)
}

func (s *server) served(e *engine, a *attempt) {
	last := s.serving[len(s.serving)-1]
	s.serving[a.place], e.attempts.at(last).place = last, a.place
	s.serving = s.serving[:len(s.serving)-1]
	a.means, a.retryAfter = answer.Success, 0
	s.refill(e)
	e.answered(a)
}

// refuse makes an error of an attempt, which is ready after the time of a refusal.
func (s *server) refuse(e *engine, a *attempt, means answer.Meaning) {
	r := s.conf.Refusal
	takes := e.random.spread(r.Time, r.Spread)
	a.phase, a.means, a.retryAfter = refusing, means, 0
	if r.Busy {
		s.busy++
	}
	if means == answer.Refused {
		if b := s.conf.Block; b.Refused && e.now >= s.blocks.end {
			s.blocks.excess(b, e.now)
		}
		a.retryAfter = r.RetryAfter
		if s.down != nil && s.down.RetryAfter {
			a.retryAfter = s.down.end() - e.now
		}
		if s.conf.Block.RetryAfter && e.now < s.blocks.end {
			a.retryAfter = s.blocks.end - e.now
		}
		if a.retryAfter > 0 && r.RetryAfterJitter > 0 {
			a.retryAfter += e.random.upTo(r.RetryAfterJitter)
		}
	}
	e.after(takes, refusedKind, a.id, a.gen)
}

func (s *server) refused(e *engine, a *attempt) {
	if s.conf.Refusal.Busy {
		s.busy--
		s.refill(e)
	}
	e.answered(a)
}

func (s *server) taken() int { return len(s.serving) + s.busy }

func (s *server) refill(e *engine) {
	for !s.station.emptying && len(s.waiting) > 0 && s.taken() < s.slots {
		first := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.begin(e, e.attempts.at(first))
	}
}

func (s *server) outage(e *engine) {
	s.station.settle(e)
	if s.down == nil {
		s.down = &s.conf.Outages[s.nextOutage]
		s.nextOutage++
		return
	}
	most := s.down.Backlog
	s.down = nil
	s.station.check(e)
	came := s.backlog
	s.backlog = nil
	for i, id := range came {
		a := e.attempts.at(id)
		if most > 0 && i >= most && !a.waited {
			a.held = false
			e.settled(a)
			continue
		}
		s.arrived(e, a)
	}
}

func (s *server) changed(e *engine, i int32) {
	c := s.conf.Capacity[i]
	if c.Slots > 0 {
		s.slots = c.Slots
		s.refill(e)
	}
	if c.Service > 0 {
		s.service = c.Service
	}
}

// collided: one request more than the slots, and all are lost.
func (s *server) collided(e *engine, a *attempt) {
	s.jammed = e.now + s.conf.Jam
	lost := s.serving
	s.serving = nil
	s.station.clear()
	for _, id := range lost {
		s.refuse(e, e.attempts.at(id), answer.Refused)
	}
	s.refuse(e, a, answer.Refused)
}

func (s *server) stopped() bool { return s.down != nil && s.down.Kind == silentWord }

// lost reports whether requests and answers vanish. A clairvoyant loses no request.
func (s *server) lost(e *engine) bool {
	return s.down != nil && s.down.Kind == lostWord && !e.clairvoyant
}

func (s *server) concurrency() int {
	waiting := len(s.backlog)
	if s.down != nil && s.down.Backlog > 0 {
		waiting = min(waiting, s.down.Backlog)
	}
	return s.taken() + len(s.waiting) + waiting
}

// free is the share of the server that is free, for carrier sense.
func (s *server) free(now time.Duration) float64 {
	switch {
	case s.down != nil || now < s.jammed:
		return 0
	case s.slots == 0:
		return 1
	}
	return max(0, 1-float64(s.taken())/float64(s.slots))
}
