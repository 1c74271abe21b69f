package limiter

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Part is the part of a gate in a window that several processes share (package share), beside the
// window's State. The zero Part holds nothing back.
type Part struct {
	// In is the time from the call of Shared to the next turn: before it no attempt is sent. Every is the time between two
	// turns; 0: there is no other. Count numbers the turn: whose last send was less than half a turn before has this turn
	// already, by the count or by the time, if both say so.
	In, Every time.Duration
	Count     float64
	// MaxRate and MaxAmountRate replace the fields of Settings; 0: the fields of Settings hold.
	MaxRate, MaxAmountRate float64
}

// part is the Part in force.
type part struct {
	Part
	// turn is the time of the next turn. At base the turn Count was due. lastAt and lastCount are of the last send.
	turn, base, lastAt time.Duration
	lastCount          float64
}

// Shared sets the window at work, and its part. It is quiet: the law is asked with the next answer, and should leave
// the window. The error names the wrong field of the state.
func (g *Gate) Shared(now time.Duration, s window.State, p Part) error {
	if err := g.Restored(s); err != nil {
		return err
	}
	g.part.Part, g.part.base = p, g.seen(now)+p.In
	g.apart = g.apartOf(g.charged)
	g.nextTurn()
	return nil
}

// nextTurn sets the time of the next turn.
func (g *Gate) nextTurn() {
	p := &g.part
	if p.turn = p.base; p.Every == 0 {
		return
	}
	n := max(0, math.Ceil(float64(g.now-p.base)/float64(p.Every)))
	p.turn += time.Duration(n * float64(p.Every))
	if p.turn < p.lastAt+p.Every/2 && p.Count+n < p.lastCount+0.5 {
		p.turn += p.Every
	}
}

// sentInTurn notes a send.
func (g *Gate) sentInTurn() {
	if p := &g.part; p.Every > 0 {
		p.lastAt, p.lastCount = g.now, p.Count+float64(g.now-p.base)/float64(p.Every)
		g.nextTurn()
	}
}

// apartOf is Settings.apart with the rates of the part.
func (g *Gate) apartOf(amount float64) time.Duration {
	s := g.rules
	if g.part.MaxRate > 0 {
		s.MaxRate = g.part.MaxRate
	}
	s.MaxAmountRate = g.amountRate()
	return s.apart(amount)
}

// amountRate is the MaxAmountRate in force.
func (g *Gate) amountRate() float64 {
	if g.part.MaxAmountRate > 0 {
		return g.part.MaxAmountRate
	}
	return g.rules.MaxAmountRate
}
