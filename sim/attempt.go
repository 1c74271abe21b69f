package sim

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

// phase is where an attempt is; 0: on its way to the server, or in its backlog.
type phase uint8

const (
	queued   phase = iota + 1 // it waits at the server
	serving                   // it is being served
	refusing                  // an error is on its way
)

// attempt is one request. It lasts as long as its client waits for it or the server has
// it.
type attempt struct {
	// op and client are those it belongs to; op only while the client waits, since an
	// operation may end before the server has served it.
	op     *operation
	client int32
	id     int32
	gen    uint32
	// ticket is that of the limiter.
	ticket window.Ticket
	// number is that of the operation, and tries how many of its attempts failed before.
	number, tries int
	// background is that of the operation, which may have ended.
	background bool
	// waited: the client waits for the answer. held: it is under way or at the server.
	waited, held bool
	phase        phase
	// place is where it stands in server.serving.
	place int
	// began is when the service began, takes how much of it there is.
	began, takes time.Duration
	// outcome and retryAfter are the answer to be.
	outcome    window.Outcome
	retryAfter time.Duration
}

// Events.

// send sends an attempt.
func (e *engine) send(op *operation, t window.Ticket) {
	id, a := e.attempts.take()
	*a = attempt{op: op, client: op.client.id, id: id, gen: a.gen, ticket: t, number: op.number, tries: op.failures, background: op.background, waited: true, held: true}
	e.meter.sent(e, op.sent >= 0)
	if op.sent < 0 {
		op.sent = e.now
	}
	e.after(e.random.spread(e.scenario.Server.Connect, e.scenario.Server.ConnectSpread), arriveKind, id, a.gen)
	if d := e.scenario.Clients.Timeout; d > 0 {
		e.after(e.late(d), timeoutKind, id, a.gen)
	}
}

// answered: the server has answered an attempt.
func (e *engine) answered(a *attempt) {
	a.held = false
	if a.waited && !e.server.lost(e) {
		a.waited = false
		e.ending(a, a.outcome, a.retryAfter)
	}
	e.settled(a)
}

// timedOut: a client has waited long enough.
func (e *engine) timedOut(a *attempt) {
	if a.waited {
		a.waited = false
		e.ending(a, window.Timeout, 0)
		e.settled(a)
	}
}

// settled lets go of an attempt that neither the client nor the server has any more.
func (e *engine) settled(a *attempt) {
	if !a.waited && !a.held {
		a.gen++
		a.op = nil
		e.attempts.give(a.id)
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
			// It goes on where it was when the process continues.
			e.at(v.at+e.server.down.For, v.kind, v.id, v.gen)
		case v.kind == refusedKind:
			e.server.refused(e, a)
		case a.phase == serving:
			e.server.served(e, a)
		}
	}
}
