package proxy

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/aimd-go/aimd/queue"
)

var errMemory = errors.New("the bodies of other requests hold all of --memory, for longer than --hold")

// memory bounds the bytes of all bodies that are kept. Each body gets room as it comes, up to a quarter of all room. From
// there on a body whose length is told waits until there is room for all of it: otherwise all would come by half, and then one
// at a time. If no body has room for all of it, the next goes above the bound, or they could wait for each other for ever. If no
// body has given room back for --hold, waiting requests are told.
type memory struct {
	mu         sync.Mutex
	most, left int64
	// whole is the number of bodies that have room for all of them, or go above.
	whole int
	// freed is the time when a body last gave room back.
	freed time.Time
	line  queue.Queue[*claim]
}

// claim is one that waits for room.
type claim struct {
	item queue.Item[*claim]
	of   *kept
	// n is what it needs next, rest all that will come of it, 0: not known. A guess would hold the room of many.
	n, rest int64
	met     chan struct{}
}

func (m *memory) take(ctx context.Context, k *kept, n, rest int64, hold time.Duration) error {
	m.mu.Lock()
	if k.whole || m.line.Len() == 0 && m.plenty(n) {
		m.give(k, max(0, k.size+n-k.taken))
		m.mu.Unlock()
		return nil
	}
	c := &claim{of: k, n: n, rest: rest, met: make(chan struct{})}
	c.item.Value = c
	m.line.Push(&c.item)
	m.serve()
	m.mu.Unlock()
	began, err := time.Now(), error(nil)
	over := time.NewTimer(hold)
	defer over.Stop()
	for err == nil {
		select {
		case <-c.met:
			return nil
		case <-over.C:
			m.mu.Lock()
			left := hold - time.Since(later(began, m.freed))
			m.mu.Unlock()
			if over.Reset(left); left <= 0 {
				err = errMemory
			}
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.line.Remove(&c.item) {
		return nil // its turn came at the same moment
	}
	m.serve()
	return err
}

func later(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// plenty reports whether a body may take so much as it comes. A quarter is our choice: with half of all room 60 slow bodies
// take 1.4 times as long.
func (m *memory) plenty(n int64) bool { return m.left-n >= m.most/4*3 }

func (m *memory) give(k *kept, n int64) {
	m.left -= n
	k.taken += n
}

// serve gives room to those that wait, in their order. Call it with mu.
func (m *memory) serve() {
	for i, _ := m.line.Ends(); i != nil; i, _ = m.line.Ends() {
		c, n := i.Value, i.Value.n
		if !m.plenty(n) {
			n = max(n, c.rest)
			above := m.left < n
			if above && m.whole > 0 {
				return
			}
			if c.of.whole = above || c.rest > 0; c.of.whole {
				m.whole++
			}
		}
		m.give(c.of, n)
		m.line.Remove(i)
		close(c.met)
	}
}

// trim gives back what a body that has come did not need.
func (m *memory) trim(k *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.give(k, k.size-k.taken)
	m.serve()
}

// free forgets the body. A send that is under way continues.
func (m *memory) free(k *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left += k.taken; k.taken > 0 {
		m.freed = time.Now()
	}
	if k.unread.Load() == 0 {
		for _, part := range k.parts {
			buffers.Put(part)
		}
	}
	if k.taken, k.parts = 0, nil; k.whole {
		k.whole = false
		m.whole--
	}
	m.serve()
}

// buffer is the size of those through which answers pass, and of the parts of a kept body.
const buffer = 32 << 10

// buffers are used again: httputil would make one for each answer.
var buffers = pool{sync.Pool{New: func() any { return new([buffer]byte) }}}

type pool struct{ sync.Pool }

func (p *pool) Get() []byte { return p.Pool.Get().(*[buffer]byte)[:] }

// Put takes what Get and part returned; a smaller part is not used again.
func (p *pool) Put(b []byte) {
	if cap(b) == buffer {
		p.Pool.Put((*[buffer]byte)(b[:buffer]))
	}
}

// part returns n bytes, or a whole buffer if that is less.
func (p *pool) part(n int64) []byte {
	if n >= buffer {
		return p.Get()
	}
	return make([]byte, n)
}
