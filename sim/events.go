package sim

import "time"

// kind says what happens at an event.
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
	wakeKind                 // a client's limiter is to be looked at again
	outageKind               // an outage begins or ends
	capacityKind             // the capacity changes
)

// event is something that will happen at a time.
type event = entry[time.Duration]

// entry is something that will happen at a time, or after so much work. It has no
// pointers, so that the collector need not look at them.
type entry[At time.Duration | float64] struct {
	at At
	// seq orders events of the same time: as they were made.
	seq uint64
	// id is the attempt, operation or client that it is about, and gen the use of
	// that id, so that an event that was overtaken is known.
	id   int32
	gen  uint32
	kind kind
}

func (a *entry[At]) before(b *entry[At]) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// heap has the first of its entries at the front, and four children to a node: it is less
// deep than with two, and a node's children are side by side in memory.
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
	for {
		child := 4*i + 1
		if child >= len(all) {
			break
		}
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
