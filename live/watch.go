package live

import (
	"cmp"
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

// watch looks at limiters when a page asks for news, and keeps what it saw. It has no
// goroutine and no timer: without a page it does not run.
type watch struct {
	limiters Limiters
	clients  func() []*Client
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
	var first []source // at most shown, so that a look allocates for their number only
	count := 0
	found := func(f source) {
		if slices.ContainsFunc(first, func(other source) bool { return other.key == f.key }) {
			return // it was yielded twice
		}
		count++
		f.name = f.title()
		if at, _ := slices.BinarySearchFunc(first, f.name, byName); at < shown {
			first = slices.Insert(first[:min(len(first), shown-1)], at, f)
		}
	}
	for name, l := range w.limiters() {
		if l != nil {
			found(source{key: l, name: name, limiter: l})
		}
	}
	for _, c := range w.clients() {
		found(source{key: c, name: c.Name, client: c})
	}
	before := make(map[any]*series, len(w.all))
	for _, s := range w.all {
		before[s.key] = s
	}
	w.all, w.more = nil, count-len(first)
	for _, f := range first {
		s := before[f.key]
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

// byName finds the place after all sources of a name.
func byName(s source, name string) int {
	if s.name <= name {
		return -1
	}
	return 1
}
