package sim

import (
	"time"

	loop "github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/budget"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/internal/grid"
	"github.com/aimd-go/aimd/internal/policy"
	"github.com/aimd-go/aimd/internal/rejection"
	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// operation is what a client wants done once.
type operation struct {
	id     int32
	client *client
	item   queue.Item[*operation]
	// born is when, and sent when its first attempt was, negative before.
	born, sent time.Duration
	// failures is how many times it failed, and waited the backoff's own wait
	// after the last, without what Retry-After added: loop.Failure's Last.
	failures int
	waited   time.Duration
	// number counts the operations of the run from 0, in the order of their birth.
	number int
	// background: the operation is background work, not interactive.
	background bool
}

// party is what a client has of the library, by itself or with all others.
type party struct {
	id int32
	// core is the limiter; nil: none.
	core *core.Core[*operation]
	// wake is when the core is to be looked at again.
	wake time.Duration
	// budget and throttle are the guards; nil: none.
	budget   *budget.Core
	throttle *rejection.Core
}

// client is one of those that ask.
type client struct {
	id int32
	*party
	// left is how many operations it may still bear, negative: no end.
	left int
	// schedule is that of a client of jitteredTime, grid the time of one of
	// jitteredSlip.
	schedule *grid.Core
	grid     time.Duration
	// done is how many operations were done, the last of them at the time last.
	done int
	last time.Duration
}

func newParty(e *engine, id int32) *party {
	p := &party{id: id}
	if w := e.strategy.Window; w.on() {
		p.core = checked(core.New[*operation](w.MakeLaw(), w.settings(e.random.Rand)))
	}
	if b := e.strategy.Budget; b.Share > 0 {
		p.budget = checked(budget.New(b.settings()))
	}
	if t := e.strategy.Throttle; t.K > 0 {
		p.throttle = checked(rejection.New(t.settings(e.random.Rand)))
	}
	return p
}

// checked is for values whose settings were checked before.
func checked[T any](v T, err error) *T {
	if err != nil {
		panic("sim: " + err.Error())
	}
	return &v
}

// Events.

// bear makes a new operation for a client.
func (e *engine) bear(c *client) {
	id, op := e.operations.take()
	*op = operation{id: id, client: c, born: e.now, sent: -1, number: e.meter.births}
	op.background = e.scenario.Clients.background(op.number)
	op.item.Value = op
	e.meter.born(op)
	switch {
	case !e.admitted(op):
		e.giveUp(op)
	case c.core == nil:
		e.try(op)
	default:
		c.core.Queued(&op.item)
		e.drain(c.party)
	}
}

// admitted asks the guards about an operation's next attempt: before the delay
// that precedes it, as a run.Runner does, and the budget last.
func (e *engine) admitted(op *operation) bool {
	now := epoch.Add(e.now)
	p := op.client.party
	if p.throttle != nil && !p.throttle.Asked(now, tag.Critical) {
		return false
	}
	switch {
	case p.budget == nil:
		return true
	case op.failures == 0:
		p.budget.Sent(now)
		return true
	case p.budget.Asked(now):
		return true
	}
	if p.throttle != nil {
		p.throttle.Ended(now, tag.Critical, 0)
	}
	return false
}

// giveUp ends an operation whose attempt the guards refused.
func (e *engine) giveUp(op *operation) {
	e.meter.rejected++
	e.meter.givenUp++
	e.over(op)
}

// drain sends what the limiter lets go, and arms its timer.
func (e *engine) drain(p *party) {
	for i, t := p.core.Next(e.now); i != nil; i, t = p.core.Next(e.now) {
		e.send(i.Value, t)
	}
	if at, ok := p.core.Deadline(); ok && at != p.wake {
		p.wake = at
		e.after(e.late(p.wake-e.now), wakeKind, p.id, 0)
	}
}

// try sends an attempt of an operation that no limiter holds back.
func (e *engine) try(op *operation) {
	if s := e.strategy.Sense; s.Free > 0 && e.server.free(e.now) < s.Free {
		e.meter.rejected++
		if t := op.client.throttle; t != nil {
			t.Ended(epoch.Add(e.now), tag.Critical, 0)
		}
		e.failed(op, window.Overload, 0)
		return
	}
	e.send(op, window.Ticket{})
}

// ending: an attempt has ended for its client.
func (e *engine) ending(a *attempt, o window.Outcome, retryAfter time.Duration) {
	e.meter.ended(e.now, o)
	op, c := a.op, a.op.client
	if c.core != nil {
		c.core.Answered(e.now, a.ticket, o, retryAfter)
	}
	if c.throttle != nil {
		c.throttle.Ended(epoch.Add(e.now), tag.Critical, o)
	}
	if o == window.Success {
		c.done++
		c.last = e.now
		e.meter.done(e, op)
		e.over(op)
	} else {
		e.failed(op, o, retryAfter)
	}
	if c.core != nil {
		e.drain(c.party)
	}
}

// failed: an operation's attempt failed, or was not even sent.
func (e *engine) failed(op *operation, o window.Outcome, retryAfter time.Duration) {
	op.failures++
	d, again := e.delay(op, o, retryAfter)
	if !again {
		e.meter.givenUp++
		e.over(op)
		return
	}
	if !e.admitted(op) {
		e.giveUp(op)
		return
	}
	e.after(e.late(d), retryKind, op.id, 0)
}

// delay is how long an operation waits before its next attempt, and whether
// there is one.
func (e *engine) delay(op *operation, o window.Outcome, retryAfter time.Duration) (time.Duration, bool) {
	since := op.sent
	if since < 0 { // carrier sense kept back every attempt so far
		since = op.born
	}
	f := loop.Failure{
		Attempt: op.failures, Last: op.waited, Elapsed: e.now - since,
		Verdict: loop.Verdict{Outcome: o, Retry: true, RetryAfter: retryAfter},
	}
	s := e.strategy.Retry
	var decide func(loop.Failure) loop.Decision
	if e.backoff != nil {
		decide = policy.Rules{
			MaxAttempts: s.Attempts, Backoff: e.backoff, RetryAfterMax: core.DefaultRetryAfterMax, Rand: e.random,
		}.Decide
		if !s.RetryAfter { // a client that does not read it
			f.Verdict.RetryAfter = 0
		}
	}
	var pacing run.Pacing
	if op.client.core != nil {
		pacing = op.client.core
	}
	d := run.Decide(f, decide, pacing, s.Attempts)
	op.waited = d.Delay
	return max(d.Delay, d.RetryAfter), d.Retry
}

// retried: an operation's wait is over.
func (e *engine) retried(op *operation) {
	if c := op.client; c.core != nil {
		c.core.Rejoined(&op.item)
		e.drain(c.party)
		return
	}
	e.try(op)
}

// over: an operation was done or given up.
func (e *engine) over(op *operation) {
	c := op.client
	e.operations.give(op.id)
	e.born.finished(e, c)
}
