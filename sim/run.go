package sim

import (
	"errors"
	"time"

	loop "github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/internal/policy"
)

// Run plays the scenario once, with one strategy and one seed. The error joins a [FieldError] for each field of
// the scenario or the strategy that is wrong.
func Run(s Scenario, st Strategy, seed uint64) (Result, error) {
	s.Strategies = nil // only this one runs
	if err := errors.Join(validate(s, ""), validate(st, "strategy")); err != nil {
		return Result{}, err
	}
	s = s.WithDefaults()
	e := newEngine(s, st, seed)
	e.run()
	r := e.meter.result(e)
	r.Seed = seed
	if r.Optimum = s.Optimum; r.Optimum == 0 && s.Clients.Operations > 0 {
		r.Optimum = optimum(s, seed)
	}
	return r, nil
}

// engine is one run: virtual time, its events, and all that take part.
type engine struct {
	scenario Scenario
	strategy Strategy
	// clairvoyant makes requests wait at the server for as long as they must, without refusals.
	clairvoyant bool

	now    time.Duration
	queue  calendar
	random random
	ended  string
	events int

	attempts   pool[attempt]
	operations pool[operation]
	parties    []*party
	clients    []client
	// decide is the policy of the strategy's Retry; nil without one.
	decide func(loop.Failure) loop.Decision
	server server
	born   arrivals
	meter  meter
}

// stopEvery is after how many events Scenario.Stop is asked.
const stopEvery = 4096

func newEngine(s Scenario, st Strategy, seed uint64) *engine {
	e := &engine{scenario: s, strategy: st, random: newRandom(seed)}
	if b := st.Retry.Delays(); b != nil {
		e.decide = policy.Rules{
			MaxAttempts: st.Retry.Attempts, Backoff: b, MaxRetryAfter: core.DefaultMaxRetryAfter, Rand: e.random,
		}.Decide
	}
	e.clients = make([]client, s.Clients.Count)
	e.meter.init(s, st.Window.on())
	e.server.init(e, s.Server)
	for i := range e.clients {
		if len(e.parties) == 0 || !st.Shared {
			e.parties = append(e.parties, newParty(e, int32(len(e.parties))))
		}
		e.clients[i] = client{id: int32(i), party: e.parties[len(e.parties)-1]}
	}
	e.born.init(e)
	return e
}

// at makes an event happen at that time, or now if that time has passed.
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

// date is now for the parts of the library that want a time.Time.
func (e *engine) date() time.Time { return beginning.Add(e.now) }

func (e *engine) run() {
	for e.ended == "" {
		e.step()
	}
}

// step handles the next event, or ends the run.
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

func (e *engine) handle(v event) {
	switch v.kind {
	case bornKind:
		e.born.next(e)
	case burstKind:
		e.born.bursts(e)
	case turnKind:
		e.born.turn(e, &e.clients[v.id])
	case retryKind:
		e.retried(e.operations.at(v.id))
	case wakeKind:
		e.drain(e.parties[v.id])
	case outageKind:
		e.server.outage(e)
	case capacityKind:
		e.server.changed(e, v.id)
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

// attempted handles the events of one attempt.
func (e *engine) attempted(v event, a *attempt) {
	switch v.kind {
	case arriveKind:
		e.server.arrived(e, a)
	case admitKind:
		e.server.admitted(e, a)
	case timeoutKind:
		e.timedOut(a)
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
