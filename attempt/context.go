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
	switch key.(type) {
	case holderKey:
		if s.slots != nil {
			return (*Attempt)(s)
		}
	case numberKey:
		if s.number > 0 {
			return s.number
		}
	}
	return s.ctx.Value(key)
}

// holderKey is the key of the innermost attempt that took a slot, numberKey that of
// an attempt's number.
type (
	holderKey struct{}
	numberKey struct{}
)

// Number tells which attempt of its operation the context is that of: 1 is the
// first, 2 the first retry; 0: not known.
func Number(ctx context.Context) int {
	n, _ := ctx.Value(numberKey{}).(int)
	return n
}

// Holds reports whether the context is that of an attempt that has a slot of s
// and has not ended. What is begun with it takes no second one: to wait for it
// while holding the first could last for ever.
func Holds(ctx context.Context, s Slots) bool {
	for {
		a, _ := ctx.Value(holderKey{}).(*Attempt)
		if a == nil {
			return false
		}
		if a.slots == s && !a.ended.Load() {
			return true
		}
		ctx = a.ctx
	}
}
