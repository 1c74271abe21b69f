package attempt

import (
	"context"
	"time"
)

// scope is an Attempt as the context of what is done within it. It is two
// context.WithValue for the price of none.
type scope Attempt

func (s *scope) Deadline() (time.Time, bool) { return s.ctx.Deadline() }
func (s *scope) Done() <-chan struct{}       { return s.ctx.Done() }
func (s *scope) Err() error                  { return s.ctx.Err() }

func (s *scope) Value(key any) any {
	switch {
	case s.number > 0 && key == numberKey{}:
		return s.number
	case s.slots != nil && key == s.slots && !s.ended.Load():
		return true
	}
	return s.ctx.Value(key)
}

type numberKey struct{}

// Number tells which attempt of its operation the context is that of: 1 is the
// first, 2 the first retry; 0: not known.
func Number(ctx context.Context) int {
	n, _ := ctx.Value(numberKey{}).(int)
	return n
}

// holds reports whether the context is that of an attempt that has a slot of s
// and has not ended.
func holds(ctx context.Context, s Slots) bool { return ctx.Value(s) != nil }
