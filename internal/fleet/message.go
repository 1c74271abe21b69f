// Package fleet is what the processes of package share compute: the counts that a process reports, the one window of all, and
// the share that a process makes of it. It is pure: no goroutine, lock, clock or store.
package fleet

import (
	"cmp"
	"slices"
	"time"
)

// Row is the report of a process. Its counts are since the process joined, so that a lost report loses no count.
type Row struct {
	Weight float64 `json:"w"`
	// Queued is the number of operations that wait.
	Queued int `json:"q,omitempty"`
	// Flying is the mean number of attempts in flight since the last report.
	Flying float64 `json:"f"`
	// Rate is the number of its sends a second, of late, and Amount their amount.
	Rate   float64 `json:"s,omitempty"`
	Amount float64 `json:"m,omitempty"`
	// Rank is its place in the order of turns, -1: it has none yet, and so no share.
	Rank int `json:"k"`
	Counts
	// Knows is the window that it heard of last, and Processes the number: a store that lost all learns them from there.
	Knows     Window `json:"o"`
	Processes int    `json:"n,omitempty"`
}

// Counts are answers and their round trips in sum.
type Counts struct {
	Accepted     int64         `json:"a,omitempty"`
	Refused      int64         `json:"r,omitempty"`
	Trips        time.Duration `json:"t,omitempty"`
	RefusedTrips time.Duration `json:"u,omitempty"`
}

// add adds what was counted from one time to another.
func (c *Counts) add(to, from Counts) {
	c.Accepted += to.Accepted - from.Accepted
	c.Refused += to.Refused - from.Refused
	c.Trips += to.Trips - from.Trips
	c.RefusedTrips += to.RefusedTrips - from.RefusedTrips
}

// Window is the window of all processes, as window.State. The zero Window: it is not known.
type Window struct {
	Cwnd     float64       `json:"w,omitempty"`
	Ssthresh float64       `json:"s,omitempty"`
	Trip     time.Duration `json:"t,omitempty"`
}

// Message is the leader's message to all.
type Message struct {
	Leader string `json:"l"`
	Window
	// Processes is the number of live processes. Every is the time between two reports of each.
	Processes int           `json:"n"`
	Every     time.Duration `json:"e"`
	// Sends and Rate are the clock of turns: the sends of a process of weight 1 up to the store's time At, and those a second.
	Sends float64       `json:"c"`
	Rate  float64       `json:"r"`
	At    time.Duration `json:"at"`
	// Safe is the load that the service took of late, in windows. A window that nobody moves is better the mean than its
	// value by chance, or the half at which a law looks. It is 1 at least if the service may take more.
	Safe float64 `json:"g"`
	// Slots, MaxRate and MaxAmount are the levels of the window, of MaxRate and of MaxAmountRate; zero without one.
	Slots     Level `json:"ls"`
	MaxRate   Level `json:"lr"`
	MaxAmount Level `json:"la"`
	// Ranks are the ranks that processes do not report yet, by id.
	Ranks map[string]int `json:"k,omitempty"`
}

// Level says what of a whole a process of weight 1 has.
type Level struct {
	// Whole is what all have together.
	Whole float64 `json:"w"`
	// Most is for those that want as much or more, and Equal an equal part for each.
	Most  float64 `json:"m"`
	Equal float64 `json:"e"`
}

// demand is the part that a process uses, and the part that it would use if no operation waited: all that waits within
// a second.
type demand struct{ uses, wants float64 }

func (r Row) slots() demand { return demand{r.Flying, r.Flying + float64(r.Queued)} }
func (r Row) rate() demand  { return demand{r.Rate, r.Rate + float64(r.Queued)} }
func (r Row) amount() demand {
	return demand{r.Amount, r.Amount * (1 + float64(r.Queued)/max(r.Rate, 1e-9))}
}

// part is the part of a process: as much as it wants, within the level. One that wants little has
// an equal part, or a quarter more than it uses: so when it wakes it has a part at once.
func (l Level) part(weight float64, d demand) float64 {
	return min(weight*l.Most, max(d.wants, headroom*d.uses, weight*l.Equal))
}

// sure is the part that nobody else has: the sum of all is the whole, and a little more.
func (l Level) sure(weight float64, d demand) float64 {
	return min(weight*l.Most, max(d.wants, grown*d.uses+little*weight*l.Equal))
}

const (
	// headroom is for one that uses a little more than it did; grown and little are for one that nobody hears. Our choice.
	headroom, grown, little = 1.25, 1.05, 0.03
)

// level shares a whole out by max-min: who wants less than the level leaves the rest to the others.
func level(whole float64, rows map[string]Row, of func(Row) demand) Level {
	type want struct{ each, weight float64 }
	wants := make([]want, 0, len(rows))
	all := 0.
	for _, r := range rows {
		all += r.Weight
		wants = append(wants, want{of(r).wants / r.Weight, r.Weight})
	}
	slices.SortFunc(wants, func(a, b want) int { return cmp.Compare(a.each, b.each) })
	l := Level{Whole: whole, Equal: whole / max(all, leastWeight)}
	l.Most = l.Equal
	rest, weight := whole, all
	for _, w := range wants {
		if w.each*weight >= rest {
			l.Most = max(l.Equal, rest/weight)
			break
		}
		l.Most = max(l.Equal, w.each) // if there is a rest: who wants that as well says so first
		rest, weight = rest-w.each*w.weight, weight-w.weight
	}
	return l
}

// leastWeight is the least weight of a process.
const leastWeight = 0.01
