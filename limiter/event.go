package limiter

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/window"
)

// Kind says what an event is about.
type Kind uint8

// Every answer is exactly one of the first five; the other kinds are events of their own.
const (
	// Grew: a success widened the window.
	Grew Kind = iota + 1
	// Shrank: the law narrowed the window without an overload.
	Shrank
	// Cut: the first overload of a burst; the law reacted, though it may have left the window as it was.
	Cut
	// Ignored: an overload of a burst that counted already. A law may narrow the window a little more for it.
	Ignored
	// Steady: an answer that left the window as it was.
	Steady
	// Paused: a pause for all operations began; no attempt is sent for Event.Wait.
	Paused
	// Admitted: an operation got its slot after it waited for Event.Wait.
	Admitted
	// Late: a permit was released a second time.
	Late
	// Full: an operation was turned away, the queue is full.
	Full
	// Closed: the limiter takes no more work.
	Closed
	// Reconfigured: the limiter is under new rules.
	Reconfigured
	// Away: an attempt found no service, for the reason in Event.Err; once until the service answers.
	Away
	// Suspect: the error in Event.Err is final and neutral though it looks like a refusal, so the classifier
	// may not know it. There is one such event for each limiter. With a Wait: answers of 403 in a row are taken
	// for a block of the client, and all operations pause for that time.
	Suspect
	// UsedUp: the quota in Event.Quota is used up for Event.Wait.
	UsedUp
)

var kinds = [...]string{"none", "grew", "shrank", "cut", "ignored", "steady", "paused", "admitted", "late", "full", "closed", "reconfigured", "away", "suspect", "used up"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return kinds[0]
}

var kindOf = [...]Kind{
	core.Late: Late, core.Steady: Steady, core.Grew: Grew,
	core.Shrank: Shrank, core.Cut: Cut, core.Ignored: Ignored,
}

// Event says what happened, and how the limiter stood right after it.
type Event struct {
	// Name is the limiter's, Config.Name.
	Name string
	// Seq numbers a limiter's events 1, 2, 3... in the order in which they happened. Observers are called
	// without the lock, so of two goroutines' events the later may arrive first.
	Seq  uint64
	Time time.Time
	Kind Kind
	// Window is the window after the event, and Gap the shortest time between two sends, 0 without one. Before
	// and GapBefore are cwnd and the gap before the event.
	Window         window.State
	Before         float64
	Gap, GapBefore time.Duration
	// InFlight and Queued are counted after the event.
	InFlight, Queued int
	// Outcome and RTT are the outcome and the round-trip time of an answer. They are zero for every other event.
	Outcome window.Outcome
	RTT     time.Duration
	// Wait is how long the pause (Paused, Suspect), the operation's wait (Admitted) or the quota's (UsedUp) is.
	Wait time.Duration
	// RetryAfter is the service's Retry-After, 0 without one; of a pause, if the service asked for the pause,
	// which lasts a little longer. MaxRetryAfter is the setting if a pause was cut to it, otherwise 0.
	RetryAfter, MaxRetryAfter time.Duration
	// Err is the error of the kinds Away and Suspect, and of a pause that the service asked for.
	Err error
	// Quota is the quota of the kind UsedUp, nil for other kinds.
	Quota *Quota
}

