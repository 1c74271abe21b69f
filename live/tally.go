package live

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

// Sum is the counters and the state of all limiters of one name.
type Sum struct {
	// Snapshot has the name. Its counters sum up all limiters that ever had the name. Its other fields sum up the
	// present limiters, with four exceptions: Gap and PausedUntil are the largest, and Quotas and Share are those of
	// one limiter, since limiters of one name spend the same quotas.
	aimd.Snapshot
	// Present is the number of present limiters; with 0 only the counters have a meaning.
	Present int
}

// Tally sums up the counters of limiters by name, for metrics. Limiters of one name count as one limiter. The
// counters of a limiter stay in the sum after its eviction. Packages contrib/aimdprom and contrib/aimdotel publish
// a Tally. It is safe for any number of goroutines. Make one with NewTally.
type Tally struct {
	limiters []Limiters

	mu      sync.Mutex
	members map[weak.Pointer[aimd.Limiter]]*member
	// full is the number of members from which Evicted forgets.
	full int
	sums ByName[Sum]
}

type member struct {
	// limiter is nil once it is gone and at rest. From then on it is counted as long as the program keeps it:
	// no limiter is counted twice, or kept for the sum alone.
	limiter *aimd.Limiter
	weak    weak.Pointer[aimd.Limiter]
	sum     *Sum
	// counted are its counters that are in the sum.
	counted aimd.Snapshot
	listed  bool
}

// NewTally returns a Tally of the limiters. It panics if a function is nil.
func NewTally(limiters ...Limiters) *Tally {
	if slices.ContainsFunc(limiters, func(l Limiters) bool { return l == nil }) {
		panic("live: limiters are nil, want a function")
	}
	return &Tally{limiters: limiters, members: map[weak.Pointer[aimd.Limiter]]*member{}}
}

