package tally

import (
	"strings"
	"sync"
)

const (
	// most is the number of names besides Other. A series of a metric is for ever, and keys may come from
	// outside. Our choice.
	most = 1000
	// Other is the name for all names after that number.
	Other = "other"
)

// ByName has a value for each name, and one for all that are too many. The zero ByName is empty. It is
// safe for any number of goroutines.
type ByName[T any] struct {
	mu  sync.RWMutex
	all map[string]*T
}

// Of returns the value of the name, which make makes when it is first asked for. The name that make gets
// is valid UTF-8, as metrics want it, and may be Other.
func (b *ByName[T]) Of(name string, make func(name string) *T) *T {
	name = strings.ToValidUTF8(name, "\uFFFD")
	b.mu.RLock()
	v := b.all[name]
	b.mu.RUnlock()
	if v != nil {
		return v
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[string]*T{}
	}
	if b.all[name] == nil && len(b.all) >= most {
		name = Other
	}
	if b.all[name] == nil {
		b.all[name] = make(name)
	}
	return b.all[name]
}

// Each calls f with every value.
func (b *ByName[T]) Each(f func(*T)) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, v := range b.all {
		f(v)
	}
}
