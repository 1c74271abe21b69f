package sim

import "time"

// kind is the kind of an event.
type kind uint8

const (
	bornKind     kind = iota // the next operation of the clients as a whole is born
	burstKind                // the operations of a burst are born
	turnKind                 // it is a client's turn to have an operation born
	arriveKind               // an attempt reaches the server
	admitKind                // an attempt of the clairvoyant has its token
	servedKind               // an attempt was served
	refusedKind              // an attempt's refusal, or another error, is ready
	checkKind                // an attempt may have been served by now
	timeoutKind              // a client has waited long enough for an attempt
	retryKind                // an operation's wait before a retry is over
	wakeKind                 // a client's limiter must look again
	outageKind               // an outage begins or ends
	capacityKind             // the capacity changes
)

type event = entry[time.Duration]

// entry is something that happens at a time, or after some work. It has no pointers, so that
// the garbage collector need not look at entries.
type entry[At time.Duration | float64] struct {
	at At
	// seq orders entries of the same time: as they were made.
	seq uint64
	// id is the attempt, operation or client of the entry, and gen the use of that id: an entry
	// of an older use is out of date.
	id   int32
	gen  uint32
	kind kind
}

func (a *entry[At]) before(b *entry[At]) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// heap has the first of its entries at the front. A node has four children, which are next to
// each other in memory, so that the heap is less deep than with two.
type heap[At time.Duration | float64] []entry[At]

func (h *heap[At]) push(e entry[At]) {
	*h = append(*h, e)
	all := *h
	i := len(all) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&all[up]) {
			break
		}
		all[i] = all[up]
		i = up
	}
	all[i] = e
}

// pop takes the first entry out, and reports false if there is none.
func (h *heap[At]) pop() (entry[At], bool) {
	all := *h
	if len(all) == 0 {
		return entry[At]{}, false
	}
	first, last := all[0], all[len(all)-1]
	all = all[:len(all)-1]
	*h = all
	if len(all) == 0 {
		return first, true
	}
	i := 0
	for child := 1; child < len(all); child = 4*i + 1 {
		least := child
		for c := child + 1; c < min(child+4, len(all)); c++ {
			if all[c].before(&all[least]) {
				least = c
			}
		}
		if !all[least].before(&last) {
			break
		}
		all[i] = all[least]
		i = least
	}
	all[i] = last
	return first, true
}

// pool holds values that have an id and do not move, and uses them again.
type pool[T any] struct {
	all  []*T
	free []int32
}

// take returns a value that is not in use, with its content of the last use.
func (p *pool[T]) take() (int32, *T) {
	if n := len(p.free); n > 0 {
		id := p.free[n-1]
		p.free = p.free[:n-1]
		return id, p.all[id]
	}
	p.all = append(p.all, new(T))
	return int32(len(p.all) - 1), p.all[len(p.all)-1]
}

// give makes the value free for use again.
func (p *pool[T]) give(id int32) { p.free = append(p.free, id) }

func (p *pool[T]) at(id int32) *T { return p.all[id] }
