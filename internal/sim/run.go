package sim

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	loop "github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/retry"
)

// Run plays the scenario once, with one strategy and one seed. The error joins a setting.Error for each
// field of the scenario or the strategy that is wrong.
func Run(s Scenario, st Strategy, seed uint64) (Result, error) {
	if err := errors.Join(append(problems("", s), problems("strategy", st)...)...); err != nil {
		return Result{}, err
	}
	s = s.withDefaults()
	if s.Optimum == 0 && s.Clients.Operations > 0 {
		s.Optimum = optimum(s, seed)
	}
	e := newEngine(s, st, seed)
	e.run()
	return e.meter.result(e), nil
}

type engine struct {
	scenario Scenario
	strategy Strategy
	// clairvoyant makes requests wait at the server for as long as they must, without refusals.
	clairvoyant bool

	now time.Duration
	// stopped is the end of the clients' last stop.
	stopped time.Duration
	queue   calendar
	random  random
	ended   string
	events  int

	attempts   pool[attempt]
	operations pool[operation]
	parties    []*party
	clients    []client
	// decide is the policy of the strategy's Retry; nil without one.
	decide func(loop.Failure) loop.Decision
	server server
	born   arrivals
	meter  meter
	// fleet is nil without a Fleet.
	fleet *fleets
}

// stopEvery is after how many events Scenario.Stop is asked.
const stopEvery = 4096

func newEngine(s Scenario, st Strategy, seed uint64) *engine {
	e := &engine{scenario: s, strategy: st, random: newRandom(seed)}
	if st.Retry != nil {
		policy := checked(retry.New(retry.Config{
			MaxAttempts: cmp.Or(st.Attempts, -1), Backoff: *st.Retry, Rand: e.random, If: func(error) bool { return true },
		}))
		e.decide = func(f loop.Failure) loop.Decision { return policy.Decide(context.Background(), f) }
	}
	e.clients = make([]client, s.Clients.Count)
	if st.Fleet != nil {
		e.fleet = newFleet(e, st.Fleet)
	}
	e.meter.init(s, st.Window.on())
	e.server.init(e, s.Server)
	for i := range e.clients {
		if len(e.parties) == 0 || !st.Shared {
			e.parties = append(e.parties, newParty(e, int32(len(e.parties))))
		}
		e.clients[i] = client{id: int32(i), party: e.parties[len(e.parties)-1]}
	}
	if e.fleet != nil {
		e.fleet.begin()
	}
	if d := st.Window.Shadow; d > 0 {
		for _, p := range e.parties {
			e.at(d, lightsKind, p.id, 0)
		}
	}
	e.born.init(e)
	e.stopLater(0)
	return e
}

func (e *engine) at(t time.Duration, k kind, id int32, gen uint32) {
	e.queue.push(newEvent(max(t, e.now), k, id, gen))
}

// after makes an event happen after a while. No sum of a time within the horizon and a duration overflows.
func (e *engine) after(d time.Duration, k kind, id int32, gen uint32) {
	e.at(e.now+min(d, maxDuration), k, id, gen)
}

// late is the time that a client's timer of d takes.
func (e *engine) late(d time.Duration) time.Duration {
	if most := e.scenario.Clients.Lateness; most > 0 && d > 0 {
		d = min(d, maxDuration) + e.random.upTo(most)
	}
	return d
}

func (e *engine) run() {
	for e.ended == "" {
		e.step()
	}
}

func (e *engine) step() {
	next, ok := e.queue.pop()
	switch {
	case !ok || next.at() > e.scenario.Horizon:
		e.ended = endedHorizon
		e.meter.tracer.passed(e, e.scenario.Horizon)
		e.now = e.scenario.Horizon
		return
	case e.events >= e.scenario.MaxEvents:
		e.ended = endedEvents
		return
	}
	e.meter.tracer.passed(e, next.at())
	e.now = next.at()
	e.events++
	e.handle(next)
	switch {
	case e.born.over() && e.meter.over():
		e.ended = endedDone
	case e.events%stopEvery == 0 && e.scenario.Stop != nil && e.scenario.Stop():
		e.ended = endedStopped
	}
}

func (e *engine) stopLater(from time.Duration) {
	if c := e.scenario.Clients; c.StopFor > 0 {
		e.at(from+stretched(c.StopEvery, 0.5+e.random.Float64()), stopKind, 0, 0)
	}
}

// stands reports whether an event is the clients' own, and they stand still.
func (e *engine) stands(k kind) bool {
	return e.now < e.stopped && slices.Contains([]kind{bornKind, burstKind, turnKind, retryKind, wakeKind, timeoutKind, leaveKind}, k)
}

