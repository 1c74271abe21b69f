package limiter

import (
	"cmp"
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"
)

// group is a group of pairs of a key and a value, without zeros, except in_flight and queued.
func group(pairs ...any) slog.Value {
	var attrs []slog.Attr
	for i := 0; i < len(pairs); i += 2 {
		key, v := pairs[i].(string), pairs[i+1]
		if key == "in_flight" || key == "queued" || !reflect.ValueOf(v).IsZero() {
			attrs = append(attrs, slog.Any(key, v))
		}
	}
	return slog.GroupValue(attrs...)
}

// LogValue is the snapshot as a group of log/slog, without the fields that are zero.
func (s Snapshot) LogValue() slog.Value {
	return group(
		"limiter", s.Name, "cwnd", s.Cwnd, "ssthresh", s.Ssthresh, "gap", s.Gap, "paused_until", s.PausedUntil,
		"in_flight", s.InFlight, "queued", s.Queued, "successes", s.Successes, "overloads", s.Overloads,
		"timeouts", s.Timeouts, "neutrals", s.Neutrals, "client_errors", s.ClientErrors,
		"cuts", s.Cuts, "pauses", s.Pauses, "late", s.Late,
	)
}

// LogValue is the event as a group of log/slog, without its time and the fields that are zero.
func (e Event) LogValue() slog.Value {
	outcome, err := "", ""
	if e.Outcome.Valid() {
		outcome = e.Outcome.String()
	}
	if e.Err != nil {
		err = e.Err.Error()
	}
	return group(
		"limiter", e.Name, "kind", e.Kind.String(), "before", e.Before, "cwnd", e.Window.Cwnd,
		"ssthresh", e.Window.Ssthresh, "gap", e.Window.Gap, "in_flight", e.InFlight, "queued", e.Queued,
		"outcome", outcome, "rtt", e.RTT, "wait", e.Wait, "retry_after", e.RetryAfter, "err", err,
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
