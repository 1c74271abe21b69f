package attempt

import (
	"context"
	"time"
)

// passed is why a context is over, nil if it is not. The attempt's error may be any (context.Cause). A socket
// or http.Client.Timeout watches the deadline on its own, and may fail a little before the context ends.
func passed(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, bounded := ctx.Deadline(); bounded && !wall.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return nil
}

// attemptContext is an Attempt as the context of the work within it: two context.WithValue without an allocation.
type attemptContext Attempt

func (s *attemptContext) Deadline() (time.Time, bool) { return s.ctx.Deadline() }
func (s *attemptContext) Done() <-chan struct{}       { return s.ctx.Done() }
func (s *attemptContext) Err() error                  { return s.ctx.Err() }

func (s *attemptContext) Value(key any) any {
	switch {
	case s.number > 0 && key == numberKey{}:
		return int(s.number)
	case s.owns && key == s.runner.Slots && !s.ended.Load():
		return s.ticket
	case s.owns && key == ownerKey{}:
		return (*Attempt)(s)
	}
	return s.ctx.Value(key)
}

// holds reports whether the context belongs to an attempt that has a slot of s and has not ended.
func holds(ctx context.Context, s Slots) bool { return ctx.Value(s) != nil }
