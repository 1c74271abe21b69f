package aimd

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/queue"
)

// Defaults of KeyedConfig. Both are our choice.
const (
	// defaultIdle: by then a limiter's knowledge of the service is stale.
	defaultIdle = 10 * time.Minute
	// defaultKeys: more than a program has services, and few enough to keep.
	defaultKeys = 10_000
)

// KeyedConfig has the settings of a Keyed. Zero fields take the documented default.
type KeyedConfig struct {
	// Idle is the time after which an unused limiter may be evicted; 0 means 10 min.
	Idle time.Duration
	// Keys is the greatest number of limiters, from 1; 0 means 10 000. For a further key the idlest limiter is
	// evicted. A limiter in a pause is evicted only if all others are in use or in a pause, too.
	Keys int
	// Evicted is called with each evicted limiter, by the goroutine that asked for another limiter: to keep its
	// Snapshot, or to count it (contrib/aimdprom). Several goroutines may call it at once. It should not close the
	// limiter: a caller of For may be about to use it. It may be nil.
	Evicted func(*Limiter)
}

// Keyed has one limiter for each key: a host, a bucket, an API key. It evicts limiters that are idle: not
// asked for in a while, no attempt in flight, no operation waiting, no pause and no used quota. It is safe for any
// number of goroutines.
type Keyed[K comparable] struct {
	make   func(K) (*Limiter, error)
	config KeyedConfig
	clock  clock.Clock

	// mu guards those below. It is held while a key's limiter is made, and while a limiter's lock is taken.
	mu sync.Mutex
	// used has the entries, the one asked for last at the end.
	used  queue.Queue[*entry[K]]
	byKey map[K]*entry[K]
}

type entry[K comparable] struct {
	item    queue.Item[*entry[K]]
	key     K
	limiter *Limiter
	asked   time.Time
}

// NewKeyed returns a Keyed that makes limiters with the function, or an error that names the wrong setting, its
// value and the allowed values. The function must not call For.
func NewKeyed[K comparable](make func(K) (*Limiter, error), c KeyedConfig) (*Keyed[K], error) {
	if make == nil {
		return nil, wrong(check.Nil("make"))
	}
	if err := cmp.Or(
		check.Duration("Idle", &c.Idle, defaultIdle, 1, math.MaxInt64),
		check.Count("Keys", &c.Keys, defaultKeys, 1, math.MaxInt),
	); err != nil {
		return nil, wrong(err)
	}
	return &Keyed[K]{make: make, config: c, clock: wall, byKey: map[K]*entry[K]{}}, nil
}

// For returns the key's limiter. Call For for every operation: the limiter may be evicted meanwhile. The error
// comes from the function that makes limiters, or says that all of KeyedConfig.Keys limiters are in use.
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
	now := k.clock.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, _ := k.used.Ends(); i != nil && now.Sub(i.Value.asked) >= k.config.Idle; i, _ = k.used.Ends() {
		if works, paused := k.busy(i.Value, now); !works && !paused {
			k.drop(i.Value, gone)
		}
	}
	if e := k.byKey[key]; e != nil {
		k.use(e, now)
		return e.limiter, nil
	}
	var idlest *entry[K]
	if k.used.Len() >= k.config.Keys {
		if idlest = k.idlest(now); idlest == nil {
			return nil, fmt.Errorf("aimd: Keys: %d keys are all in use, want a higher bound or fewer keys", k.config.Keys)
		}
	}
	l, err := k.make(key)
	if err == nil && l == nil {
		err = wrong(check.Nil(fmt.Sprintf("the limiter of key %v", key)))
	}
	if err != nil {
		return nil, err
	}
	if idlest != nil {
		k.drop(idlest, gone)
	}
	e := &entry[K]{key: key, limiter: l}
	e.item.Value = e
	k.byKey[key] = e
	k.use(e, now)
	return l, nil
}

func (k *Keyed[K]) use(e *entry[K], now time.Time) {
	e.asked = now
	k.used.Remove(&e.item)
	k.used.Push(&e.item)
}

// idlest is the entry to evict, nil if all limiters are in use. Each entry is looked at once: a busy one comes to the end.
func (k *Keyed[K]) idlest(now time.Time) (paused *entry[K]) {
	for range k.used.Len() {
		oldest, _ := k.used.Ends()
		works, pauses := k.busy(oldest.Value, now)
		switch {
		case !works && !pauses:
			return oldest.Value
		case !works && paused == nil:
			paused = oldest.Value
		}
	}
	return paused
}

// busy reports whether the limiter of an entry is in use, and whether it is in a pause. In both cases it counts as
// used now, so that a search passes it once.
func (k *Keyed[K]) busy(e *entry[K], now time.Time) (works, paused bool) {
	works, paused = e.limiter.inUse()
	if works || paused {
		k.use(e, now)
	}
	return works, paused
}

func (k *Keyed[K]) drop(e *entry[K], gone *[]*Limiter) {
	k.used.Remove(&e.item)
	delete(k.byKey, e.key)
	*gone = append(*gone, e.limiter)
}

// All yields the keys and their limiters, the latest asked for first.
func (k *Keyed[K]) All() iter.Seq2[K, *Limiter] {
	return func(yield func(K, *Limiter) bool) {
		k.mu.Lock()
		all := slices.Collect(k.used.All())
		k.mu.Unlock()
		for _, i := range slices.Backward(all) {
			if !yield(i.Value.key, i.Value.limiter) {
				return
			}
		}
	}
}
