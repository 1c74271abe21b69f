package live

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aimd-go/aimd"
)

const (
	// shown is the largest number of limiters that are shown: the first ones by name.
	shown = 50
	// kept is the length of the past that is kept, with a sample each second.
	kept, spacing = 10 * time.Minute, time.Second
	// listing is the time for which the list of limiters is good, for each in it: looking at 100 000 for their names takes
	// a good part of a second, and 50 are shown. Our choice: it is about a fiftieth of the time at most.
	listing = 100 * time.Microsecond
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
	// first are the limiters to show if there are no clients, of so many that were listed; they are good until then.
	first  []source
	listed int
	good   time.Time
	// all are the limiters shown, in order; more is the number of those that are not.
	all  []*series
	more int
	last int // id given
}

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

// list looks which limiters there are, and keeps the first by name.
func (w *watch) list(now time.Time) {
	seen := map[*aimd.Limiter]bool{} // one may be yielded twice
	w.first = nil
	for name, l := range w.limiters() {
		if l == nil || seen[l] {
			continue
		}
		seen[l] = true
		if w.first = append(w.first, source{name: cmp.Or(name, l.Snapshot().Name, "limiter"), limiter: l}); len(w.first) >= 2*shown {
			w.first = front(w.first)
		}
	}
	w.first, w.listed, w.good = front(w.first), len(seen), now
	if w.listed > shown {
		w.good = now.Add(time.Duration(w.listed) * listing)
	}
}

func front(all []source) []source {
	slices.SortStableFunc(all, func(a, b source) int { return strings.Compare(a.name, b.name) })
	return all[:min(len(all), shown)]
}

// look takes a sample of the first limiters and clients by name.
func (w *watch) look(now time.Time) {
	if !now.Before(w.good) {
		w.list(now)
	}
	present, n := slices.Clone(w.first), w.listed
	flows := map[string]bool{}
	for name, f := range w.clients() {
		if !flows[name] {
			flows[name] = true
			present, n = append(present, source{name: name, flow: f}), n+1
		}
	}
	present = front(present)
	w.more = n - len(present)
	before := map[any]*series{}
	for _, s := range w.all {
		before[s.key()] = s
	}
	w.all = nil
	for _, f := range present {
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
