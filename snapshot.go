package aimd

import (
	"fmt"
	"slices"
	"time"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// Snapshot is the state of a limiter at one moment: plain data, a report. Limiter.Restore takes its State and its
// At; JSON keeps both.
type Snapshot struct {
	// Name is the limiter's Config.Name.
	Name string `json:"name,omitempty"`
	// At is the time of the snapshot.
	At time.Time `json:"at,omitzero"`
	// Law is the type of the law: "aimd.reno".
	Law string `json:"law,omitempty"`
	// State is the congestion window: Cwnd and Ssthresh in attempts, and in JSON Trip in nanoseconds. A Cwnd below 1 is a
	// rate, and one attempt at a time may go; see Gap.
	window.State
	// Phase is the experiment of the law: "holding" or "looking" for Probe, otherwise "".
	Phase string `json:"phase,omitempty"`
	// Gap is the shortest time between two sends, 0 without a gap; in JSON in nanoseconds.
	Gap time.Duration `json:"gap,omitempty"`
	// PausedUntil is the end of the pause for all, zero without a pause.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// InFlight counts the attempts sent and not answered, without those of Open, Queued the operations that wait for a slot.
	InFlight int `json:"in_flight"`
	Queued   int `json:"queued"`
	// Attempts counts the attempts that ended since the start; Successes, Overloads, Timeouts, Neutrals and
	// ClientErrors count them by outcome.
	Attempts     uint64 `json:"attempts"`
	Successes    uint64 `json:"successes"`
	Overloads    uint64 `json:"overloads"`
	Timeouts     uint64 `json:"timeouts"`
	Neutrals     uint64 `json:"neutrals"`
	ClientErrors uint64 `json:"client_errors"`
	// Cuts counts the bursts of overloads that narrowed the window.
	Cuts uint64 `json:"cuts"`
	// Pauses counts the pauses for all operations.
	Pauses uint64 `json:"pauses"`
	// Aside counts the operations that failed, not only once, while the service took others.
	Aside uint64 `json:"aside,omitempty"`
	// Open is the number of open answers that are outside the window, and not in InFlight: they are no work for the service.
	Open int `json:"open,omitempty"`
	// TooLate counts the operations that were not sent before their deadline: an answer would have been for nobody.
	TooLate uint64 `json:"too_late,omitempty"`
	// Backups counts the second attempts of slow ones (Backup). They are among the Attempts.
	Backups uint64 `json:"backups,omitempty"`
	// Shadow is what the limiter would have held while it only watched (Config.Shadow).
	Shadow limiter.Shadow `json:"shadow,omitzero"`
	// Late counts second releases of a permit.
	Late uint64 `json:"late"`
	// Amount is the sum of the amounts that were sent, as Config.MaxAmountRate counts them; 0 without that rate.
	Amount float64 `json:"amount,omitempty"`
	// Share is what the limiter has of a window that processes share (package share), nil for other limiters.
	Share *Share `json:"share,omitempty"`
	// Quotas are the quotas that the service reports, in the order of the first reports; at most 16.
	Quotas []Quota `json:"quotas,omitempty"`
	// Config has the settings in force that may change (Reconfigure), with defaults instead of zeros.
	Config Config `json:"-"`
	// Decisions are the latest 32 decisions, the oldest first. They are events of the kinds event.Cut, event.Paused,
	// event.Reconfigured, event.UsedUp and event.Closed, and each event.Answered that narrowed the window or widened it
	// by two or more. They have no Err. A limiter keeps them without an observer, too.
	Decisions []Event `json:"-"`
}

// Quota is the state of one quota of the service, by the answers so far.
type Quota struct {
	// Name is "requests", "tokens", or a key of the service, such as "search".
	Name string `json:"name"`
	// Limit and Left are the whole quota and its rest, in the service's unit.
	Limit float64 `json:"limit"`
	Left  float64 `json:"left"`
	// Refused is the share of what was spent of the quota that went to refused requests, as its reports show it: 0 to 1.
	Refused float64 `json:"refused,omitempty"`
	// Reset is the time when the quota is whole again, or a refused request may be sent again; zero: not known.
	Reset time.Time `json:"reset,omitzero"`
	// UsedUpUntil is the time at which the next request may go, if the quota is used up; zero: the quota is not
	// used up.
	UsedUpUntil time.Time `json:"used_up_until,omitzero"`
}

// name is the quota with its rest and its limit, "" for the zero Quota.
func (q Quota) name() string {
	if q.Name == "" {
		return ""
	}
	return fmt.Sprintf("%s (%s of %s left)", q.Name, number(q.Left), number(q.Limit))
}

func (l *Limiter) quota(s limiter.QuotaState) Quota {
	q := Quota{Name: s.Name, Limit: s.Limit, Left: s.Left, Refused: s.Refused}
	if s.Back > 0 {
		q.Reset = l.made.Add(s.Back)
	}
	if s.Until > 0 {
		q.UsedUpUntil = l.made.Add(s.Until)
	}
	return q
}

// String returns the snapshot in one line.
func (s Snapshot) String() string {
	cwnd := fmt.Sprintf("%.1f", s.Cwnd)
	if s.Cwnd < 1 {
		cwnd = number(s.Cwnd)
	}
	line := fmt.Sprintf("cwnd=%s ssthresh=%.1f in-flight=%d queued=%d success=%d overload=%d timeout=%d neutral=%d client-error=%d cuts=%d pauses=%d late=%d",
		cwnd, s.Ssthresh, s.InFlight, s.Queued, s.Successes, s.Overloads, s.Timeouts, s.Neutrals, s.ClientErrors,
		s.Cuts, s.Pauses, s.Late)
	if s.Phase != "" {
		line += " phase=" + s.Phase
	}
	if s.Gap > 0 {
		line += " gap=" + roughly(s.Gap)
	}
	if !s.PausedUntil.IsZero() {
		line += " paused-until=" + clockTime(s.PausedUntil)
	}
	if s.Aside > 0 {
		line += fmt.Sprintf(" aside=%d", s.Aside)
	}
	if s.Open > 0 {
		line += fmt.Sprintf(" open=%d", s.Open)
	}
	if s.TooLate > 0 {
		line += fmt.Sprintf(" too-late=%d", s.TooLate)
	}
	if s.Backups > 0 {
		line += fmt.Sprintf(" backups=%d", s.Backups)
	}
	if s.Share != nil {
		line += fmt.Sprintf(" share=%s processes=%d mode=%q", number(s.Share.Window), s.Share.Processes, s.Share.Mode)
	}
	if h := s.Shadow; h.Sent > 0 {
		line += fmt.Sprintf(" shadow=%q", h)
	}
	for _, q := range s.Quotas {
		if !q.UsedUpUntil.IsZero() {
			line += fmt.Sprintf(" quota=%q used-up-until=%s", q.name(), clockTime(q.UsedUpUntil))
		}
	}
	return line
}

// Snapshot returns the present state.
func (l *Limiter) Snapshot() Snapshot {
	l.lock()
	defer l.mu.Unlock()
	now := l.now()
	s := l.counts
	s.Name, s.At, s.Law, s.Config = l.config.Name, l.made.Add(now), l.law, *l.settings.Load()
	s.State = l.gate.State()
	_, s.Phase = l.gate.Explain()
	s.Gap, s.InFlight, s.Queued = l.gate.Gap(), l.gate.Flying(), l.line.Len()
	s.Open, s.Amount, s.Shadow = l.gate.Outside(), l.gate.Spent, l.gate.Shadow()
	if until := l.gate.PausedUntil(); until > now {
		s.PausedUntil = l.made.Add(until)
	}
	for _, q := range l.gate.Quotas(now) {
		s.Quotas = append(s.Quotas, l.quota(q))
	}
	s.Decisions = slices.Clip(l.recent)
	return s
}

func (s *Snapshot) count(o window.Outcome) {
	s.Attempts++
	switch o {
	case window.Success:
		s.Successes++
	case window.Overload:
		s.Overloads++
	case window.Timeout:
		s.Timeouts++
	case window.Neutral:
		s.Neutrals++
	case window.ClientError:
		s.ClientErrors++
	}
}

// inUse reports whether an attempt is in flight or an operation waits, and whether the service allows no attempt now: a
// limiter that is made anew would not know it.
func (l *Limiter) inUse() (works, paused bool) {
	l.lock()
	defer l.mu.Unlock()
	until, _ := l.gate.ClosedUntil()
	return l.gate.Flying()+l.gate.Outside() > 0 || l.line.Len() > 0, until > l.now()
}

// restoreAge: a window of an hour ago is probably still right. Our choice.
const restoreAge = time.Hour

// Restore starts a new limiter from the window of an earlier one with the same law: from Snapshot.State and
// Snapshot.At. The bounds of this limiter hold. A zero State has no effect, nor has a State of more than an hour ago,
// or of a time that is more than an hour ahead. A zero time means that the age does not matter. From another law's
// State take only Cwnd: an Ssthresh of 0 means Cwnd. Call Restore before the first attempt: later it is an error, as
// is a State that no window can have.
func (l *Limiter) Restore(s window.State, at time.Time) error {
	if l.ready(); s == (window.State{}) || !at.IsZero() && l.clock.Since(at).Abs() > restoreAge {
		return nil
	}
	if s.Ssthresh == 0 {
		s.Ssthresh = max(s.Cwnd, window.MinWindow)
	}
	l.lock()
	defer l.mu.Unlock()
	if l.counts.Attempts > 0 || l.gate.Flying() > 0 {
		return errAtWork
	}
	if err := l.gate.Restored(s); err != nil {
		return fmt.Errorf("aimd: Restore: %w", err)
	}
	return nil
}
