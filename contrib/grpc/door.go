package aimdgrpc

import (
	"context"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
)

// door is what a client's interceptors have in common.
type door struct {
	limiter *limiter.Limiter
}

func newDoor(l *limiter.Limiter) *door {
	if l == nil {
		panic("aimdgrpc: the limiter is nil")
	}
	return &door{limiter: l}
}

// admit asks the limiter's guards, and waits for a slot, at the front of the
// queue if the number says that this is a retry. Its error is that of notSent.
func (d *door) admit(ctx context.Context, number int) (*attempt.Attempt, error) {
	a, err := d.limiter.Begin(ctx, number)
	if err != nil {
		return nil, notSent(err)
	}
	return a, nil
}
