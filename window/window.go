package window

import (
	"math"
	"time"
)

// Ticket names one attempt in flight: a fresh id, given at send, and where the
// window keeps it. It is a small value; copies name the same attempt. The zero
// Ticket names none.
type Ticket struct {
	id   uint64
	slot uint32
}

// ID is the attempt's number: 1, 2, 3... in the order of sending; 0 for the
// zero Ticket.
func (t Ticket) ID() uint64 { return t.id }

// Window counts what flies and lets a law decide how much may.
// Make one with New. Not safe for use by several goroutines.
//
// Order of calls: Sent when Open says so, then Answered or Withdrawn once for
// each ticket.
type Window struct {
	law   Law
	timed bool
	state State
	// min and max bound state.Cwnd.
	min, max float64

	// slots holds the attempts in flight: the set "flying" of seed 4. A slot
	// that is empty has id 0 and is on the list that free begins.
	slots []slot
	// free is one more than the index of the first empty slot; 0: none.
	free uint32
	// flying is the size of the set. Invariant: 0 <= flying <= len(slots).
	flying int

	// last is the id given last. Ids rise by one and are never given twice.
	last uint64
	// ignored: ids up to this one were given before the last reaction to an
	// overload. Seed 4 copies the set flying into the set ignored at each
	// reaction; as ids rise, "flying then and answered later" is just "id <=
	// last at the reaction", and nothing need be copied.
	ignored uint64
	// streak is the number of cuts since the last success.
	streak int
}

type slot struct {
	id   uint64
	sent time.Time // zero when nobody asked for times
	next uint32    // while empty: the next empty slot, as Window.free
}

// Reaction says what an answer did.
type Reaction struct {
	// Cut: the answer was the first overload of a burst, and the law reacted.
	Cut bool
	// Ignored: the attempt was in flight at the last cut.
	Ignored bool
	// Before and After are the window before and after, in attempts.
	Before, After float64
	// RTT is the time from send to answer, 0 when not measured.
	RTT time.Duration
}

// New returns a window in its initial state, or an error that names the wrong setting.
func New(newLaw NewLaw, s Settings) (Window, error) {
	s, err := s.WithDefaults()
	if err != nil {
		return Window{}, err
	}
	law := newLaw(s)
	return Window{
		law:   law,
		timed: s.Timed || law.Timed(),
		state: State{Cwnd: s.Initial, Ssthresh: s.Ssthresh},
		min:   s.Min,
		max:   s.Max,
	}, nil
}

// Sent books an attempt and returns its ticket. now may be the zero time when
// Timed is false. The caller asks Open first; Sent itself refuses nothing.
func (w *Window) Sent(now time.Time) Ticket {
	w.last++
	w.flying++
	if w.free == 0 {
		w.slots = append(w.slots, slot{id: w.last, sent: now})
		return Ticket{id: w.last, slot: uint32(len(w.slots) - 1)}
	}
	i := w.free - 1
	s := &w.slots[i]
	w.free = s.next
	s.id = w.last
	if w.timed {
		s.sent = now
	}
	return Ticket{id: w.last, slot: i}
}

// Answered tells the window how an attempt ended. The order is the one that
// seed 4's formulas need: read flying with the answered attempt in it, ask the
// law, then remove the attempt.
//
// It returns false, and changes nothing, when the attempt does not fly: a
// second answer, or one after Withdrawn.
func (w *Window) Answered(now time.Time, t Ticket, o Outcome) (Reaction, bool) {
	if !w.Flies(t) {
		return Reaction{}, false
	}
	r := Reaction{Ignored: t.id <= w.ignored, Before: w.state.Cwnd}
	if w.timed {
		r.RTT = max(0, now.Sub(w.slots[t.slot].sent))
	}
	w.decide(now, o, Answer{Outcome: o, Ignored: r.Ignored, Flying: w.flying, RTT: r.RTT})
	r.After = w.state.Cwnd
	switch {
	case o == Success:
		w.streak = 0
	case o.Overloaded() && !r.Ignored:
		r.Cut = true
		w.ignored = w.last
		w.streak++
	}
	w.remove(t)
	return r, true
}

// decide asks the law and holds its answer to the rules.
func (w *Window) decide(now time.Time, o Outcome, a Answer) {
	next := w.law.Answered(now, w.state, a)
	if next == w.state {
		return
	}
	if finite(next.Cwnd) {
		// Growth only while the window is what limits: seed 4's "max (cwnd,
		// min(size(flying) + 1, ...))". Without it an idle client's window
		// grows without bound, and its next burst overshoots.
		if most := max(w.state.Cwnd, float64(a.Flying+1)); o == Success && next.Cwnd > most {
			next.Cwnd = most
		}
		w.state.Cwnd = min(max(next.Cwnd, w.min), w.max)
	}
	if finite(next.Ssthresh) {
		w.state.Ssthresh = min(max(next.Ssthresh, MinWindow), MaxWindow)
	}
	w.state.Gap = min(max(next.Gap, 0), MaxGap)
}

// Withdrawn takes back an attempt that was booked and then not sent: the
// window is as if it had not been. False when the attempt does not fly.
func (w *Window) Withdrawn(t Ticket) bool {
	if !w.Flies(t) {
		return false
	}
	w.remove(t)
	return true
}

// Restarted makes the window as small as it may be, with ssthresh kept, so that
// slow start finds the way back: what a sender does after it was silent (RFC
// 5681, section 4.1), here after a gate that held everybody.
func (w *Window) Restarted() { w.state.Cwnd = w.min }

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
	s.Cwnd = min(max(s.Cwnd, w.min), w.max)
	w.state = s
	return nil
}

// Open reports whether one more attempt may be sent: while flying + 1 <= cwnd,
// and always when nothing flies, so that no window can stop for good.
func (w *Window) Open() bool {
	return w.flying == 0 || float64(w.flying+1) <= w.state.Cwnd
}

// Flies reports whether the attempt is in flight.
func (w *Window) Flies(t Ticket) bool {
	return t.id != 0 && int(t.slot) < len(w.slots) && w.slots[t.slot].id == t.id
}

// State is the window as the law decided it last.
func (w *Window) State() State { return w.state }

// Flying is the number of attempts in flight.
func (w *Window) Flying() int { return w.flying }

// Streak is the number of cuts since the last success.
func (w *Window) Streak() int { return w.streak }

// Timed reports whether the window measures round-trip times.
func (w *Window) Timed() bool { return w.timed }

func (w *Window) remove(t Ticket) {
	w.slots[t.slot] = slot{next: w.free}
	w.free = t.slot + 1
	w.flying--
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
