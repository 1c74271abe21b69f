package aimd

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

// Log returns an observer that writes decisions, and faults, to a logger, each in the words of Event.String
// and with the attributes of Event.LogValue: changes of the window or of its gap at the level Info; the kinds
// Paused, Full, Late, Away and Suspect at Warn. If the logger is nil, it is slog.Default.
//
// It writes at most perSecond lines a second; 0 or less means 10. The attribute left_out counts the lines
// left out before a line. The observer is safe for any number of goroutines and limiters, which share the
// lines.
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
	if e.Kind == Ignored || !e.decision() {
		return slog.LevelDebug
	}
	if before, after := e.windows(); e.Kind == Cut && before == after {
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
