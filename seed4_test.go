package aimd_test

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// seed4 is the discrete-event simulation of seed 4, on virtual time: a client
// with so many operations, one more every millisecond, against a server that
// serves 50 at a time.
//
// "The connection/request time is 100ms; succesful responses are served in
// 500ms, and error responses in 50ms." The connection passes before the
// request holds a slot; a refusal keeps the server busy while it lasts.
type seed4 struct {
	operations int
	// downUntil: until then every request is refused.
	downUntil time.Duration
	// stopAt ends the run early; 0: when all is done.
	stopAt time.Duration

	now    time.Duration
	events events
	seq    int
	busy   int

	attempts  int
	done      int
	makespan  time.Duration
	firstSent []time.Duration
	took      []time.Duration // from first send to success
}

const (
	seed4Arrival = time.Millisecond
	seed4Connect = 100 * time.Millisecond
	seed4Service = 500 * time.Millisecond
	seed4Refusal = 50 * time.Millisecond
	seed4Slots   = 50
)

// epoch is where virtual time begins.
var epoch = time.Date(2019, 5, 16, 0, 0, 0, 0, time.UTC)

type event struct {
	at  time.Duration
	seq int
	run func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (s *seed4) at(d time.Duration, run func()) {
	s.seq++
	heap.Push(&s.events, event{at: max(d, s.now), seq: s.seq, run: run})
}

// attempt sends a request and tells the client how it ended.
func (s *seed4) attempt(op int, answered func(ok bool)) {
	s.attempts++
	if s.firstSent[op] < 0 {
		s.firstSent[op] = s.now
	}
	s.at(s.now+seed4Connect, func() {
		ok := s.busy < seed4Slots && s.now >= s.downUntil
		took := seed4Refusal
		if ok {
			took = seed4Service
		}
		s.busy++
		s.at(s.now+took, func() {
			s.busy--
			if ok {
				s.done++
				s.makespan = s.now
				s.took = append(s.took, s.now-s.firstSent[op])
			}
			answered(ok)
		})
	})
}

func (s *seed4) run(arrived func(op int)) {
	s.firstSent = slices.Repeat([]time.Duration{-1}, s.operations)
	for op := range s.operations {
		s.at(time.Duration(op)*seed4Arrival, func() { arrived(op) })
	}
	for len(s.events) > 0 && (s.stopAt == 0 || s.events[0].at <= s.stopAt) {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.run()
	}
}

// windowed runs it with the library's own Core.
func (s *seed4) windowed(law window.NewLaw, settings limiter.Settings) error {
	core, err := limiter.NewCore[int](law, settings)
	if err != nil {
		return err
	}
	failures := make([]int, s.operations)
	var wake time.Duration
	var drain func()
	drain = func() {
		for i, t := core.Next(epoch.Add(s.now)); i != nil; i, t = core.Next(epoch.Add(s.now)) {
			s.attempt(i.Value, func(ok bool) {
				outcome := window.Success
				if !ok {
					outcome = window.Overload
				}
				core.Answered(epoch.Add(s.now), t, outcome, 0)
				if ok {
					failures[i.Value] = 0
				} else {
					failures[i.Value]++
					s.at(s.now+core.RetryDelay(failures[i.Value], outcome, 0), func() {
						core.Rejoined(i)
						drain()
					})
				}
				drain()
			})
		}
		if d, ok := core.Deadline(); ok && d.Sub(epoch) != wake {
			wake = d.Sub(epoch)
			s.at(wake, func() { drain() })
		}
	}
	s.run(func(op int) {
		core.Queued(&queue.Item[int]{Value: op})
		drain()
	})
	return nil
}

// backoff runs it with plain exponential backoff: 50 ms, doubling, times
// U(0.4, 1.6), capped at 30 s after the jitter.
func (s *seed4) backoff(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 4))
	var try func(op int, delay time.Duration)
	try = func(op int, delay time.Duration) {
		s.attempt(op, func(ok bool) {
			if ok {
				return
			}
			wait := min(30*time.Second, time.Duration(float64(delay)*(0.4+1.2*r.Float64())))
			s.at(s.now+wait, func() { try(op, min(2*delay, time.Hour)) })
		})
	}
	s.run(func(op int) { try(op, 50*time.Millisecond) })
}

// optimum is what a client that knew the limit would take.
func (s *seed4) optimum() time.Duration {
	rounds := (s.operations + seed4Slots - 1) / seed4Slots
	return time.Duration(rounds) * seed4Service
}
