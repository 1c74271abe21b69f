package limiter

import (
	"context"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/window"
)

// slots is a Limiter as run.Slots.
type slots Limiter

func (s *slots) limiter() *Limiter { return (*Limiter)(s) }

func (s *slots) Take(ctx context.Context, retry bool) (window.Ticket, error) {
	p, err := s.limiter().acquire(ctx, retry)
	return p.t, err
}

func (s *slots) Settle(t window.Ticket, v attempt.Verdict) {
	// A second release would be an error, but an attempt ends once.
	_ = Permit{s.limiter(), t}.release(v.Outcome, v.RetryAfter)
}

func (s *slots) Limits() (attempts int, timeout time.Duration) {
	c := s.limiter().config.Load()
	return c.MaxAttempts, c.AttemptTimeout
}

func (s *slots) Closed() (<-chan struct{}, error) { return s.shut, ErrClosed }

func (s *slots) Backoffs(failures int, last window.Outcome) int {
	return core.Settings{Patience: s.limiter().config.Load().Patience}.Backoffs(failures, last)
}

func (s *slots) RetryDelay(failures int, last window.Outcome, retryAfter time.Duration) time.Duration {
	l := s.limiter()
	l.mu.Lock()
	now := l.now()
	pause := l.core.PausedUntil() - now
	if asked := min(retryAfter, l.config.Load().RetryAfterMax); asked > 0 && pause >= asked {
		retryAfter = 0 // the pause has it, with its jitter
	} else {
		pause = 0
	}
	d := max(pause, l.core.RetryDelay(failures, last, retryAfter))
	l.unlock(now)
	return d
}

// HasSlot reports whether the context is that of an attempt that has a slot of
// the limiter and has not ended. What is begun with it takes no second one: to
// wait for it while holding the first could last for ever.
func (l *Limiter) HasSlot(ctx context.Context) bool { return ctx.Value((*slots)(l)) != nil }
