package limiter

import (
	"runtime"
	"sync"

	"go.uber.org/atomic"
)

// latch is the limiter's one lock, and, while nobody holds it, the free slots.
// A slot that is free is taken by the same single step that would lock: so an
// Acquire that finds one needs no lock, and there is nothing that the two could
// disagree about, since who locks takes the free slots out first.
//
// The zero value is unlocked, with no free slot.
type latch struct {
	// word is, from the lowest bit: locked (1 bit), the free slots (12 bits), the
	// id given last (51 bits, 700 years at 100 000 a second).
	word atomic.Uint64
	// line is where all but one of those wait that found it locked. They wait
	// for as long as deciding takes, never for a slot.
	line sync.Mutex
}

const (
	latched   = 1
	freeOne   = 1 << 1
	freeMost  = 1<<12 - 1
	freeMask  = freeMost * freeOne
	idOne     = 1 << 13
	idShift   = 13
	busySpins = 1000
)

// take takes a free slot and returns the attempt's id. It reports false when
// there is none, or the latch is locked: then lock, and ask the core.
func (l *latch) take() (id uint64, ok bool) {
	w := l.word.Load()
	// With the lowest bit set there are no free ones: lock takes them out.
	if w&freeMask == 0 || !l.word.CompareAndSwap(w, w-freeOne+idOne) {
		return 0, false
	}
	return lastID(w) + 1, true
}

// lock locks, and returns the id given last.
func (l *latch) lock() uint64 {
	w := l.word.Load()
	if w&latched != 0 || !l.word.CompareAndSwap(w, w&^freeMask|latched) {
		w = l.lockInLine()
	}
	return lastID(w)
}

func (l *latch) lockInLine() uint64 {
	l.line.Lock()
	defer l.line.Unlock()
	for spins := 1; ; spins++ {
		w := l.word.Load()
		if w&latched == 0 && l.word.CompareAndSwap(w, w&^freeMask|latched) {
			return w
		}
		if spins%busySpins == 0 {
			runtime.Gosched()
		}
	}
}

// unlock unlocks, with the id given last by now, and the slots that are free.
func (l *latch) unlock(last uint64, free int) {
	l.word.Store(last<<idShift | uint64(min(free, freeMost))*freeOne)
}

// lastID and freeSlots are what a word holds beside the lock.
func lastID(w uint64) uint64 { return w >> idShift }
func freeSlots(w uint64) int { return int(w & freeMask / freeOne) }
