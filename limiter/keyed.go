package limiter

import (
	"container/list"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
)

// DefaultIdle is how long a Keyed keeps a limiter that nobody asks for. Our
// choice: what was learned about a service is stale by then.
const DefaultIdle = 10 * time.Minute

// Keyed holds one limiter for each key: a host, a bucket, an API key. It makes
// them when they are first asked for, and lets go of those that were not asked
// for in a while and have nothing in flight or waiting. It is safe for any
// number of goroutines. Make one with NewKeyed.
type Keyed[K comparable] struct {
	make  func(K) (*Limiter, error)
	idle  time.Duration
	clock clock.Clock

	// mu guards the two below. It is never held while a limiter's lock is taken.
	mu sync.Mutex
	// used has the entries, the one asked for last at the front.
	used  *list.List
	byKey map[K]*list.Element
}

type entry[K comparable] struct {
	key     K
	limiter *Limiter
	at      time.Time
}

// NewKeyed returns a Keyed that makes limiters with the function and evicts
// those not asked for in the time idle; 0 means DefaultIdle. c is the source of
// time, nil the real one.
func NewKeyed[K comparable](make func(K) (*Limiter, error), idle time.Duration, c clock.Clock) (*Keyed[K], error) {
	if idle < 0 {
		return nil, fmt.Errorf("limiter: idle time: %v is not allowed, want a positive duration, or 0 for %v", idle, DefaultIdle)
	}
	if idle == 0 {
		idle = DefaultIdle
	}
	if c == nil {
		c = clock.New()
	}
	return &Keyed[K]{make: make, idle: idle, clock: c, used: list.New(), byKey: map[K]*list.Element{}}, nil
}

// For returns the key's limiter. Ask for it anew for every operation rather
// than keep it: one that is kept and not asked for may be evicted meanwhile.
func (k *Keyed[K]) For(key K) (*Limiter, error) {
	now := k.clock.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.evict(now)
	if e, ok := k.byKey[key]; ok {
		e.Value.(*entry[K]).at = now
		k.used.MoveToFront(e)
		return e.Value.(*entry[K]).limiter, nil
	}
	l, err := k.make(key)
	if err != nil {
		return nil, err
	}
	k.byKey[key] = k.used.PushFront(&entry[K]{key, l, now})
	return l, nil
}

// evict lets go of what is idle. What is overdue and still busy counts as used
// now, so each call looks at no more than what it moves.
func (k *Keyed[K]) evict(now time.Time) {
	for e := k.used.Back(); e != nil; e = k.used.Back() {
		x := e.Value.(*entry[K])
		if now.Sub(x.at) < k.idle {
			return
		}
		if s := x.limiter.Snapshot(); s.InFlight > 0 || s.Queued > 0 {
			x.at = now
			k.used.MoveToFront(e)
			continue
		}
		k.used.Remove(e)
		delete(k.byKey, x.key)
	}
}

// All yields the keys and limiters that there are, the one asked for last first.
func (k *Keyed[K]) All() iter.Seq2[K, *Limiter] {
	return func(yield func(K, *Limiter) bool) {
		k.mu.Lock()
		var all []entry[K]
		for e := k.used.Front(); e != nil; e = e.Next() {
			all = append(all, *e.Value.(*entry[K]))
		}
		k.mu.Unlock()
		for _, e := range all {
			if !yield(e.key, e.limiter) {
				return
			}
		}
	}
}
