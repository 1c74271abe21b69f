package upload

import (
	"context"
	"sync"
)

// gate bounds how many things are begun and not ended. Each waits for slots of
// the limiter with its requests, so this bounds what waits, and with it the memory:
// twice the window and two, as aimd.Each has it. (Each itself would take a slot
// for every file, and the requests of the file one more.)
type gate struct {
	limit func() int

	mu sync.Mutex
	// room is signalled when there may be room for one more.
	room *sync.Cond
	// in is how many are in now, peak how many were at most.
	in, peak int
}

func newGate(cwnd func() float64) *gate {
	g := &gate{limit: func() int { return 2*int(cwnd()) + 2 }}
	g.room = sync.NewCond(&g.mu)
	return g
}

// Enter waits for room, or for the end of the context, which is the error.
func (g *gate) Enter(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.room.Broadcast()
	})
	defer stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.in >= g.limit() && ctx.Err() == nil {
		g.room.Wait()
	}
	// The window may have grown by more than one since the last signal.
	defer g.room.Signal()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.in++
	g.peak = max(g.peak, g.in)
	return nil
}

func (g *gate) busy() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.in
}

// Leave makes room.
func (g *gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.in--
	g.room.Signal()
}
