package window

import "github.com/aimd-go/aimd/internal/setting"

// Reconfigured puts the window under new settings while attempts are in flight, or
// returns an error that names what is wrong and changes nothing.
//
// The law is made anew, so one that keeps state of its own begins it anew. Cwnd
// moves to the nearest that the new bounds allow, and all else stays: ssthresh,
// the gap, what is in flight, the burst that counted last, the streak. Where more is
// than may be now, nothing is taken back; the window opens once enough are answered.
//
// Of s, Initial is where a law restarts (Tahoe) and no new start, and Ssthresh
// and Timed have no effect.
func (w *Window) Reconfigured(newLaw NewLaw, s Settings) error {
	s, err := s.WithDefaults()
	if err != nil {
		return err
	}
	law, err := newLaw.law(s)
	if err != nil {
		return err
	}
	if law.Timed() && !w.timed {
		// What is in flight was sent without a time.
		return setting.Wrong("law", "one that needs round-trip times", "one that needs none: the window does not measure them")
	}
	w.law, w.lawTimed, w.min, w.max = law, law.Timed(), s.Min, s.Max
	w.resize(min(max(w.state.Cwnd, s.Min), s.Max))
	return nil
}
