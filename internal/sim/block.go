package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/aimd-go/aimd/answer"
)

// Block is a time in which the service refuses every request after an excess, as a firewall does.
type Block struct {
	// For is the length of a block; 0: no blocks.
	For time.Duration `yaml:"for"`
	// Requests is the greatest number of requests in a second; the next request begins a block.
	Requests int `yaml:"requests" in:"1..10000000"`
	// Refused makes Requests count refused requests only; with 0 Requests the first refusal begins a block.
	Refused bool `yaml:"refused"`
	// Renew makes each request during a block begin its time again: a ban.
	Renew bool `yaml:"renew"`
	// RetryAfter makes the refusals of a block say when it ends.
	RetryAfter bool `yaml:"retry_after"`
	// Forbidden makes the refusals of a block final and neutral (403): their operations are given up.
	Forbidden bool `yaml:"forbidden"`
}

var errForbidden = errors.New("forbidden")

// times are the times of the requests that count in a sliding window, in order.
type times []time.Duration

// within drops the times that are no longer in the window.
func (w times) within(now, width time.Duration) times {
	gone, _ := slices.BinarySearch(w, now-width+1)
	return w[gone:]
}

// blocks are the blocks of a server: the requests that count, and the end of the last block.
type blocks struct {
	counted times
	end     time.Duration
}

// excess counts a request, and reports whether it begins a block.
func (b *blocks) excess(conf Block, now time.Duration) bool {
	b.counted = append(b.counted.within(now, time.Second), now)
	if len(b.counted) <= conf.Requests {
		return false
	}
	b.counted, b.end = nil, now+conf.For
	return true
}

// blocked reports whether a request comes during a block or begins one, and refuses it if so. The clairvoyant's
// request comes again when it begins no block.
func (s *server) blocked(e *engine, a *attempt) bool {
	conf, b := s.conf.Block, &s.blocks
	switch {
	case e.clairvoyant:
		return !conf.Refused && b.early(e, a, conf)
	case e.now < b.end:
		if conf.Renew {
			b.end = e.now + conf.For
		}
	case conf.Refused || !b.excess(conf, e.now):
		return false
	}
	means := answer.Refused
	if conf.Forbidden {
		means, a.final = answer.Denied, errForbidden
	}
	s.refuse(e, a, means)
	return true
}

// early reports whether the clairvoyant's request would begin a block, and has it come again if so.
func (b *blocks) early(e *engine, a *attempt, conf Block) bool {
	b.counted = b.counted.within(e.now, time.Second)
	if len(b.counted) < conf.Requests {
		b.counted = append(b.counted, e.now)
		return false
	}
	e.at(b.counted[0]+time.Second, arriveKind, a.id, a.gen)
	return true
}
