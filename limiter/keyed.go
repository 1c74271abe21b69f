package limiter

import (
	"cmp"
	"container/list"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/internal/setting"
)

// Defaults of KeyedConfig. Both are our choice.
const (
	// defaultIdle: by then a limiter's knowledge of the service is stale.
	defaultIdle = 10 * time.Minute
	// defaultKeys: more than a program has services, and few enough to keep.
	defaultKeys = 10_000
)

// KeyedConfig is what NewKeyed makes a Keyed with. Zero fields take the documented default.
type KeyedConfig struct {
	// Idle is how long a limiter is kept that is not asked for; 0 means 10 min.
	Idle time.Duration
	// Keys is the most limiters at a time, from 1; 0 means 10 000. To make room for one more, the least
	// recently used idle limiter is evicted.
	Keys int
	// Evicted is called with each evicted limiter, by the goroutine that asked for another one, after
	// that was found: to keep its State, or to count it (contrib/prometheus). Several goroutines may call
	// it at once. It may be nil.
	Evicted func(*Limiter)
	// Clock is the source of time; nil: the real one.
	Clock clock.Clock
}

// Keyed has one limiter for each key: a host, a bucket, an API key. It makes a limiter when its key is
// first asked for, and evicts limiters that were not asked for in a while and are idle: no attempt in
// flight, no operation waiting. It keeps no more than its bound. It is safe for any number of goroutines.
// Make one with NewKeyed.
type Keyed[K comparable] struct {
	make   func(K) (*Limiter, error)
	config KeyedConfig

	// mu guards those below. It is never held while a limiter's lock is taken.
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

// NewKeyed returns a Keyed that makes limiters with the function, or an error that names the wrong
// setting, its value and the allowed values.
func NewKeyed[K comparable](make func(K) (*Limiter, error), c KeyedConfig) (*Keyed[K], error) {
	if make == nil {
		return nil, wrong(setting.Nil("make"))
	}
	if err := cmp.Or(
		setting.Duration("Idle", &c.Idle, defaultIdle, 1, math.MaxInt64),
		setting.Count("Keys", &c.Keys, defaultKeys, 1, math.MaxInt),
	); err != nil {
		return nil, wrong(err)
	}
	if c.Clock == nil {
		c.Clock = clock.New()
	}
	return &Keyed[K]{make: make, config: c, used: list.New(), byKey: map[K]*list.Element{}}, nil
}

// For returns the key's limiter. Ask for it again for every operation: a limiter that is not asked for
// may be evicted meanwhile.
//
// The error is the error of the function that makes limiters, or says that the Keyed is at its bound and
// all limiters are in use.
func (k *Keyed[K]) For(key K) (*Limiter, error) {
	var gone []*Limiter
	l, err := k.find(key, &gone)
	if k.config.Evicted != nil {
		for _, evicted := range gone {
			k.config.Evicted(evicted)
		}
	}
	return l, err
}

// find is For under the lock. It adds the evicted limiters to gone.
func (k *Keyed[K]) find(key K, gone *[]*Limiter) (*Limiter, error) {
	now := k.config.Clock.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for e := k.used.Back(); e != nil && now.Sub(e.Value.(*entry[K]).at) >= k.config.Idle; e = k.used.Back() {
		k.drop(e, now, gone)
	}
	if e, ok := k.byKey[key]; ok {
		return k.use(e, now).limiter, nil
	}
	// Each entry is looked at once: a limiter in use comes to the front.
	for looks := k.used.Len(); k.used.Len() >= k.config.Keys; looks-- {
		if looks == 0 {
			return nil, fmt.Errorf("limiter: %d keys are all in use, want fewer keys or a higher bound", k.config.Keys)
		}
		k.drop(k.used.Back(), now, gone)
	}
	l, err := k.make(key)
	if err == nil && l == nil {
		err = wrong(setting.Nil(fmt.Sprintf("the limiter of key %v", key)))
	}
	if err != nil {
		return nil, err
	}
	k.byKey[key] = k.used.PushFront(&entry[K]{key, l, now})
	return l, nil
}

// use counts an entry as asked for now.
func (k *Keyed[K]) use(e *list.Element, now time.Time) *entry[K] {
	x := e.Value.(*entry[K])
	x.at = now
	k.used.MoveToFront(e)
	return x
}

// drop evicts an entry, or counts it as used now if it is busy. So the search for idle limiters looks at
// no more entries than it moves.
func (k *Keyed[K]) drop(e *list.Element, now time.Time, gone *[]*Limiter) {
	x := e.Value.(*entry[K])
	if s := x.limiter.Snapshot(); s.InFlight > 0 || s.Queued > 0 {
		k.use(e, now)
		return
	}
	k.used.Remove(e)
	delete(k.byKey, x.key)
	*gone = append(*gone, x.limiter)
}

// All yields the keys and their limiters, the one asked for last first.
func (k *Keyed[K]) All() iter.Seq2[K, *Limiter] {
	return func(yield func(K, *Limiter) bool) {
		k.mu.Lock()
		var all []*entry[K]
		for e := k.used.Front(); e != nil; e = e.Next() {
			all = append(all, e.Value.(*entry[K]))
		}
		k.mu.Unlock()
		for _, e := range all {
			if !yield(e.key, e.limiter) {
				return
			}
		}
	}
}
