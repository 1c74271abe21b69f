package limiter_test

import (
	"maps"
	"slices"

	"github.com/aimd-go/aimd/window"
)

// literalTwin is the algorithm of "Improve on exponential backoff" as it is written there: "use 2 scalar variables
// cwnd and sshthres ..., two sets of request ids flying and ignored ... (initialized to the empty set), and a queue to
// hold pending requests". It is slow and simple, and the gate must do just what it does.
//
// Two things are settled beside the text: one is always admitted when nothing is in flight, and cwnd
// stays in bounds, so never below 1.
type literalTwin struct {
	cwnd, ssthresh  float64
	flying, ignored map[uint64]bool
	// queue has the operations; the first returned of them were put back.
	queue    []int
	returned int

	tahoe           bool
	initial, factor float64
	min, max        float64
	streak          int
	cuts            int
}

func newLiteralTwin(tahoe bool, initial, ssthresh, factor float64) *literalTwin {
	return &literalTwin{
		cwnd: initial, ssthresh: ssthresh, tahoe: tahoe, initial: initial, factor: factor,
		min: 1, max: window.MaxWindow,
		flying: map[uint64]bool{}, ignored: map[uint64]bool{},
	}
}

// mayFly: "as long as the number of outstanding requests (size of flying) is less than the current value
// of cwnd", for a cwnd of whole requests.
func (s *literalTwin) mayFly() bool {
	return len(s.flying) == 0 || float64(len(s.flying)+1) <= s.cwnd
}

// arrived: "add new requests to the queue".
func (s *literalTwin) arrived(op int) { s.queue = append(s.queue, op) }

func (s *literalTwin) rejoined(op int) {
	s.queue = slices.Insert(s.queue, s.returned, op)
	s.returned++
}

func (s *literalTwin) cancelled(op int) {
	i := slices.Index(s.queue, op)
	s.queue = slices.Delete(s.queue, i, i+1)
	if i < s.returned {
		s.returned--
	}
}

// sent: "extract a request from the queue and send it. Add the ids of sent requests to flying".
func (s *literalTwin) sent(id uint64) int {
	op := s.queue[0]
	s.cancelled(op)
	s.flying[id] = true
	return op
}

// succeeded: "on succesful response, set cwnd to max (cwnd, min(size(flying) + 1, cwnd + 1)) if
// size(flying) < sshthres or max (cwnd, min(size(flying) + 1, cwnd + 1.0/cwnd)) otherwise".
func (s *literalTwin) succeeded(id uint64) {
	n := float64(len(s.flying))
	if n < s.ssthresh {
		s.cwnd = max(s.cwnd, min(n+1, s.cwnd+1))
	} else {
		s.cwnd = max(s.cwnd, min(n+1, s.cwnd+1.0/s.cwnd))
	}
	s.bound()
	s.streak = 0
	delete(s.flying, id)
}

// failed: "on error response, if the request id is not in ignored, set sshthres to cwnd * 0.5 and cwnd to
// either the initial value (“Tahoe”) or the new sshthres (“Reno”); discard the current value of ignored,
// replacing it with the current value of flying (i.e., you need an immutable/functional structure or a
// deep copy)". And "remove [the ids from flying] when you get the corresponding responses/errors".
func (s *literalTwin) failed(id uint64) {
	if !s.ignored[id] {
		s.ssthresh = s.cwnd * s.factor
		if s.tahoe {
			s.cwnd = s.initial
		} else {
			s.cwnd = s.ssthresh
		}
		s.bound()
		s.ssthresh = max(1, s.ssthresh)
		if !s.pending() {
			s.streak++
		}
		s.ignored = maps.Clone(s.flying)
		s.cuts++
	}
	delete(s.flying, id)
}

// reconfigured: bounds and a factor from elsewhere, and nothing else changes.
func (s *literalTwin) reconfigured(lo, hi, factor, initial float64) {
	s.min, s.max, s.factor = lo, hi, factor
	s.initial = min(max(initial, lo), hi)
	s.bound()
}

func (s *literalTwin) bound() { s.cwnd = min(max(s.cwnd, s.min), s.max) }

// pending: something that flew at the last reaction has no answer yet.
func (s *literalTwin) pending() bool {
	for id := range s.ignored {
		if s.flying[id] {
			return true
		}
	}
	return false
}

// gone: the attempt ended and says nothing about load.
func (s *literalTwin) gone(id uint64) { delete(s.flying, id) }
