package limiter

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// lock is what Limiter.lock does.
func (l *latch) lock() uint64 {
	id, ok := l.tryLock()
	if !ok {
		id = l.lockInLine()
	}
	return id
}

func TestLatchGivesEachFreeSlotOnce(t *testing.T) {
	l := newLatch()
	_, ok := l.take()
	require.False(t, ok, "none is free")
	require.EqualValues(t, 0, l.lock())
	l.unlock(0, 2)
	for want := uint64(1); want <= 2; want++ {
		id, ok := l.take()
		require.True(t, ok)
		require.Equal(t, want, id)
	}
	_, ok = l.take()
	require.False(t, ok)
	require.EqualValues(t, 2, l.lock(), "who locks is told of them")
	_, ok = l.take()
	require.False(t, ok, "none lies free while it is locked")
	l.unlock(5, 1<<20)
	w := l.word.Load()
	require.EqualValues(t, 5, lastID(w))
	require.Equal(t, freeMost, freeSlots(w), "as many as there is room for")
}

// Ids are given once, and what is under the lock is seen by one at a time.
func TestLatchUnderContention(t *testing.T) {
	l := newLatch()
	given := make(chan uint64, 1<<16)
	var wg sync.WaitGroup
	inside, most := 0, 0
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				if id, ok := l.take(); ok {
					given <- id
				}
				last := l.lock()
				inside++
				most = max(most, inside)
				given <- last + 1
				inside--
				l.unlock(last+1, 3)
			}
		})
	}
	wg.Wait()
	close(given)
	require.Equal(t, 1, most)
	seen := map[uint64]bool{}
	for id := range given {
		require.False(t, seen[id], "id %d is given once", id)
		seen[id] = true
	}
	require.Len(t, seen, int(l.lock()))
}
