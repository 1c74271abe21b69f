package live

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// shown is the largest number of limiters that are shown: the first ones by name.
	shown = 50
	// kept is the length of the past that is kept, with a sample each second.
	kept, spacing = 10 * time.Minute, time.Second
)

// watch looks at limiters when a page asks for news, and keeps its samples. It has no goroutine and no timer:
// without a page it does not run.
type watch struct {
	limiters Limiters
	clients  func() iter.Seq2[string, Flow]
	// run is new with each handler, so that a page knows whether it lost its past.
	run string

	// mu is held while limiters are looked at, which takes each one's lock shortly.
	mu     sync.Mutex
	polled time.Time
	// all are the limiters shown, in order; more is the number of those that are not.
	all  []*series
	more int
	last int // id given
}

// page is an open page.
type page struct {
	every time.Duration
	// seen has the state of each limiter that the page has, by id.
	seen map[int]known
}

// known is the name that a page has, and the number of the latest decision.
type known struct {
	name string
	seq  uint64
}

// news is the next message for a page.
func (w *watch) news(p *page) message {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	// Pages share a look.
	if now.Sub(w.polled) >= fastest/2 {
		w.polled = now
		w.look(now)
	}
	m := message{Run: w.run, Now: now.UnixMilli(), Every: p.every.Milliseconds(), More: w.more, Limiters: []view{}}
	seen := make(map[int]known, len(w.all))
	for _, s := range w.all {
		before, knows := p.seen[s.id]
		v := s.view(now, before.seq, !knows)
		if name := s.name; name != before.name {
			v.Name = &name
		}
		m.Limiters = append(m.Limiters, v)
		seen[s.id] = known{s.name, s.seq}
	}
	p.seen = seen
	return m
}

// look takes a sample of the first limiters and clients by name.
func (w *watch) look(now time.Time) {
	var present []source
	seen := map[any]bool{} // one may be yielded twice
	found := func(f source) {
		if !seen[f.key()] {
			seen[f.key()] = true
			present = append(present, f)
		}
	}
	for name, l := range w.limiters() {
		if l != nil {
			found(source{name: cmp.Or(name, l.Snapshot().Name, "limiter"), limiter: l})
		}
	}
	for name, f := range w.clients() {
		found(source{name: name, flow: f})
	}
	slices.SortStableFunc(present, func(a, b source) int { return strings.Compare(a.name, b.name) })
	w.more = max(0, len(present)-shown)
	before := map[any]*series{}
	for _, s := range w.all {
		before[s.key()] = s
	}
	w.all = nil
	for _, f := range present[:len(present)-w.more] {
		s := before[f.key()]
		if s == nil {
			w.last++
			s = &series{id: w.last}
		}
		s.source = f
		s.sample(now)
		w.all = append(w.all, s)
	}
	slices.SortFunc(w.all, func(a, b *series) int { return cmp.Or(strings.Compare(a.name, b.name), a.id-b.id) })
}
