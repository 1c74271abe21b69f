package sim

import (
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/line"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// party is the library's part of a client, or of all clients together.
type party struct {
	id int32
	// core is the gate of the limiter, or nil, and waiting its queue. reached: the service has answered.
	core    *limiter.Gate
	waiting line.Line[*operation]
	reached bool
	// wake is the time when the core must be looked at again.
	wake time.Duration
	// budget and throttle are the guards, or nil.
	budget   *retry.Budget
	throttle *throttle.Throttle
}

type client struct {
	id int32
	*party
	// left is the number of operations that it may still bear, negative: no end.
	left int
	// grid is the time of the next operation of a client of jitteredTime or jitteredSlip.
	grid time.Duration
	// done is the number of operations that were done, and last the time of the last one.
	done int
	last time.Duration
}

type operation struct {
	id     int32
	client *client
	wait   line.Waiter[*operation]
	// run has its failures in a row.
	run limiter.Run
	// born is the time when it was born, sent when its first attempt was sent, negative before, and last when the latest was.
	born, sent, last time.Duration
	// flying is its latest attempt, negative before the first.
	flying int32
	// failures is the number of attempts that failed, and waited the backoff's own wait after the last one, without a
	// Retry-After: loop.Failure's Last.
	failures int
	waited   time.Duration
	// number counts the operations of the run from 0, in the order of their birth; -1 when it is over.
	number     int
	background bool
}

// phase is the place of an attempt; 0: on its way to the server, or in its backlog.
type phase uint8

const (
	queued   phase = iota + 1 // it waits at the server
	serving                   // it is being served
	refusing                  // an error is on its way
)

// attempt is one request. It lasts as long as its client waits for it or the server has it.
type attempt struct {
	// op is its operation while the client waits: the operation may end before the server has served it.
	op     *operation
	client int32
	id     int32
	gen    uint32
	ticket window.Ticket
	// number and background are the operation's; tries is the number of its attempts that failed before.
	number, tries int
	background    bool
	// waited: the client waits for the answer. held: it is under way or at the server.
	waited, held bool
	phase        phase
	// place is its index in server.serving.
	place int
	// began is the time when the service began, takes the service time.
	began, takes time.Duration
	// means, final, retryAfter and reports are the answer to be; final is why the operation ends with an error.
	means      answer.Meaning
	final      error
	retryAfter time.Duration
	reports    []answer.Quota
}

func newParty(e *engine, id int32) *party {
	p := &party{id: id}
	if w := e.strategy.Window; w.on() {
		law := w.MakeLaw()
		if e.fleet != nil {
			law = e.fleet.law(id, law)
		}
		gate := checked(limiter.NewGate(law, w.settings(e.random.Rand)))
		p.core = &gate
	}
	if share := e.strategy.Budget; share > 0 {
		p.budget = checked(retry.NewBudget(retry.BudgetConfig{Share: share}))
	}
	if k := e.strategy.Throttle; k > 0 {
		p.throttle = checked(throttle.New(throttle.Config{K: k, Rand: e.random.Rand}))
	}
	return p
}

// checked is for values whose settings were checked before.
func checked[T any](v T, err error) T {
	if err != nil {
		panic("sim: " + err.Error())
	}
	return v
}

func (e *engine) bear(c *client) {
	id, op := e.operations.take()
	*op = operation{id: id, client: c, born: e.now, sent: -1, flying: -1, number: e.meter.Operations}
	op.wait.Value = op
	op.background = e.scenario.Clients.background(op.number)
	e.meter.born(op)
	if d := e.scenario.Clients.Deadline; d > 0 {
		e.after(d, leaveKind, id, uint32(op.number))
	}
	switch {
	case !e.admitted(op):
	case c.core == nil:
		e.try(op)
	default:
		c.waiting.Push(e.waits(op))
		e.drain(c.party)
	}
}

// admitted asks the guards about an operation's next attempt, and gives it up if they refuse: before the delay that
// precedes the attempt, as a loop.Runner does, and the budget last.
func (e *engine) admitted(op *operation) bool {
	p := op.client.party
	if (p.throttle == nil || p.throttle.AdmitAt(e.now, tag.Critical) == nil) &&
		(p.budget == nil || p.budget.AdmitAt(e.now, op.failures+1) == nil) {
		return true
	}
	e.meter.Rejected++
	e.givenUp(op)
	return false
}

// drain sends the operations that the limiter admits, and arms its timer.
func (e *engine) drain(p *party) {
	for e.fleet == nil || e.fleet.may(p) {
		w := e.turn(p)
		t, ok := p.core.Next(e.now, p.waiting.Len())
		if !ok {
			break
		}
		p.waiting.Went(w)
		e.send(w.Value, t)
	}
	if at, ok := p.core.Deadline(p.waiting.Len()); ok && at != p.wake {
		p.wake = at
		e.after(e.late(p.wake-e.now), wakeKind, p.id, 0)
	}
}

func (e *engine) try(op *operation) {
	if e.server.free(e.now) < e.strategy.Sense {
		e.meter.Rejected++
		if t := op.client.throttle; t != nil {
			t.EndedAt(e.now, tag.Critical, 0)
		}
		e.failed(op, verdict.Verdict{Meaning: answer.Refused})
		return
	}
	e.send(op, window.Ticket{})
}

func (e *engine) send(op *operation, t window.Ticket) {
	id, a := e.attempts.take()
	*a = attempt{
		op: op, client: op.client.id, id: id, gen: a.gen, ticket: t,
		number: op.number, tries: op.failures, background: op.background, waited: true, held: true,
	}
	e.meter.sent(e, op.sent >= 0)
	if e.fleet != nil {
		e.fleet.members[op.client.id].sent++
	}
	if op.last, op.flying = e.now, id; op.sent < 0 {
		op.sent = e.now
	}
	e.after(e.random.spread(e.scenario.Server.Connect, e.scenario.Server.ConnectSpread), arriveKind, id, a.gen)
	if d := e.scenario.Clients.Timeout; d > 0 {
		e.after(e.late(d), timeoutKind, id, a.gen)
	}
}

// answered: the server has answered an attempt. A client that stands still reads the answer later.
func (e *engine) answered(a *attempt) {
	a.held = false
	switch {
	case !a.waited || e.server.lost(e):
		e.settled(a)
	case e.now < e.stopped:
		e.at(e.stopped, readKind, a.id, a.gen)
	default:
		e.read(a)
	}
}

func (e *engine) read(a *attempt) {
	a.waited, a.op.client.reached = false, true
	if c := a.op.client; c.core != nil && !e.strategy.Window.NoQuota {
		c.core.Reported(e.now, a.ticket, answer.Head{Refused: a.means == answer.Refused, RetryAfter: a.retryAfter, Reports: a.reports})
	}
	v := verdict.Verdict{Meaning: a.means, Wait: a.retryAfter, Reason: a.final}
	if c := a.op.client; c.core != nil && a.final == errForbidden {
		if blocked, _ := c.core.Denied(e.now, a.ticket, a.tries > 0); blocked {
			v.Meaning, v.Reason = answer.Refused, nil
		}
	}
	e.ending(a, v)
	e.settled(a)
}

func (e *engine) timedOut(a *attempt) {
	if a.waited {
		a.waited = false
		e.ending(a, verdict.Verdict{Meaning: answer.Slow})
		e.settled(a)
	}
}

// settled frees an attempt that neither the client nor the server has any longer.
func (e *engine) settled(a *attempt) {
	if !a.waited && !a.held {
		a.gen++
		a.op = nil
		e.attempts.give(a.id)
	}
}

func (e *engine) ending(a *attempt, v verdict.Verdict) {
	o := v.Outcome()
	e.meter.ended(e, o)
	op, c := a.op, a.op.client
	if c.core != nil {
		e.heard(a, v)
	}
	if c.throttle != nil {
		c.throttle.EndedAt(e.now, tag.Critical, o)
	}
	if o == window.Success {
		c.done++
		c.last = e.now
		e.meter.done(e, op)
		e.over(op)
	} else {
		e.failed(op, v)
	}
	if c.core != nil {
		e.drain(c.party)
	}
}

// heard: the limiter hears the end of an attempt, as a Limiter does. A failure that is no refusal is a 500.
func (e *engine) heard(a *attempt, v verdict.Verdict) {
	op, c, o := a.op, a.op.client, v.Outcome()
	failure := v.Meaning == answer.Passing
	if failure && c.reached {
		o = window.Unclear
	}
	if v.Retry() && c.reached {
		c.core.Failed(e.now, a.ticket, &op.run, o, failure, c.waiting.Flow())
	}
	c.core.Answered(e.now, a.ticket, c.core.Heard(&op.run, o), v.Wait)
}
