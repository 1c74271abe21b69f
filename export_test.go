package aimd

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Reacquire waits at the front of the queue, as the attempts of Do and Begin after the first do.
func (l *Limiter) Reacquire(ctx context.Context) (Permit, error) {
	return l.acquire(ctx, place{retry: true})
}

// Done releases the permit with an outcome, as an attempt with that end does.
func (p Permit) Done(o window.Outcome) { p.release(o, verdict.Verdict{}, nil, nil) }

// Settle releases the permit as the end of such an attempt does.
func (p Permit) Settle(v verdict.Verdict) {
	p.release(v.Outcome(), v, errors.New("429 Too Many Requests"), nil)
}

// Items is the iterator below Each and Map.
func Items[T any](ctx context.Context, l *Limiter, items iter.Seq[T], fn func(context.Context, T) error) iter.Seq2[T, error] {
	return each(ctx, l, items, fn, new(error))
}

// HasRoom reports whether Each pulls one more item if so many have not ended, and so many of those are aside.
func HasRoom(l *Limiter, pulled, aside int) bool {
	b := bulk[int]{limiter: l}
	b.pulled.Store(int64(pulled + 1)) // the feeder
	b.aside.Store(int64(aside))
	return b.hasRoom()
}

// SetClock puts a clock in the place of the real one. Call it before all else.
func (l *Limiter) SetClock(source clock.Clock) { l.clock, l.made = source, source.Now() }

// SetClock puts a clock in the place of the real one. Call it before all else.
func (k *Keyed[K]) SetClock(source clock.Clock) { k.clock = source }

// NewClipped is the mean of a Backup.
func NewClipped() (took func(time.Duration), in func(time.Duration) time.Duration) {
	c := new(clipped)
	return c.took, c.in
}
