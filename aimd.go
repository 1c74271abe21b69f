package aimd

import (
	"context"
	"fmt"
	"iter"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// These are the types of package limiter, here so that most programs need one
// import.
type (
	// Limiter is a [limiter.Limiter].
	Limiter = limiter.Limiter
	// Permit is a [limiter.Permit].
	Permit = limiter.Permit
	// Snapshot is a [limiter.Snapshot].
	Snapshot = limiter.Snapshot
	// Event is a [limiter.Event].
	Event = limiter.Event
	// Error is a [limiter.Error].
	Error = limiter.Error
	// Outcome is a [window.Outcome].
	Outcome = window.Outcome
	// State is a [window.State].
	State = window.State
)

// The outcomes of an attempt; see package window.
const (
	Success     = window.Success
	Overload    = window.Overload
	Timeout     = window.Timeout
	Neutral     = window.Neutral
	ClientError = window.ClientError
)

// What a limiter says no with; see package limiter.
var (
	ErrClosed    = limiter.ErrClosed
	ErrQueueFull = limiter.ErrQueueFull
	ErrReleased  = limiter.ErrReleased
	ErrAttempts  = limiter.ErrAttempts
)

// New returns a limiter with any law: Tahoe, Reno, or one from elsewhere. The
// error names the setting that is wrong, its value and what is allowed.
func New(law window.NewLaw, opts ...Option) (*Limiter, error) {
	var c limiter.Config
	for _, o := range opts {
		if err := o(&c); err != nil {
			return nil, fmt.Errorf("aimd: %w", err)
		}
	}
	return limiter.New(law, c)
}

// Each runs fn for every item, as many at a time as the limiter's window lets,
// and yields every item with how it went. See [limiter.Each].
func Each[T any](ctx context.Context, l *Limiter, items iter.Seq[T], fn func(context.Context, T) error) iter.Seq2[T, error] {
	return limiter.Each(ctx, l, items, fn)
}
