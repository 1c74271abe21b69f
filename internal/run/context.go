package run

import (
	"context"
	"time"

	"github.com/aimd-go/aimd/internal/fact"
)

// scope is an Attempt as the context of the work within it: two context.WithValue without an allocation.
type scope Attempt

func (s *scope) Deadline() (time.Time, bool) { return s.ctx.Deadline() }
func (s *scope) Done() <-chan struct{}       { return s.ctx.Done() }
func (s *scope) Err() error                  { return s.ctx.Err() }

func (s *scope) Value(key any) any {
	switch {
	case s.number > 0 && key == fact.NumberKey{}:
		return int(s.number)
	case s.owns && key == s.runner.Slots && !s.ended.Load():
		return s.ticket
	}
	return s.ctx.Value(key)
}

// holds reports whether the context belongs to an attempt that has a slot of s and has not ended.
func holds(ctx context.Context, s Slots) bool { return ctx.Value(s) != nil }
