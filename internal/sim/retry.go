package sim

import (
	"time"

	loop "github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/verdict"
)

// failed: an operation's attempt failed, or was not even sent.
func (e *engine) failed(op *operation, v verdict.Verdict) {
	op.failures++
	d, again := e.delay(op, v)
	deadline := e.scenario.Clients.Deadline
	switch {
	case !again, op.background && e.strategy.Interactive, deadline > 0 && e.now+d > op.born+deadline:
		e.givenUp(op)
	case !e.admitted(op):
	default:
		e.after(e.late(d), retryKind, op.id, uint32(op.number))
	}
}

// delay is the time for which an operation waits before its next attempt, and whether there is one.
func (e *engine) delay(op *operation, v verdict.Verdict) (time.Duration, bool) {
	since := op.sent
	if since < 0 { // carrier sense kept back every attempt so far
		since = op.born
	}
	f := loop.Failure{Attempt: op.failures, Last: op.waited, Elapsed: e.now - since, Verdict: v}
	if e.decide != nil && !e.strategy.RetryAfter { // a client that does not read it
		f.Verdict.Wait = 0
	}
	c, most, w := op.client.core, e.strategy.Attempts, loop.Waits{Backoffs: f.Attempt}
	if c != nil && e.decide == nil && op.run.Ends() {
		return 0, false
	}
	// A last failure draws no jitter.
	if again := v.Retry() || e.decide != nil; c != nil && again && (most == 0 || f.Attempt < most) {
		w.Backoffs, w.Backoff, w.Obeyed = c.Waits(f.Attempt, v.Outcome(), v.Wait, false, &op.run)
	}
	d := loop.Limits{Attempts: most}.Decide(f, v.Retry() && c != nil, e.decide, w)
	if d.Delay == 1 { // the least wait of package backoff: none
		d.Delay = 0
	}
	op.waited = d.Delay
	return max(d.Delay, d.RetryAfter), d.Retry
}

func (e *engine) retried(op *operation) {
	if c := op.client; c.core != nil {
		if aside, first := op.run.Aside(); aside {
			c.waiting.PutAside(e.waits(op), first)
		} else {
			c.waiting.PutBack(e.waits(op))
		}
		e.drain(c.party)
		return
	}
	e.try(op)
}

func (e *engine) givenUp(op *operation) {
	e.meter.GivenUp++
	e.over(op)
}

func (e *engine) over(op *operation) {
	c := op.client
	op.number = -1
	e.operations.give(op.id)
	e.born.finished(e, c)
}
