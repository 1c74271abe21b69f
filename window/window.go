package window

import (
	"cmp"
	"math"
	"time"

	"github.com/aimd-go/aimd/internal/check"
)

// Ticket names one attempt in flight by a fresh id, given at send. The zero Ticket names no attempt.
type Ticket struct {
	id    uint64
	place uint32
}

// ID is the attempt's number: 1, 2, 3... in the order of sending; 0 for the zero Ticket.
func (t Ticket) ID() uint64 { return t.id }

// Window counts the attempts in flight, and lets a law decide their greatest number. Order of calls: Sent if Open
// is true, then Answered or Withdrawn once for each ticket. Make a Window with New. It is not safe for use by
// several goroutines.
type Window struct {
	// Bound is the greatest number of attempts in flight, under any law; 0: no bound.
	Bound int

	law   Law
	timed bool

	state State
	// measured: Trip is kept without a law that is Timed, of the attempts after the number untimed.
	measured bool
	untimed  uint64
	// known: state.Trip is of accepted answers. Refusals may be quicker.
	known bool
	// gap is the time between two sends that spreads the window over the round trip; 0: sends are not spaced.
	gap time.Duration
	// near is half the gap that would spread the window, spaced or not: see End.Early.
	near time.Duration
	// limit is the whole attempts in Cwnd, and one at least.
	limit int
	// settings have the bounds of state.Cwnd.
	settings Settings

	// flying is the text's set flying, and its size.
	flying flights

	// ignored: ids up to this one were given before the last reaction to an overload. The text copies the set
	// flying at each reaction. As ids rise, "flying then" is "id <= last at the reaction".
	ignored uint64
	// pending is the number of such ids that are still in flight.
	pending int
	streak  int
}

// New returns a window in its initial state, or an error that names the wrong setting.
func New(newLaw NewLaw, s Settings) (Window, error) {
	w := Window{}
	if err := w.made(newLaw, s); err != nil {
		return Window{}, err
	}
	if w.state.Ssthresh = defaultSsthresh; w.timed {
		w.state.Ssthresh = MaxWindow // none: a law that measures finds its own
	}
	w.resize(w.settings.Initial)
	return w, nil
}

// Sent books an attempt and returns its ticket. It never refuses. now is unused if the window is not Timed.
func (w *Window) Sent(now time.Duration) Ticket { return w.flying.sent(now, w.near) }

// Answered ends an attempt, and returns what the law saw, or false if the attempt is not in flight. The order is
// the text's: read flying with the answered attempt in it, ask the law, then remove the attempt.
//
// retryAfter is the time that the service asked for; 0: it did not. It is unused if the window is not Timed.
func (w *Window) Answered(now time.Duration, t Ticket, o Outcome, retryAfter time.Duration) (a End, ok bool) {
	a = End{Outcome: o, Marks: Marks{Ignored: t.id <= w.ignored}, Flying: w.flying.n()}
	if o.Overloaded() { // what was held came above the window that was too wide
		a.Flying -= w.flying.held
	}
	f := w.landed(t)
	if f == nil {
		return End{}, false
	}
	a.RTT, a.Early, a.Urgent = max(0, now-f.sent), f.early, f.urgent
	if o.Accepted() {
		w.streak = 0
	} else if o.Overloaded() && !a.Ignored {
		if w.pending == 0 {
			w.streak++
		}
		w.ignored, w.pending = w.flying.last, w.flying.n()
	}
	if w.timed || w.measured && t.id > w.untimed {
		w.measure(a)
	}
	if w.timed {
		a.Asked = retryAfter > w.state.Trip
		w.decide(w.law.Answered(now, w.state, a))
	} else if !o.Accepted() || float64(a.Flying+1) > w.state.Cwnd {
		if next := w.law.Answered(now, w.state, a); next != w.state {
			w.decide(next)
		}
	}
	return a, true
}

// measure notes the round trip of an answer. The mean is of about as many answers as fly.
func (w *Window) measure(a End) {
	rtt, accepted := min(max(a.RTT, time.Microsecond), maxTrip), a.Outcome.Accepted()
	switch trip := &w.state.Trip; {
	case accepted && w.known:
		*trip += time.Duration(float64(rtt-*trip) * share(w.state.Cwnd, a.Flying))
	case accepted || *trip == 0:
		*trip, w.known = rtt, accepted
	}
}

// shares are 1/n: a division takes a twentieth of an acquire and release.
var shares = func() (s [256]float64) {
	for n := range s {
		s[n] = 1 / max(2, float64(n))
	}
	return s
}()

// share is one over the answers of the mean round trip.
func share(cwnd float64, flying int) float64 {
	if flying < len(shares) && float64(flying) <= cwnd {
		return shares[flying]
	}
	return 1 / max(2, min(cwnd, float64(flying)))
}

func (w *Window) decide(next State) {
	if w.timed {
		w.state.Pace = next.Pace
	}
	if next.Ssthresh != w.state.Ssthresh && finite(next.Ssthresh) {
		w.state.Ssthresh = min(max(next.Ssthresh, MinWindow), MaxWindow)
	}
	if !finite(next.Cwnd) {
		next.Cwnd = w.state.Cwnd
	}
	w.resize(next.Cwnd)
}

