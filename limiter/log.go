package limiter

import (
	"cmp"
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"
)

// attrs are the attributes of a log record.
type attrs []slog.Attr

func (a *attrs) always(key string, v any) { *a = append(*a, slog.Any(key, v)) }

// add adds a value that is not zero.
func (a *attrs) add(key string, v any) {
	if !reflect.ValueOf(v).IsZero() {
		a.always(key, v)
	}
}

// LogValue is the snapshot as a group of log/slog. Counters that are zero are left out.
func (s Snapshot) LogValue() slog.Value {
	var a attrs
	a.add("limiter", s.Name)
	a.add("cwnd", s.Cwnd)
	a.add("ssthresh", s.Ssthresh)
	a.add("gap", s.Gap)
	a.add("paused_until", s.PausedUntil)
	a.always("in_flight", s.InFlight)
	a.always("queued", s.Queued)
	a.add("successes", s.Successes)
	a.add("overloads", s.Overloads)
	a.add("timeouts", s.Timeouts)
	a.add("neutrals", s.Neutrals)
	a.add("client_errors", s.ClientErrors)
	a.add("cuts", s.Cuts)
	a.add("pauses", s.Pauses)
	a.add("late", s.Late)
	return slog.GroupValue(a...)
}

// LogValue is the event as a group of log/slog, without the fields that are zero and without its time,
// which the record has.
func (e Event) LogValue() slog.Value {
	var a attrs
	a.add("limiter", e.Name)
	a.always("kind", e.Kind.String())
	a.add("before", e.Before)
	a.always("cwnd", e.Window.Cwnd)
	a.always("ssthresh", e.Window.Ssthresh)
	a.add("gap", e.Window.Gap)
	a.always("in_flight", e.InFlight)
	a.always("queued", e.Queued)
	if e.Outcome.Valid() {
		a.always("outcome", e.Outcome.String())
	}
	a.add("rtt", e.RTT)
	a.add("wait", e.Wait)
	a.add("retry_after", e.RetryAfter)
	if e.Err != nil {
		a.always("err", e.Err.Error())
	}
	return slog.GroupValue(a...)
}

// Log returns an observer that writes decisions, and what went wrong, to a logger, each in the words of
// Event.String and with the attributes of Event.LogValue: cuts and other changes of the window or of its
// gap at the level Info; pauses (Paused), operations turned away (Full), permits released twice (Late), a
// service that is not there (Away) and errors that look like refusals (Suspect) at Warn.
//
// It writes at most perSecond lines a second; 0 or less means 10. The attribute left_out of a line counts
// the lines left out before it. If the logger is nil, Log uses slog.Default at each event. The observer
// is safe for any number of goroutines and limiters; limiters that share it share the lines.
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
		a := attrs(e.LogValue().Group())
		a.add("left_out", leftOut)
		to.LogAttrs(ctx, level, e.String(), a...)
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
	// began is the start of this second, written the lines in it, and leftOut the lines left out since
	// the last one that was written.
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
