// Package sharetest has a store of package share in memory, and holds that any store does what share.Store says. It is for
// tests.
package sharetest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aimd-go/aimd/internal/fleet"
	"github.com/aimd-go/aimd/share"
)

// ErrAway is the error of a Memory that is away.
var ErrAway = errors.New("sharetest: the store is away")

// Memory is a share.Store of this process. The zero value is ready. All goroutines may use it.
type Memory struct {
	mu    sync.Mutex
	table fleet.Table[[]byte, []byte]
	fails error
	delay time.Duration
	calls int
	skew  time.Duration
}

func (m *Memory) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// Fails makes all calls fail with that error from now on, nil: with none.
func (m *Memory) Fails(err error) { m.locked(func() { m.fails = err }) }

// Takes makes each call take so long, there and back.
func (m *Memory) Takes(d time.Duration) { m.locked(func() { m.delay = d }) }

// Jumps sets the store's clock forth, or back.
func (m *Memory) Jumps(d time.Duration) { m.locked(func() { m.skew += d }) }

// Forgets loses all.
func (m *Memory) Forgets() { m.locked(func() { m.table = fleet.Table[[]byte, []byte]{} }) }

// Calls is the number of calls so far.
func (m *Memory) Calls() (n int) {
	m.locked(func() { n = m.calls })
	return n
}

// call runs f at the store, half of the delay after the call.
func (m *Memory) call(ctx context.Context, f func(now time.Duration)) error {
	var half time.Duration
	m.locked(func() { half = m.delay / 2 })
	err := sleep(ctx, half)
	if err != nil {
		return err
	}
	m.locked(func() {
		m.calls++
		if err = m.fails; err == nil {
			f(time.Duration(time.Now().UnixNano()) + m.skew)
		}
	})
	if err != nil {
		return err
	}
	return sleep(ctx, half)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Report implements share.Store.
func (m *Memory) Report(ctx context.Context, id string, row []byte, lease time.Duration) (a share.Answer, err error) {
	err = m.call(ctx, func(now time.Duration) {
		a.Message, a.Run = m.table.Report(now, id, bytes.Clone(row), lease)
		a.Now = time.Unix(0, int64(now))
	})
	return a, err
}

// Lead implements share.Store.
func (m *Memory) Lead(ctx context.Context, id string, run int64, message []byte, lease time.Duration) (rows map[string][]byte, err error) {
	ok := false
	err = m.call(ctx, func(now time.Duration) {
		if len(message) > 0 {
			ok = m.table.Say(now, id, run, bytes.Clone(message), lease)
		} else {
			rows, ok = m.table.Rows(now, id, run, lease)
		}
	})
	if err == nil && !ok {
		err = share.ErrLost
	}
	return rows, err
}

// Leave implements share.Store.
func (m *Memory) Leave(ctx context.Context, id string) error {
	return m.call(ctx, func(time.Duration) { m.table.Leave(id) })
}