func (e *engine) handle(v event) {
	if e.stands(v.kind) {
		e.at(e.stopped, v.kind, v.id, v.gen)
		return
	}
	switch v.kind {
	case bornKind:
		e.born.next(e)
	case burstKind:
		e.born.bursts(e)
	case turnKind:
		e.born.turn(e, &e.clients[v.id])
	case retryKind, leaveKind:
		op := e.operations.at(v.id)
		switch {
		case uint32(op.number) != v.gen: // it is over
		case v.kind == leaveKind:
			e.leaves(op)
		default:
			e.retried(op)
		}
	case lightsKind:
		e.lights(e.parties[v.id])
	case wakeKind:
		e.drain(e.parties[v.id])
	case reportKind, storeKind, replyKind, tickKind:
		e.fleet.handle(v)
	case outageKind:
		e.server.outage(e)
	case capacityKind:
		e.server.changed(e, v.id)
	case stopKind:
		e.stopped = e.now + e.scenario.Clients.StopFor
		e.stopLater(e.stopped)
	case checkKind:
		if v.gen == e.server.station.version {
			e.server.station.check(e)
		}
	default:
		if a := e.attempts.at(v.id); a.gen == v.gen {
			e.attempted(v, a)
		}
	}
}

func (e *engine) attempted(v event, a *attempt) {
	switch v.kind {
	case arriveKind:
		e.server.arrived(e, a)
	case admitKind:
		e.server.admitted(e, a)
	case timeoutKind:
		e.timedOut(a)
	case readKind:
		e.read(a)
	case servedKind, refusedKind:
		switch {
		case e.server.stopped():
			// It continues from there when the process does.
			e.at(e.now+e.server.down.For, v.kind, v.id, v.gen)
		case v.kind == refusedKind:
			e.server.refused(e, a)
		case a.phase == serving:
			e.server.served(e, a)
		}
	}
}

// optimum is the makespan of a clairvoyant client: each operation arrives just when the server has room. That is a
// queue without bound in front of a server at its best concurrency. 0: that does not end either.
//
// If the server's time depends on the concurrency, the best fixed concurrency is the best rhythm. Only at the
// end fewer may be better: of some concurrencies the best is taken, within 3% of a search of all (see the test).
func optimum(s Scenario, seed uint64) time.Duration {
	s.NoTraces = true
	s.Clients.Timeout, s.Clients.Deadline, s.Clients.StopFor = 0, 0, 0
	s.Server.Reserve = 0
	var best time.Duration
	for _, most := range s.concurrencies() {
		if d := clairvoyant(s, most, seed); best == 0 || d > 0 && d < best {
			best = d
		}
	}
	return best
}

// concurrencies are the candidates for the clairvoyant, 0: no bound. At a knee these are the best one for a
// long time; more and fewer than that, since the last operations leave sooner the fewer they are; those that do
// all operations in equal rounds; and all at once, since a steep knee has a longest time.
func (s Scenario) concurrencies() []int {
	if s.Server.Knee.At == 0 {
		return []int{0}
	}
	best, n := s.Server.Knee.bestConcurrency(), float64(s.Clients.total())
	if most := s.Server.Slots; most > 0 {
		best = min(best, float64(most))
	}
	if best >= n {
		return []int{0}
	}
	all := []int{int(best), 0}
	for c := best / 1.5; c < 2*best; c *= 1.08 {
		all = append(all, int(c)+1)
	}
	rounds := math.Floor(n / best)
	for k := max(1, rounds-1); k <= rounds+1; k++ {
		all = append(all, int(math.Ceil(n/k)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// clairvoyant is the makespan of the clairvoyant with at most most requests at the server.
func clairvoyant(s Scenario, most int, seed uint64) time.Duration {
	v := &s.Server
	v.Slots = fewest(v.Slots, most)
	v.Capacity = slices.Clone(v.Capacity)
	for i, c := range v.Capacity {
		if c.Slots > 0 {
			v.Capacity[i].Slots = fewest(c.Slots, most)
		}
	}
	v.Queue = math.MaxInt
	v.Jam, v.Failures = 0, Failures{}
	e := newEngine(s, Strategy{}, seed)
	e.clairvoyant = true
	e.run()
	if e.ended != endedDone {
		return 0
	}
	return e.meter.Makespan
}

// fewest is the lesser of two bounds; 0 is no bound.
func fewest(a, b int) int {
	if min(a, b) > 0 {
		return min(a, b)
	}
	return max(a, b)
}