// Read returns the sums in the order of their names. Counters never fall: the next Read also has the counts
// of a limiter up to its eviction. A limiter that came and went between two Reads needs a call of Evicted.
func (t *Tally) Read() []Sum {
	type named struct {
		name    string
		limiter *aimd.Limiter
	}
	var listed []named // first: the functions are others', and so not called under the lock
	for _, limiters := range t.limiters {
		for name, l := range limiters() {
			if l != nil {
				listed = append(listed, named{cmp.Or(name, l.Snapshot().Name), l})
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range listed {
		m := t.member(n.name, n.limiter)
		m.limiter, m.listed = n.limiter, true
	}
	t.sums.each(func(s *Sum) {
		s.Cwnd, s.Ssthresh, s.InFlight, s.Queued, s.Open, s.Present = 0, 0, 0, 0, 0, 0
		s.Gap, s.PausedUntil, s.Quotas, s.Share = 0, time.Time{}, nil, nil
	})
	t.forget()
	for _, m := range t.members {
		m.read()
	}
	var all []Sum
	t.sums.each(func(s *Sum) { all = append(all, *s) })
	slices.SortFunc(all, func(a, b Sum) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Evicted counts a limiter that is gone, whether a Read saw it or not.
func (t *Tally) Evicted(l *aimd.Limiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.members) >= t.full {
		t.forget() // perhaps Read is never called
		t.full = 2*len(t.members) + mostNames
	}
	s := l.Snapshot()
	t.member(s.Name, l).count(s)
}

// forget forgets the limiters that the program no longer has.
func (t *Tally) forget() {
	maps.DeleteFunc(t.members, func(w weak.Pointer[aimd.Limiter], _ *member) bool { return w.Value() == nil })
}

// member is the limiter's. A limiter that is listed twice counts once, under its first name.
func (t *Tally) member(name string, l *aimd.Limiter) *member {
	m := t.members[weak.Make(l)]
	if m == nil {
		sum := t.sums.Of(name, func(name string) *Sum { return &Sum{Snapshot: aimd.Snapshot{Name: name}} })
		m = &member{weak: weak.Make(l), sum: sum}
		t.members[weak.Make(l)] = m
	}
	return m
}

func (m *member) read() {
	l := cmp.Or(m.limiter, m.weak.Value())
	if l == nil {
		return
	}
	now := l.Snapshot()
	m.count(now)
	if m.listed {
		s := m.sum
		s.Cwnd += now.Cwnd
		s.Ssthresh += now.Ssthresh
		s.Gap = max(s.Gap, now.Gap)
		if len(now.Quotas) > 0 {
			s.Quotas = now.Quotas
		}
		s.Share = cmp.Or(now.Share, s.Share)
		if now.PausedUntil.After(s.PausedUntil) {
			s.PausedUntil = now.PausedUntil
		}
		s.InFlight += now.InFlight
		s.Queued += now.Queued
		s.Open += now.Open
		s.Present++
	} else if now.InFlight == 0 && now.Queued == 0 {
		m.limiter = nil
	}
	m.listed = false
}

// count adds the news to the sum.
func (m *member) count(now aimd.Snapshot) {
	s, old := m.sum, m.counted
	s.Attempts += now.Attempts - old.Attempts
	s.Successes += now.Successes - old.Successes
	s.Overloads += now.Overloads - old.Overloads
	s.Timeouts += now.Timeouts - old.Timeouts
	s.Neutrals += now.Neutrals - old.Neutrals
	s.ClientErrors += now.ClientErrors - old.ClientErrors
	s.Cuts += now.Cuts - old.Cuts
	s.Pauses += now.Pauses - old.Pauses
	s.TooLate += now.TooLate - old.TooLate
	s.Aside += now.Aside - old.Aside
	s.Backups += now.Backups - old.Backups
	s.Late += now.Late - old.Late
	s.Amount += now.Amount - old.Amount
	s.Shadow.Sent += now.Shadow.Sent - old.Shadow.Sent
	s.Shadow.Held += now.Shadow.Held - old.Shadow.Held
	s.Shadow.Wait += now.Shadow.Wait - old.Shadow.Wait
	s.Shadow.Refused += now.Shadow.Refused - old.Shadow.Refused
	s.Shadow.Above += now.Shadow.Above - old.Shadow.Above
	now.Decisions = nil
	m.counted = now
}

// Answers yields each outcome with the number of attempts that ended in it.
func (s Sum) Answers() iter.Seq2[window.Outcome, uint64] {
	return func(yield func(window.Outcome, uint64) bool) {
		counts := [...]uint64{
			window.Success: s.Successes, window.Overload: s.Overloads, window.Timeout: s.Timeouts,
			window.Neutral: s.Neutrals, window.ClientError: s.ClientErrors,
		}
		for o := window.Success; o <= window.ClientError; o++ { // an unclear answer is counted as what it was taken for
			if !yield(o, counts[o]) {
				return
			}
		}
	}
}

// Label is the outcome as metrics have it: "client_error".
func Label(o window.Outcome) string { return strings.ReplaceAll(o.String(), " ", "_") }

const (
	// mostNames is the number of names besides other. A series of a metric is for ever, and keys may come from
	// outside. Our choice.
	mostNames = 1000
	// other is the name for all names after that number.
	other = "other"
)

// ByName has a value for each of the first 1000 names, and one value for all others: a series of a metric stays for
// ever, and keys may come from outside. The zero ByName is empty. It is safe for any number of goroutines.
type ByName[T any] struct {
	mu  sync.RWMutex
	all map[string]*T
}

// Of returns the value of the name, which make makes when it is first asked for. The name that make gets
// is valid UTF-8, as metrics want it, and may be "other".
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
	if b.all[name] == nil && len(b.all) >= mostNames {
		name = other
	}
	if b.all[name] == nil {
		b.all[name] = make(name)
	}
	return b.all[name]
}

func (b *ByName[T]) each(f func(*T)) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, v := range b.all {
		f(v)
	}
}
