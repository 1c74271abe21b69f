package sim

import (
	"github.com/aimd-go/aimd/internal/line"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// waits is an operation that begins to wait for its limiter.
func (e *engine) waits(op *operation) *line.Waiter[*operation] {
	w := &op.wait
	if w.Since = e.now; e.scenario.Clients.Deadline > 0 {
		w.Deadline = op.born + e.scenario.Clients.Deadline
	}
	return w
}

// turn is the operation whose turn it is, nil if none waits. It ends those that are too late, as aimd.Limiter does.
func (e *engine) turn(p *party) *line.Waiter[*operation] {
	for {
		p.waiting.AsideTurn = p.core.AsideTurn()
		w := p.waiting.Front()
		if w == nil || w.Deadline == 0 || e.strategy.Window.FIFO {
			return w
		}
		p.core.Measure()
		w, verdict := p.waiting.Turn(e.now, p.core.State())
		if verdict == line.Goes {
			return w
		}
		p.waiting.Remove(w)
		e.givenUp(w.Value)
	}
}

// leaves: the caller of an operation leaves, wherever that is. The server does not notice.
func (e *engine) leaves(op *operation) {
	c := op.client
	switch {
	case c.core != nil && c.waiting.Remove(&op.wait):
		c.waiting.Left(e.now, &op.wait)
	case op.flying >= 0:
		if a := e.attempts.at(op.flying); a.op == op && a.waited {
			a.waited = false
			e.cutOff(a)
			e.settled(a)
		}
	}
	e.givenUp(op)
	if c.core != nil {
		e.drain(c.party)
	}
}

// cutOff: the caller of an attempt in flight leaves. If the attempt had at least half of its time, the service is slow.
func (e *engine) cutOff(a *attempt) {
	e.meter.ended(e, window.Timeout)
	op, c, o := a.op, a.op.client, window.Unclear
	if op.born+e.scenario.Clients.Deadline-op.last < op.last-op.born {
		if o = window.Neutral; c.core != nil && c.waiting.Len() > 0 {
			c.waiting.CutOff(e.now, false, false)
		}
	}
	if c.core != nil {
		c.core.Answered(e.now, a.ticket, o, 0)
	}
}

func (e *engine) lights(p *party) {
	w := e.strategy.Window
	w.Shadow = 0
	checked(struct{}{}, p.core.Reconfigured(e.now, w.MakeLaw(), w.settings(e.random.Rand)))
	e.drain(p)
}

func (e *engine) shadow() (all limiter.Shadow) {
	for _, p := range e.parties {
		if p.core != nil {
			s := p.core.Shadow()
			all.Sent, all.Held, all.Wait = all.Sent+s.Sent, all.Held+s.Held, all.Wait+s.Wait
			all.Refused, all.Above = all.Refused+s.Refused, all.Above+s.Above
		}
	}
	return all
}