// String says what happened and why, in words for people: "cut: first refusal of a burst, 32 -> 29".
func (e Event) String() string {
	switch e.Kind {
	case Cut:
		return "cut: first " + e.refusal() + " of a burst, " + e.moved()
	case Shrank:
		return "shrank: answers got slower, " + e.moved()
	case Paused:
		if e.MaxRetryAfter > 0 {
			return fmt.Sprintf("paused %s: the service asked for %v, cut to %v by WithMaxRetryAfter", roughly(e.Wait), e.RetryAfter, e.MaxRetryAfter)
		}
		if e.RetryAfter > 0 {
			return fmt.Sprintf("paused %s: the service asked for %s", roughly(e.Wait), roughly(e.RetryAfter))
		}
		return "paused " + roughly(e.Wait) + ": refused again, and nothing accepted in between"
	case Reconfigured:
		return "reconfigured: new settings, " + e.moved()
	case Closed:
		return "closed: takes no more work"
	case Grew:
		return "grew: " + e.moved()
	case Ignored:
		if e.deeper() {
			return "cut: more " + e.refusal() + "s of the burst, " + e.moved()
		}
		return "ignored: " + e.refusal() + " of a burst that was answered already"
	case Steady:
		return "steady: " + e.Outcome.String() + ", the window stays " + number(e.Window.Cwnd)
	case Admitted:
		return "admitted: waited " + roughly(e.Wait)
	case Late:
		return "late: a permit was released a second time"
	case Full:
		return fmt.Sprintf("full: turned away, %d wait already", e.Queued)
	case Away:
		return fmt.Sprint("away: the service is not there: ", e.Err)
	case UsedUp:
		return fmt.Sprintf("used up: the service has %s of %s %s left, the next go in %s",
			number(e.Quota.Left), number(e.Quota.Limit), e.Quota.Name, roughly(e.Wait))
	case Suspect:
		if e.Wait > 0 {
			return fmt.Sprint("suspect: answers of 403 in a row after successes, taken for a block by a firewall: ", e.Err)
		}
		return fmt.Sprint("suspect: final, though it looks like a refusal: ", e.Err)
	}
	return e.Kind.String()
}

func (e Event) refusal() string {
	if e.Outcome == window.Timeout {
		return "timeout"
	}
	return "refusal"
}

func (e Event) moved() string {
	before, after := e.windows()
	if before != after {
		return before + " -> " + after
	}
	return "the window stays " + after
}

// windows are the windows before and after the event: "2", or "1 every 400ms" by the gap.
func (e Event) windows() (before, after string) {
	size := func(cwnd float64, gap time.Duration) string {
		if gap == 0 || cwnd > window.MinWindow {
			return number(cwnd)
		}
		return "1 every " + roughly(gap)
	}
	return size(e.Before, e.GapBefore), size(e.Window.Cwnd, e.Gap)
}

// number is a window with one digit after the point, if that is not 0; below 1 with two digits that matter.
func number(w float64) string {
	if w < 1 {
		return strconv.FormatFloat(w, 'g', 2, 64)
	}
	return strconv.FormatFloat(float64(int64(w*10+0.5))/10, 'f', -1, 64)
}

// roughly is a time with the digits that matter.
func roughly(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, 100 * time.Millisecond, time.Millisecond} {
		if d >= 10*unit || d >= unit && unit == time.Millisecond {
			return d.Round(unit).String()
		}
	}
	return d.String()
}

func (e Event) decision() bool {
	switch e.Kind {
	case Cut, Shrank, Paused, Closed, Reconfigured, UsedUp:
		return true
	}
	return e.deeper()
}

func (e Event) deeper() bool { return e.Kind == Ignored && e.Window.Cwnd < e.Before }

const decisions = 32

// Decisions returns the latest 32 decisions, those with a Seq greater than after, oldest first: events of the
// kinds Cut, Shrank, Paused, Reconfigured, UsedUp and Closed, and of Ignored those that narrowed the window.
func (l *Limiter) Decisions(after uint64) []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Event
	for _, e := range l.recent {
		if e.Seq > after {
			all = append(all, e)
		}
	}
	return all
}

// note numbers an event, and keeps it for the observer and for Decisions.
func (l *Limiter) note(now time.Duration, e Event) {
	e.Window, e.Gap = l.core.State(), l.core.Gap()
	decision := e.decision()
	if l.observer == nil && !decision {
		return
	}
	l.seq++
	e.Name, e.Seq, e.Time = l.name, l.seq, l.made.Add(now)
	e.InFlight, e.Queued = l.core.Flying(), l.core.Queue.Len()
	if l.observer != nil {
		l.events = append(l.events, e)
	}
	if !decision {
		return
	}
	if len(l.recent) == decisions {
		l.recent = slices.Delete(l.recent, 0, 1)
	}
	e.Err = nil // an error may hold much
	l.recent = append(l.recent, e)
}

// group is a group of pairs of a key and a value, durations in seconds, without zeros, except in_flight and
// queued.
func group(pairs ...any) slog.Value {
	var attrs []slog.Attr
	for i := 0; i < len(pairs); i += 2 {
		key, v := pairs[i].(string), pairs[i+1]
		if d, ok := v.(time.Duration); ok {
			v = d.Seconds() // slog's JSON would have bare nanoseconds
		}
		if key == "in_flight" || key == "queued" || !reflect.ValueOf(v).IsZero() {
			attrs = append(attrs, slog.Any(key, v))
		}
	}
	return slog.GroupValue(attrs...)
}

