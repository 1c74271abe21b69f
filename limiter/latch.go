package limiter

import (
	"sync"
	"sync/atomic" // its Uint64 aligns itself on 32-bit machines
)

// latch is the limiter's one lock, and, while nobody holds it, the free slots.
// A slot that is free is taken by the same single step that would lock: so an
// Acquire that finds one needs no lock, and there is nothing that the two could
// disagree about, since who locks takes the free slots out first.
//
// Make one with newLatch; it is unlocked then, with no free slot.
type latch struct {
	// word is, from the lowest bit: locked (1 bit), somebody sleeps until it is
	// not (1 bit), the free slots (12 bits), the id given last (50 bits, 350 years
	// at 100 000 a second).
	word atomic.Uint64
	// line is where all but one of those wait that found it locked. They wait
	// for as long as deciding takes, never for a slot.
	line sync.Mutex
	// wake wakes the one at the head of the line, who may sleep.
	wake chan struct{}
}

const (
	latched  = 1
	sleeps   = 1 << 1
	freeOne  = 1 << 2
	freeMost = 1<<12 - 1
	freeMask = freeMost * freeOne
	idShift  = 14
	idOne    = 1 << idShift
	// spins is how often the head of the line looks before it sleeps: for about
	// as long as deciding takes.
	spins = 200
)

func newLatch() latch { return latch{wake: make(chan struct{}, 1)} }

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

// tryLock locks if it can be had at once, and returns the id given last. It is
// small, so that the compiler puts it where it is called; where it fails,
// lockInLine.
func (l *latch) tryLock() (id uint64, ok bool) {
	w := l.word.Load()
	return lastID(w), w&latched == 0 && l.word.CompareAndSwap(w, w&^freeMask|latched)
}

// lockInLine waits until it is unlocked, and locks.
func (l *latch) lockInLine() uint64 {
	l.line.Lock()
	defer l.line.Unlock()
	for looks := 1; ; looks++ {
		w := l.word.Load()
		switch {
		case w&latched == 0:
			if l.word.CompareAndSwap(w, w&^freeMask|latched) {
				return lastID(w)
			}
		case looks%spins == 0 && l.word.CompareAndSwap(w, w|sleeps):
			<-l.wake
		}
	}
}

// unlock unlocks, with the id given last by now, and the slots that are free.
func (l *latch) unlock(last uint64, free int) {
	if l.word.Swap(last<<idShift|uint64(min(free, freeMost))*freeOne)&sleeps != 0 {
		l.wake <- struct{}{}
	}
}

// lastID and freeSlots are what a word holds beside the lock.
func lastID(w uint64) uint64 { return w >> idShift }
func freeSlots(w uint64) int { return int(w & freeMask / freeOne) }
