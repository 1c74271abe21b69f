package limiter

import (
	"time"

	"github.com/aimd-go/aimd/window"
)

const (
	// starveFirst is the time without a send, a head or an end after which one attempt more is sent, if operations wait and all in
	// flight are answers that have begun; two mean round trips if that is longer. With 30 s 20 streams hold calls for 42 s.
	starveFirst, starveTrips = 10 * time.Second, 2
	// That time is halved after a trial that was taken, to an eighth at most, 1.25 s, and doubled after one that was
	// refused, up to 32 times, 320 s. Without the former 100 copies through the program take 14 minutes for 2.
	starveLess, starveMore = -3, 5
)

// starve is the wait for a slot while all in flight are answers that have begun and stay open. In flight means that the service
// works on it: if one attempt more is taken, the oldest open answer leaves the window; if it is refused, they are work.
type starve struct {
	// since is the time of the latest send, head or end, or of the operation that found no slot and nobody that waits.
	since time.Duration
	// doubled is the number of times that the first wait is doubled, negative: halved.
	doubled int
	// trial is the attempt that was sent more.
	trial window.Ticket
}

// Quiet is the time for which nothing has been sent, has begun or ended, if it is long enough for one attempt more than
// the window has room for. Otherwise 0, and at is the time when it will be; 0: not without an event.
func (g *Gate) Quiet(now time.Duration) (quiet, at time.Duration) {
	if !g.Starved() {
		return 0, 0
	}
	s := &g.starve
	wait := starveFirst << max(0, s.doubled) >> max(0, -s.doubled)
	at = s.since + max(wait, starveTrips*g.State().Trip)
	if g.seen(now) < at {
		return 0, at
	}
	return g.now - s.since, at
}

// HeadCame notes that the answer of an attempt in flight has begun, and stays open. If no operation waits, 0 will do
// for the time.
func (g *Gate) HeadCame(now time.Duration, t window.Ticket) {
	g.starve.since = g.seen(now)
	if g.Opened(t); t == g.starve.trial {
		g.taken()
	}
}

// Lived notes that a part came at a time of an answer in flight whose length is known: it shares a link, and is no watch.
func (g *Gate) Lived(at time.Duration) { g.starve.since = max(g.starve.since, at) }

// taken ends a trial that was taken.
func (g *Gate) taken() {
	s := &g.starve
	g.Leave(s.trial)
	s.doubled, s.trial = max(starveLess, s.doubled-1), window.Ticket{}
}

// starved notes the end of an attempt, and returns its outcome for the law.
func (g *Gate) starved(t window.Ticket, o window.Outcome) window.Outcome {
	s := &g.starve
	s.since = g.now
	switch {
	case t != s.trial || t == (window.Ticket{}):
	case o.Accepted():
		g.taken()
	case o.Overloaded():
		s.doubled, s.trial = min(starveMore, max(0, s.doubled)+1), window.Ticket{}
		return window.Neutral
	}
	return o
}
