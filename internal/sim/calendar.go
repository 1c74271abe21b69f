package sim

import (
	"math/bits"
	"time"
)

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
	stopKind                 // the clients stop
	leaveKind                // the caller of an operation leaves
	lightsKind               // a client's limiter does more than watch
	readKind                 // an answer that came while the clients stood still is read
	reportKind               // a client reports to the store of its fleet
	storeKind                // the store has the report
	replyKind                // the client has the answer
	tickKind                 // the leader looks at the reports
)

// event is something that happens at a time. It has no pointers, so that the garbage collector need not look.
type event struct {
	// key orders events: the time, and in the last two bits the class.
	key uint64
	// id is the attempt, operation or client of the event, and gen the use of that id: an event of an older use
	// is out of date.
	id   int32
	gen  uint32
	kind kind
}

// Of events at the same time the server's outages and changes come first, then births, then all others, each in
// the order in which they were made.
func newEvent(at time.Duration, k kind, id int32, gen uint32) event {
	class := uint64(2)
	switch k {
	case outageKind, capacityKind, stopKind:
		class = 0
	case bornKind:
		class = 1
	}
	return event{key: uint64(at)<<2 | class, id: id, gen: gen, kind: k}
}

func (e event) at() time.Duration { return time.Duration(e.key >> 2) }

// calendar holds the events to come as a radix heap: no event is made for a time before the last one taken out.
type calendar struct {
	// due are the events with the key last. gone is the number taken out.
	last uint64
	due  []event
	gone int
	// later[i] are the events whose keys differ from last in bit i and in no higher bit, in the order in which
	// they were made. filled has a bit for each that is not empty.
	later  [64][]event
	filled uint64
}

func (c *calendar) push(e event) {
	if e.key == c.last {
		c.due = append(c.due, e)
		return
	}
	i := bits.Len64(e.key^c.last) - 1
	c.later[i] = append(c.later[i], e)
	c.filled |= 1 << i
}

// pop takes the first event out, and reports false without an event.
func (c *calendar) pop() (event, bool) {
	if c.gone == len(c.due) {
		if c.filled == 0 {
			return event{}, false
		}
		i := bits.TrailingZeros64(c.filled)
		next := c.later[i]
		c.last = next[0].key
		for _, e := range next {
			c.last = min(c.last, e.key)
		}
		c.due, c.gone = c.due[:0], 0
		c.later[i] = next[:0]
		c.filled &^= 1 << i
		for _, e := range next {
			c.push(e)
		}
	}
	c.gone++
	return c.due[c.gone-1], true
}

// pool holds values that have an id and do not move, and uses them again.
type pool[T any] struct {
	all  []*T
	free []int32
}

// take returns a value that is not in use, with its content of the last use.
func (p *pool[T]) take() (int32, *T) {
	if len(p.free) == 0 {
		block := make([]T, 64) // next to each other in memory
		for i := range block {
			p.give(int32(len(p.all)))
			p.all = append(p.all, &block[i])
		}
	}
	id := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return id, p.all[id]
}

func (p *pool[T]) give(id int32) { p.free = append(p.free, id) }

func (p *pool[T]) at(id int32) *T { return p.all[id] }