// LogValue is the snapshot as a group of log/slog, without the fields that are zero. Gap is in seconds; of the
// quotas that are used up, quota and quota_until are the one that is so for longest.
func (s Snapshot) LogValue() slog.Value {
	var used Quota
	for _, q := range s.Quotas {
		if q.UsedUpUntil.After(used.UsedUpUntil) {
			used = q
		}
	}
	return group(
		"limiter", s.Name, "cwnd", s.Cwnd, "ssthresh", s.Ssthresh, "gap", s.Gap, "paused_until", s.PausedUntil,
		"in_flight", s.InFlight, "queued", s.Queued, "successes", s.Successes, "overloads", s.Overloads,
		"timeouts", s.Timeouts, "neutrals", s.Neutrals, "client_errors", s.ClientErrors,
		"cuts", s.Cuts, "pauses", s.Pauses, "late", s.Late, "quota", used.name(), "quota_until", used.UsedUpUntil,
	)
}

// LogValue is the event as a group of log/slog, without its time and the fields that are zero. Its durations
// gap, rtt, wait and retry_after are numbers of seconds.
func (e Event) LogValue() slog.Value {
	outcome, err, used := "", "", Quota{}
	if e.Outcome.Valid() {
		outcome = e.Outcome.String()
	}
	if e.Err != nil {
		err = e.Err.Error()
	}
	if e.Quota != nil {
		used = *e.Quota
	}
	return group(
		"limiter", e.Name, "kind", e.Kind.String(), "before", e.Before, "cwnd", e.Window.Cwnd,
		"ssthresh", e.Window.Ssthresh, "gap", e.Gap, "in_flight", e.InFlight, "queued", e.Queued,
		"outcome", outcome, "rtt", e.RTT, "wait", e.Wait, "retry_after", e.RetryAfter, "err", err,
		"quota", used.name(), "quota_until", used.UsedUpUntil,
	)
}

// Log returns an observer that writes decisions, and faults, to a logger, each in the words of Event.String
// and with the attributes of Event.LogValue: changes of the window or of its gap at the level Info; the kinds
// Paused, Full, Late, Away and Suspect at Warn. If the logger is nil, it is slog.Default.
//
// It writes at most perSecond lines a second; 0 or less means 10. The attribute left_out counts the lines
// left out before a line. The observer is safe for any number of goroutines and limiters, which share the
// lines.
//
//	aimd.WithObserver(limiter.Log(slog.Default(), 10))
func Log(logger *slog.Logger, perSecond int) func(Event) {
	lines := ration{most: 10}
	if perSecond > 0 {
		lines.most = perSecond
	}
	ctx := context.Background()
	return func(e Event) {
		level, to := e.level(), cmp.Or(logger, slog.Default())
		if level < slog.LevelInfo || !to.Enabled(ctx, level) {
			return
		}
		leftOut, ok := lines.take(e.Time)
		if !ok {
			return
		}
		attrs := e.LogValue().Group()
		if leftOut > 0 {
			attrs = append(attrs, slog.Uint64("left_out", leftOut))
		}
		to.LogAttrs(ctx, level, e.String(), attrs...)
	}
}

// level is the level at which Log writes the event; Debug: it does not.
func (e Event) level() slog.Level {
	switch e.Kind {
	case Paused, Full, Late, Away, Suspect:
		return slog.LevelWarn
	}
	before, after := e.windows()
	if e.Kind == Ignored || e.Kind == Cut && before == after || !e.decision() {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// ration lets at most a number of lines pass in a second.
type ration struct {
	most int

	mu sync.Mutex
	// began is the start of this second, written its lines, leftOut the lines since the last written.
	began   time.Time
	written int
	leftOut uint64
}

// take reports whether one more line may pass, and how many were left out before it.
func (r *ration) take(now time.Time) (leftOut uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.began) >= time.Second {
		r.began, r.written = now, 0
	}
	if r.written >= r.most {
		r.leftOut++
		return 0, false
	}
	r.written++
	leftOut, r.leftOut = r.leftOut, 0
	return leftOut, true
}
