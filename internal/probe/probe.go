// Package probe is the law of aimd.New. Its one idea: know what the service does without load; what exceeds it is load; an
// allowance for the rest. Each rule is one function, in the order of docs/laws.md, which has its figure: allowance.go has
// rule 1, curve.go 2, 4, 6 and 7, hold.go 3, slow.go 5, and silence.go 8 to 10.
//
// The law is pure: no goroutine, no lock, no clock, no randomness. Times are in seconds.
package probe

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// numbers are the constants. Each has one meaning; TestProbeConstants shows what it is for.
type numbers struct {
	few     float64 // refusals that show nothing
	sample  float64 // answers that show something
	least   float64 // refusals for each success that any service may have without load
	forget  float64 // of the share of early refusals is forgotten with each round trip without one
	fade    float64 // seconds in which the most that was taken is forgotten, but for a third
	fall    float64 // times less than the load taken is little
	more    float64 // times as frequent, as long or as large is clearly more
	slowest float64 // attempts a second or in flight: a window of less is slow
	growth  float64 // attempts a round trip at the ceiling, and the share of the way past it
	same    float64 // of the accepted rate is the same rate
	silent  float64 // of a window that little goes with each further refusal of a silence
	short   float64 // seconds of silence that are no used-up limit
}

var tuned = numbers{
	few: 2, sample: 20, least: 1. / 20, forget: 1. / 50, fade: 10, fall: 6, more: 1.5, slowest: 10, growth: 2. / 3, same: 0.9, silent: 0.3, short: 5,
}

// cause is why the law moved the window at the last answer, or left it.
type cause uint8

const (
	none cause = iota
	chance
	own
	outage
	load
	back
	usedUp
	slow
	more
)

func (c cause) String() string {
	return [...]string{"", "chance", "own", "outage", "load", "back", "used up", "slow", "more"}[c]
}

type law struct {
	*numbers
	initial float64
	// peers is the number of processes that share the service. The fleet grows as one window does.
	peers float64
	// ceiling is the window that the last load left, or a look found; +Inf: there is none.
	ceiling float64
	cause   cause
	// trip is the mean round trip, rate what is accepted a second, up to the last success at the time succeeded.
	trip, rate, succeeded, start float64

	allowance
	hold
	slowness
	silence
	// early is the share of refusals among attempts that are sent early.
	early float64
}

// New is a window.NewLaw. A restored State has a ceiling unless its Ssthresh is MaxWindow.
func New(s window.Settings) window.Law { return with(&tuned, s) }

func with(n *numbers, s window.Settings) *law {
	l := &law{numbers: n, initial: s.Initial, peers: float64(max(1, s.Peers)), ceiling: math.Inf(1)}
	l.fresh, l.share, l.early = true, 1, 1
	l.allowed, l.proved = n.few+1, 1
	return l
}

// Timed is true: the law needs round-trip times.
func (l *law) Timed() bool { return true }

// Explain is window.Explained.
func (l *law) Explain() (cause, phase string) {
	switch {
	case l.held > 0:
		phase = "holding"
	case l.looking():
		phase = "looking"
	}
	return l.cause.String(), phase
}

func (l *law) Answered(at time.Duration, s window.State, a window.End) window.State {
	now, w := seconds(at), s.Cwnd
	if l.trip == 0 {
		l.begin(now, s, a)
	}
	l.trip, l.cause = seconds(s.Trip), none
	switch {
	case a.Outcome.Accepted():
		w = l.success(now, w, a)
	case a.Outcome.Overloaded():
		w = l.refusal(now, w, a)
	default:
		return s
	}
	return window.State{Cwnd: w, Ssthresh: min(max(1, l.ceiling), window.MaxWindow), Pace: l.spacing(w)}
}

// begin is before the first answer, of a new law or after Reconfigured.
func (l *law) begin(now float64, s window.State, a window.End) {
	l.start = now - seconds(a.RTT)
	l.succeeded, l.began, l.block.began = now, now, l.start
	if s.Ssthresh < window.MaxWindow {
		l.ceiling, l.fresh, l.share = s.Ssthresh, false, l.least
		l.allowed, l.proved = l.few+l.sample, 0
		if l.peers > 1 { // a share: all processes may have as many refused as one
			l.allowed = l.most(s.Cwnd) / l.peers
			l.ceiling = min(l.ceiling, s.Cwnd)
		}
	}
}

// success is the window after a success.
func (l *law) success(now, w float64, a window.End) float64 {
	l.noteEarly(a)
	since := max(now-l.succeeded, 1e-9)
	l.rate += (1 - l.rate*since) / (since + l.span())
	w = max(l.returned(now, w), l.held)
	l.succeeded, l.inRow = now, 0
	l.taken++
	l.earn(w, a)
	l.sampled(now, 0)
	if w = l.lifted(now, w); l.held > 0 {
		l.measured(now, w)
	} else if w = l.looks(now, w, a); !l.looking() {
		w = l.checked(now, w, since)
	}
	switch {
	case l.looking():
	case l.slow:
		l.cause, l.ceiling = slow, min(l.ceiling, max(1, w))
	case l.slows(now):
		l.cause = slow
	case float64(a.Flying+1) > w/2: // only a window that is in use grows
		if w = l.grown(w); l.cause == none {
			l.cause = more
		}
	}
	return w
}

// refusal is the window after a refusal or a timeout.
func (l *law) refusal(now, w float64, a window.End) float64 {
	if a.Outcome == window.Timeout {
		l.began = math.Inf(-1) // no limit was used up
	} else {
		l.noteEarly(a)
	}
	l.cause, l.asked = load, a.Asked && float64(2*a.Flying) < w
	l.quieter(now, w, a)
	l.sampled(now, 1)
	down := l.inRow > l.sample+l.most(w)
	allowed := !down && !l.holds() && l.spend(w, a)
	if allowed && a.Outcome != window.Timeout { // no load, so a block and a look go on; a timeout may be what is slow
		l.block.refused = true
		return w
	}
	if l.looking() {
		w, l.from = min(w, l.from), 0
	}
	l.again(now)
	switch {
	case down:
		l.cause, l.held, l.allowed = outage, 0, 0
		return l.cut(now, w, a)
	case allowed:
		return w
	case l.held > 0:
		if w = l.cut(now, w, a); l.inRow <= l.fall { // in a silence it falls, and is back with the next success
			w = max(l.held, w)
		}
		return w
	case l.asked && l.share > l.least && l.accepted > 0:
		l.spent()
		return l.holdAt(now, min(w, l.trip*l.rate*(1+l.lost/l.accepted)/l.more))
	}
	l.spent()
	low := l.low(now, w)
	if w = l.cut(now, w, a); w < low {
		w = l.holdAt(now, low)
	}
	l.refute(w)
	return w
}

// span is the time for which the accepted rate is a mean.
func (l *law) span() float64 { return max(0.5, l.trip) }

// good is the number of attempts that the service takes in a round trip, by Little's law. In silence it fades.
func (l *law) good(now float64) float64 {
	return l.trip * l.rate * math.Exp((l.succeeded-now)/max(l.span(), 1/l.rate))
}

// seconds is d.Seconds, which divides integers twice and takes a tenth of an acquire and release.
func seconds(d time.Duration) float64 { return float64(d) / 1e9 }
