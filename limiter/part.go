package limiter

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

// Part is what a gate has of a window that several processes share (package share), beside the window's State. The zero Part holds
// nothing back.
type Part struct {
	// In is the time from the call of Shared to the next turn: before it no attempt is sent. Every is the time between two
	// turns; 0: there is no other. Count numbers the turn: whose last send was less than half a turn before has this turn
	// already, by the count or by the time, if both say so.
	In, Every time.Duration
	Count     float64
	// Keep is the time after its send for which a refused attempt keeps its place in the window; 0: it has none.
	Keep time.Duration
	// MaxRate and MaxAmountRate take the place of those of Settings; 0: those of Settings.
	MaxRate, MaxAmountRate float64
}

// part is the Part in force.
type part struct {
	Part
	// turn is the time of the next turn. At base the turn Count was due. lastAt and lastCount are of the last send.
	turn, base, lastAt time.Duration
	lastCount          float64
	// kept are the times until which refused attempts keep their places.
	kept []time.Duration
}

// Shared sets the window at work, and its part. It is quiet: the law is asked with the next answer, and should leave the window. The
// error names the wrong field of the state.
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

// keep keeps the place of a refused attempt.
func (g *Gate) keep(rtt time.Duration) {
	if d := g.part.Keep - rtt; d > 0 {
		g.part.kept = append(g.part.kept, g.now+d)
	}
}

// kept is the number of places that are kept, and when the next is free.
func (g *Gate) kept() (n int, until time.Duration) {
	if len(g.part.kept) == 0 {
		return 0, 0
	}
	g.part.kept = slices.DeleteFunc(g.part.kept, func(t time.Duration) bool { return t <= g.now })
	if n = len(g.part.kept); n > 0 {
		until = slices.Min(g.part.kept)
	}
	return n, until
}

// Open is Window.Open, without the places that refused attempts keep.
func (g *Gate) Open() bool {
	if !g.Window.Open() {
		return false
	}
	n, _ := g.kept()
	return n == 0 || g.Flying()+n < max(1, int(g.State().Cwnd))
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
