package limiter

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// LogValue is the snapshot as a group of log/slog, what is zero left out but for the
// window and what is in flight and queued.
func (s Snapshot) LogValue() slog.Value {
	a := named(s.Name)
	a = append(a, slog.Float64("cwnd", s.Cwnd), slog.Float64("ssthresh", s.Ssthresh),
		slog.Int("in_flight", s.InFlight), slog.Int("queued", s.Queued))
	for _, c := range []struct {
		key   string
		count uint64
	}{
		{"successes", s.Successes}, {"overloads", s.Overloads}, {"timeouts", s.Timeouts}, {"neutrals", s.Neutrals},
		{"client_errors", s.ClientErrors}, {"cuts", s.Cuts}, {"pauses", s.Pauses}, {"late", s.Late},
	} {
		if c.count > 0 {
			a = append(a, slog.Uint64(c.key, c.count))
		}
	}
	return slog.GroupValue(a...)
}

// LogValue is the event as a group of log/slog, what is zero left out. Its time is
// left out too: the record has one.
func (e Event) LogValue() slog.Value {
	a := append(named(e.Name), slog.String("kind", e.Kind.String()))
	if e.Before > 0 {
		a = append(a, slog.Float64("before", e.Before))
	}
	a = append(a, slog.Float64("cwnd", e.Window.Cwnd), slog.Float64("ssthresh", e.Window.Ssthresh),
		slog.Int("in_flight", e.InFlight), slog.Int("queued", e.Queued))
	if e.Outcome.Valid() {
		a = append(a, slog.String("outcome", e.Outcome.String()))
	}
	a = durations(a, "rtt", e.RTT)
	a = durations(a, "wait", e.Wait)
	a = durations(a, "retry_after", e.RetryAfter)
	if e.Err != nil {
		a = append(a, slog.String("err", e.Err.Error()))
	}
	return slog.GroupValue(a...)
}

func named(name string) []slog.Attr {
	if name == "" {
		return nil
	}
	return []slog.Attr{slog.String("limiter", name)}
}

func durations(a []slog.Attr, key string, d time.Duration) []slog.Attr {
	if d == 0 {
		return a
	}
	return append(a, slog.Duration(key, d))
}

// Log returns an observer that writes decisions, and what went wrong, to a logger,
// each in the words of Event.String and with the attributes of Event.LogValue: cuts
// and other changes at the level Info; pauses (Paused), operations turned away (Full),
// permits released twice (Late), a service that is not there (Away) and errors that look
// like refusals (Suspect) at Warn.
//
// It writes at most perSecond lines a second; 0 or less means 10. How many were left
// out before a line is its attribute left_out. A nil logger is the one that
// slog.Default returns at the time. It is safe for any number of goroutines and
// limiters; those that share it share the lines.
//
//	aimd.WithObserver(limiter.Log(slog.Default(), 10))
func Log(logger *slog.Logger, perSecond int) func(Event) {
	if perSecond <= 0 {
		perSecond = 10
	}
	lines := rationed{most: perSecond}
	return func(e Event) {
		level := e.Kind.level()
		if level < slog.LevelInfo {
			return
		}
		to := logger
		if to == nil {
			to = slog.Default()
		}
		if !to.Enabled(context.Background(), level) {
			return
		}
		leftOut, ok := lines.take(e.Time)
		if !ok {
			return
		}
		a := e.LogValue().Group()
		if leftOut > 0 {
			a = append(a, slog.Int("left_out", leftOut))
		}
		to.LogAttrs(context.Background(), level, e.String(), a...)
	}
}

// level is the one at which Log writes; Debug: it does not.
func (k Kind) level() slog.Level {
	switch k {
	case Paused, Full, Late, Away, Suspect:
		return slog.LevelWarn
	}
	if k.decision() {
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// rationed lets at most so many lines a second pass.
type rationed struct {
	most int

	mu sync.Mutex
	// began is when this second did. Since then so many were written and left out,
	// or left out before that.
	began            time.Time
	written, leftOut int
}

// take reports whether one more line may pass, and how many did not before it.
func (r *rationed) take(now time.Time) (leftOut int, ok bool) {
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
