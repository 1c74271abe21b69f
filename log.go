package aimd

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/aimd-go/aimd/event"
)

// Log returns an observer that writes decisions and faults to a logger, in the words of Event.String and with the
// fields that are not zero. Changes of the window or of its gap are at the level Info; the kinds event.Paused,
// event.Full, event.Late, event.Away, event.Blocked, event.TooLate, event.Aside, event.Open and event.Unknown at Warn,
// as event.Share without the store. Durations are in seconds. A nil logger means slog.Default.
//
// It writes at most perSecond lines a second; 0 or less means 10. The attribute left_out is the number of lines
// left out before a line. The observer is safe for any number of goroutines and limiters, which share the rate.
//
//	aimd.Config{Observer: Log(slog.Default(), 10)}
func Log(logger *slog.Logger, perSecond int) func(Event) {
	lines := ration{most: 10}
	if perSecond > 0 {
		lines.most = perSecond
	}
	ctx := context.Background()
	return func(e Event) {
		level := e.level()
		if level < slog.LevelInfo {
			return
		}
		to := cmp.Or(logger, slog.Default())
		if !to.Enabled(ctx, level) {
			return
		}
		leftOut, ok := lines.take(e.Time)
		if !ok {
			return
		}
		attrs := e.attrs()
		if leftOut > 0 {
			attrs = append(attrs, slog.Uint64("left_out", leftOut))
		}
		to.LogAttrs(ctx, level, e.String(), attrs...)
	}
}

// level is the level at which Log writes the event; Debug: it does not.
func (e Event) level() slog.Level {
	switch e.Kind {
	case event.Paused, event.Full, event.Late, event.Away, event.Blocked, event.TooLate, event.Aside, event.Open, event.Unknown:
		return slog.LevelWarn
	case event.Share:
		if e.Err != nil {
			return slog.LevelWarn
		}
		return slog.LevelInfo
	case event.Held:
		return slog.LevelInfo
	}
	if e.Kind == event.Answered && e.Outcome.Overloaded() || !e.decision() {
		return slog.LevelDebug
	}
	if before, after := e.windows(); e.Kind == event.Cut && before == after {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// attrs are the fields of the event, without its time and those that are zero, except in_flight and queued.
func (e Event) attrs() []slog.Attr {
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
	seconds := func(key string, d time.Duration) slog.Attr { // slog's JSON would have bare nanoseconds
		return slog.Float64(key, d.Seconds())
	}
	return slices.DeleteFunc([]slog.Attr{
		slog.String("limiter", e.Name), slog.String("kind", string(e.Kind)), slog.Float64("before", e.Before),
		slog.Float64("cwnd", e.Window.Cwnd), slog.Float64("ssthresh", e.Window.Ssthresh), seconds("gap", e.Gap),
		slog.Int("in_flight", e.InFlight), slog.Int("queued", e.Queued), slog.Uint64("count", e.Count), slog.String("outcome", outcome), slog.String("cause", e.Cause),
		seconds("rtt", e.RTT), seconds("wait", e.Wait), seconds("retry_after", e.RetryAfter), slog.String("err", err),
		slog.String("quota", used.name()), slog.Time("quota_until", used.UsedUpUntil),
	}, func(a slog.Attr) bool {
		switch v := a.Value.Any().(type) {
		case string:
			return v == ""
		case float64:
			return v == 0
		case uint64:
			return v == 0
		case time.Time:
			return v.IsZero()
		}
		return false
	})
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

// take reports whether one more line may pass, and the number of lines left out before it.
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
