package sim

import "time"

type arrivals struct {
	conf Clients
	// left and burst are the numbers of operations still to be born, of all (negative: no end) and of the burst. n
	// is the number born, if no client has its own times.
	left, burst, n int
}

func (b *arrivals) init(e *engine) {
	b.conf = e.scenario.Clients
	b.left = b.conf.Operations
	if b.left == 0 {
		b.left = -1
	}
	if b.burst = b.conf.Burst; b.burst > 0 {
		e.at(b.conf.BurstAt, burstKind, 0, 0)
	}
	switch {
	case b.conf.Arrivals == closedWord, b.conf.Arrivals == periodicWord, b.conf.Stagger > 0:
		for i := range e.clients {
			b.first(e, &e.clients[i])
		}
	case b.conf.Arrivals == poisson:
		e.at(b.gap(e), bornKind, 0, 0)
	default:
		e.at(0, bornKind, 0, 0)
	}
}

// next: an operation of the clients as a whole is born.
func (b *arrivals) next(e *engine) {
	n := 1
	if b.conf.Arrivals == onceWord {
		n = b.left
	}
	for range n {
		c := &e.clients[b.n%len(e.clients)]
		b.n++
		b.left--
		e.bear(c)
	}
	switch {
	case b.left == 0:
	case b.conf.Arrivals == poisson:
		e.at(e.now+b.gap(e), bornKind, 0, 0)
	case b.conf.Arrivals == steadyWord:
		e.at(stretched(time.Duration(b.n)*time.Second, 1/b.conf.Rate), bornKind, 0, 0)
	}
}

func (b *arrivals) bursts(e *engine) {
	for ; b.burst > 0; b.burst-- {
		e.bear(&e.clients[(b.conf.Burst-b.burst)%len(e.clients)])
	}
}

func (b *arrivals) gap(e *engine) time.Duration {
	return stretched(time.Second, e.random.ExpFloat64()/b.conf.Rate)
}

func (b *arrivals) first(e *engine, c *client) {
	c.left = -1
	if n := b.conf.Operations; n > 0 {
		// As if they took turns.
		c.left = (n + len(e.clients) - 1 - int(c.id)) / len(e.clients)
		if c.left == 0 {
			return
		}
	}
	var d time.Duration
	switch {
	case b.conf.Arrivals == onceWord:
	case b.conf.Arrivals == closedWord:
		d = b.think(e)
	case b.conf.onGrid():
		d = b.period(e, c)
	case b.conf.Start == jittered:
		d = b.jittered(e)
	case b.conf.Start == scattered:
		d = e.random.upTo(b.conf.Period)
	}
	e.at(d+time.Duration(c.id)*b.conf.Stagger, turnKind, c.id, 0)
}

func (b *arrivals) turn(e *engine, c *client) {
	n := 1
	if b.conf.Arrivals == onceWord {
		n = c.left
	}
	c.left -= n
	b.left -= n
	for range n {
		e.bear(c)
	}
}

func (b *arrivals) finished(e *engine, c *client) {
	switch {
	case c.left == 0:
	case b.conf.Arrivals == closedWord:
		e.after(b.think(e), turnKind, c.id, 0)
	case b.conf.Arrivals == periodicWord:
		e.at(b.period(e, c), turnKind, c.id, 0)
	}
}

func (b *arrivals) think(e *engine) time.Duration {
	if b.conf.Think == 0 {
		return 0
	}
	return stretched(b.conf.Think, e.random.ExpFloat64())
}

// jittered is "period * random(.5, 1.5)".
func (b *arrivals) jittered(e *engine) time.Duration {
	return stretched(b.conf.Period, 0.5+e.random.Float64())
}

func (b *arrivals) period(e *engine, c *client) time.Duration {
	switch p := b.conf.Period; b.conf.Form {
	case fixedPeriod:
		return e.now + p
	case jitteredPeriod:
		return e.now + b.jittered(e)
	case jitteredSlip:
		// "next_execution += random(1.0, 2.0) * period" and then "truncate(next_execution,
		// period)": the wrong way round.
		c.grid = (c.grid + stretched(p, 1+e.random.Float64())) / p * p
		return c.grid
	default:
		// "truncate(next_execution, period)", and then "next_execution += random(1.0, 2.0) * period". If that has
		// passed, the same from now on, as package schedule does.
		c.grid = c.grid.Truncate(p) + p + time.Duration(e.random.Float64()*float64(p))
		if c.grid < e.now {
			c.grid = e.now.Truncate(p) + p + time.Duration(e.random.Float64()*float64(p))
		}
		return c.grid
	}
}

func (b *arrivals) over() bool { return b.left == 0 && b.burst == 0 }
