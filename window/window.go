package window

import (
	"math"
	"time"
)

// Ticket names one attempt in flight: a fresh id, given at send, and the time
// of it. It is a small value; copies name the same attempt. The zero Ticket
// names none.
type Ticket struct {
	id uint64
	// sent is the time of sending since the window's epoch; 0 when not timed.
	sent time.Duration
}

// ID is the attempt's number: 1, 2, 3... in the order of sending; 0 for the
// zero Ticket.
func (t Ticket) ID() uint64 { return t.id }

// Stamped is the ticket of an attempt that was sent without a call of Sent, so
// long after the window's epoch (Window.Began). The time counts only if the
// window is Timed.
func Stamped(id uint64, sent time.Duration) Ticket { return Ticket{id: id, sent: sent} }

// Window counts what flies and lets a law decide how much may.
// Make one with New. Not safe for use by several goroutines.
//
// Order of calls: Sent when Open says so, then Answered or Withdrawn once for
// each ticket.
type Window struct {
	law   Law
	timed bool
	state State
	// limit is the whole attempts in state.Cwnd.
	limit int
	// min and max bound state.Cwnd.
	min, max float64

	// epoch is what times of sending count from: the time of Began, or else the
	// first time that was seen.
	epoch time.Time

	// flying is the set of seed 4, and its size.
	flying flights

	// ignored: ids up to this one were given before the last reaction to an
	// overload. Seed 4 copies the set flying into the set ignored at each
	// reaction; as ids rise, "flying then and answered later" is just "id <=
	// last at the reaction", and nothing need be copied.
	ignored uint64
	// pending is how many of these still fly. Until they have landed, a
	// success may be on its way, and its absence says nothing yet.
	pending int
	// streak is the number of cuts since the last success, each after all that
	// flew at the one before it had landed.
	streak int
	// rtt is the round-trip time of the last answer, 0 when not timed.
	rtt time.Duration
}

// New returns a window in its initial state, or an error that names the wrong setting.
func New(newLaw NewLaw, s Settings) (Window, error) {
	s, err := s.WithDefaults()
	if err != nil {
		return Window{}, err
	}
	law := newLaw(s)
	w := Window{
		law:   law,
		timed: s.Timed || law.Timed(),
		state: State{Ssthresh: s.Ssthresh},
		min:   s.Min,
		max:   s.Max,
	}
	w.resize(s.Initial)
	return w, nil
}

// Began tells when the window's time begins, for tickets that are Stamped.
// Call it before anything else, or not at all.
func (w *Window) Began(now time.Time) { w.epoch = now }

// Sent books an attempt and returns its ticket. now may be the zero time when
// Timed is false. The caller asks Open first; Sent itself refuses nothing.
func (w *Window) Sent(now time.Time) Ticket {
	t := Ticket{id: w.flying.last + 1}
	w.flying.sent(t.id)
	if w.timed {
		if w.epoch.IsZero() {
			w.epoch = now
		}
		t.sent = now.Sub(w.epoch)
	}
	return t
}

// SentUpTo books all attempts up to the one with this id: they were sent by
// leave of Free, without a call each. Their tickets are those of Stamped.
func (w *Window) SentUpTo(id uint64) { w.flying.sent(id) }