func (w *Window) resize(cwnd float64) {
	least, trip := w.settings.Min, float64(w.state.Trip)
	if w.state.Pace != AtOnce && least <= MinWindow {
		least = trip / float64(maxGap)
	}
	if cwnd < least {
		cwnd = least
	}
	if cwnd > w.settings.Max {
		cwnd = w.settings.Max
	}
	w.state.Cwnd = cwnd
	apart := trip / cwnd
	w.near = time.Duration(apart / 2)
	if w.gap = 0; w.near > maxGap {
		w.near = maxGap
	}
	if w.state.Pace != AtOnce && apart > float64(grain) {
		if w.gap = time.Duration(min(math.Round(apart), float64(maxGap))); w.gap <= grain {
			w.gap = 0
		}
		if w.gap > 0 && cwnd < small && w.streak != 1 {
			cwnd = min(math.Ceil(cwnd), w.settings.Max)
		}
	}
	w.limit = max(1, int(cwnd))
}

// Withdrawn takes back an attempt that was booked and then not sent. The window is as if it had never been booked.
// It reports false if the attempt is not in flight.
func (w *Window) Withdrawn(t Ticket) bool {
	return w.landed(t) != nil
}

func (w *Window) landed(t Ticket) *flight {
	f := w.flying.landed(t)
	if f != nil && !f.left && t.id <= w.ignored {
		w.pending--
	}
	return f
}

// Restored sets the window to an earlier state, within the present bounds, or returns an error that names the wrong
// field.
func (w *Window) Restored(s State) error {
	if !(s.Cwnd > 0 && s.Cwnd <= MaxWindow) {
		return check.Wrong("Cwnd", s.Cwnd, "a number above 0, at most %d", MaxWindow)
	}
	err := cmp.Or(
		check.OneOf("Pace", s.Pace, AtOnce, Spaced, CatchUp),
		check.Number("Ssthresh", &s.Ssthresh, 0, MinWindow, MaxWindow),
		check.Duration("Trip", &s.Trip, 0, 0, maxTrip),
	)
	if err == nil {
		if !w.timed {
			s.Trip = 0
		}
		w.state, w.known = s, s.Trip > 0
		if !w.known {
			w.state.Pace = AtOnce
		}
		w.resize(s.Cwnd)
	}
	return err
}

// Reconfigured puts the window under new settings while attempts are in flight, or returns an error that
// names the wrong setting, and the old ones stay.
//
// The law is new, without state. Cwnd moves to the nearest new bound; all else stays. s.Initial is not used.
func (w *Window) Reconfigured(newLaw NewLaw, s Settings) error {
	next := *w
	if err := next.made(newLaw, s); err != nil {
		return err
	}
	if next.timed && !w.timed {
		// The attempts in flight were sent without a time.
		return check.Wrong("law", "one that needs round-trip times", "one that needs none: the window does not measure them")
	}
	*w = next
	w.resize(w.state.Cwnd)
	return nil
}

// Has reports whether the attempt is in flight.
func (w *Window) Has(t Ticket) bool { return w.flying.has(t) }

// SentAt is the time of an attempt in flight; 0 if it is not in flight, or the window is not Timed.
func (w *Window) SentAt(t Ticket) time.Duration {
	if !w.flying.has(t) {
		return 0
	}
	return w.flying.places[t.place].sent
}

// Open reports whether one more attempt may be sent: if flying + 1 <= cwnd within the Bound. It is always true if
// no attempt is in flight, so that no window can stop permanently.
//
// "Improve on exponential backoff" (Syncmusings, 2019) says: "as long as the number of outstanding requests
// (size of flying) is less than the current value of cwnd". docs/design.md has the difference.
func (w *Window) Open() bool {
	n := w.flying.n()
	return n < w.limit && (w.Bound == 0 || n < w.Bound)
}

// State is the last decision of the law.
func (w *Window) State() State { return w.state }

// Explain is Explained.Explain, or "" and "" if the law is not Explained.
func (w *Window) Explain() (cause, phase string) {
	if law, ok := w.law.(Explained); ok {
		return law.Explain()
	}
	return "", ""
}

// Gap is the time between two sends of a law that spaces its sends; 0 for other laws.
func (w *Window) Gap() time.Duration { return w.gap }

// Flying is the number of attempts in flight.
func (w *Window) Flying() int { return w.flying.n() }

// Streak is the number of cuts since the last accepted answer. A cut counts only if all attempts in flight at the
// cut before were answered: several cuts of one overshoot are no streak.
func (w *Window) Streak() int { return w.streak }

// Measure has the window keep State.Trip under a law that is not Timed, of the attempts sent from now on: callers with deadlines
// need it. From then on all events need their times.
func (w *Window) Measure() {
	if !w.timed && !w.measured {
		w.measured, w.untimed = true, w.flying.last
	}
}

// Measured reports whether Measure was called under a law that is not Timed.
func (w *Window) Measured() bool { return w.measured }

// Timed is Law.Timed: the window then needs the times of its events.
func (w *Window) Timed() bool { return w.timed }

func finite(v float64) bool { return v-v == 0 }

// made puts a new law into the window, with defaults instead of zeros in its settings, or returns an error.
func (w *Window) made(newLaw NewLaw, s Settings) error {
	s, err := s.WithDefaults()
	if err != nil {
		return err
	}
	if newLaw != nil {
		w.law = newLaw(s)
	}
	if newLaw == nil || w.law == nil {
		return check.Nil("law")
	}
	if err, wrong := w.law.(error); wrong {
		return err
	}
	w.timed, w.settings = w.law.Timed(), s
	return nil
}
