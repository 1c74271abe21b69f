package live

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aimd-go/aimd/limiter"
)

const (
	// shown is how many limiters are shown at most.
	shown = 50
	// kept is how long the past is, of which a sample each second is kept.
	kept, spacing = 10 * time.Minute, time.Second
	// dull is how long a limiter has to be without work to give up its place to
	// another where there are too many.
	dull = 30 * time.Second
)

// watch looks at limiters when a page asks for news, and keeps what it saw. It has no
// goroutine and no timer: with no page it does nothing.
type watch struct {
	limiters Limiters
	// run tells a page whether this is the process, and the handler, that it knew.
	run string

	// mu is held while limiters are looked at, which takes each one's lock shortly.
	mu     sync.Mutex
	polled time.Time
	// all are the limiters shown, in order; more is how many are not.
	all  []*series
	more int
	last int // id given
}

// page is what a page was told already.
type page struct {
	every time.Duration
	// seen is the latest decision that it knows of each limiter, by id.
	seen map[int]uint64
}

func newWatch(limiters Limiters) *watch { return &watch{limiters: limiters, run: rand.Text()} }

// news is what is new for a page.
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
	seen := make(map[int]uint64, len(w.all))
	for _, s := range w.all {
		after, knows := p.seen[s.id]
		m.Limiters = append(m.Limiters, s.view(now, after, !knows))
		seen[s.id] = s.seq
	}
	p.seen = seen
	return m
}

// look takes a sample of every limiter that there is and has a place.
func (w *watch) look(now time.Time) {
	known := make(map[*limiter.Limiter]*series, len(w.all))
	for _, s := range w.all {
		known[s.limiter] = s
	}
	var all, fresh []*series
	count, first := 0, len(w.all) == 0
	for name, l := range w.limiters() {
		twice := func(s *series) bool { return s.limiter == l }
		if l == nil || slices.ContainsFunc(all, twice) || slices.ContainsFunc(fresh, twice) {
			continue
		}
		count++
		if s := known[l]; s != nil {
			all = append(all, s)
		} else if len(fresh) < shown || first {
			fresh = append(fresh, &series{limiter: l, name: name})
		}
	}
	if first { // those of a Keyed come in any order; later that gives each its chance
		slices.SortStableFunc(fresh, func(a, b *series) int { return strings.Compare(a.name, b.name) })
	}
	w.all = all
	for _, s := range fresh[:min(len(fresh), shown)] {
		w.place(now, s)
	}
	for _, s := range w.all {
		s.sample(now)
	}
	w.more = count - len(w.all)
}

// place gives a limiter a place, if need be that of one that has had nothing to do for
// a while, so that those at work do not take turns.
func (w *watch) place(now time.Time, s *series) {
	if len(w.all) == shown {
		at := slices.IndexFunc(w.all, func(old *series) bool { return now.Sub(old.worked) >= dull })
		if at < 0 {
			return
		}
		w.all = slices.Delete(w.all, at, at+1)
	}
	w.last++
	s.id, s.worked = w.last, now
	w.all = append(w.all, s)
}