// Answered tells the window how an attempt ended, and returns what that
// changed. The order is the one that seed 4's formulas need: read flying with
// the answered attempt in it, ask the law, then remove the attempt.
//
// An attempt that does not fly is Late and changes nothing: a second answer, or
// one after Withdrawn.
func (w *Window) Answered(now time.Time, t Ticket, o Outcome) Change {
	a := Answer{Outcome: o, Ignored: t.id <= w.ignored, Flying: w.flying.n}
	if !w.landed(t) {
		return Late
	}
	if w.timed {
		a.RTT = max(0, now.Sub(w.epoch)-t.sent)
		w.rtt = a.RTT
	}
	before := w.state.Cwnd
	next := w.law.Answered(now, w.state, a)
	// Growth only while the window is what limits: seed 4's "max (cwnd,
	// min(size(flying) + 1, ...))". Without it an idle client's window grows
	// without bound, and its next burst overshoots.
	if most := float64(a.Flying + 1); o.Accepted() && next.Cwnd > before && next.Cwnd > most {
		next.Cwnd = before
		if most > before {
			next.Cwnd = most
		}
	}
	if next != w.state {
		w.decide(next)
	}
	if o.Accepted() {
		w.streak = 0
	} else if o.Overloaded() {
		if a.Ignored {
			return Ignored
		}
		if w.pending == 0 {
			w.streak++
		}
		w.ignored, w.pending = w.flying.last, w.flying.n
		return Cut
	}
	switch {
	case w.state.Cwnd > before:
		return Grew
	case w.state.Cwnd < before:
		return Shrank
	}
	return Steady
}

// decide holds the law's answer to the rules.
func (w *Window) decide(next State) {
	if finite(next.Cwnd) {
		w.resize(min(max(next.Cwnd, w.min), w.max))
	}
	if finite(next.Ssthresh) {
		w.state.Ssthresh = min(max(next.Ssthresh, MinWindow), MaxWindow)
	}
	w.state.Gap = min(max(next.Gap, 0), MaxGap)
}

func (w *Window) resize(cwnd float64) {
	w.state.Cwnd = cwnd
	w.limit = int(cwnd)
}

// Withdrawn takes back an attempt that was booked and then not sent: the
// window is as if it had not been. False when the attempt does not fly.
func (w *Window) Withdrawn(t Ticket) bool {
	return w.landed(t)
}

// landed takes the attempt out of the air, and reports false if it is not there.
func (w *Window) landed(t Ticket) bool {
	if !w.flying.landed(t.id) {
		return false
	}
	if t.id <= w.ignored {
		w.pending--
	}
	return true
}

// Restarted makes the window as small as it may be, with ssthresh kept, so that
// slow start finds the way back: what a sender does after it was silent (RFC
// 5681, section 4.1), here after a gate that held everybody.
func (w *Window) Restarted() { w.resize(w.min) }

// Restored puts the window to a state that was learned earlier, or returns an
// error that names what is wrong with it. A window that today's bounds do not
// allow is put to the nearest that they do.
func (w *Window) Restored(s State) error {
	if err := CheckRange("restored cwnd", s.Cwnd, MinWindow, MaxWindow); err != nil {
		return err
	}
	if err := CheckRange("restored ssthresh", s.Ssthresh, MinWindow, MaxWindow); err != nil {
		return err
	}
	if err := CheckRange("restored gap in seconds", s.Gap.Seconds(), 0, MaxGap.Seconds()); err != nil {
		return err
	}
	w.state = s
	w.resize(min(max(s.Cwnd, w.min), w.max))
	return nil
}

// Open reports whether one more attempt may be sent: while flying + 1 <= cwnd.
// As cwnd is never below 1, one may always go when nothing flies, so that no
// window can stop for good.
func (w *Window) Open() bool { return w.flying.n < w.limit }

// Free is how many attempts may be sent from here on before the next answer.
func (w *Window) Free() int { return max(0, w.limit-w.flying.n) }

// State is the window as the law decided it last.
func (w *Window) State() State { return w.state }

// Flying is the number of attempts in flight.
func (w *Window) Flying() int { return w.flying.n }

// Last is the id given last, 0 if none was.
func (w *Window) Last() uint64 { return w.flying.last }

// Streak is the number of cuts since the last success, counting only those that
// came after all that flew at the cut before had been answered. An overshoot
// of slow start makes several cuts within a moment, while what the service
// did accept is still being served; that is no streak.
func (w *Window) Streak() int { return w.streak }

// RTT is the time from send to answer of the attempt answered last; 0 when the
// window is not Timed.
func (w *Window) RTT() time.Duration { return w.rtt }

// Timed reports whether the window measures round-trip times.
func (w *Window) Timed() bool { return w.timed }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
