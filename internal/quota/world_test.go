package quota_test

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// limit is one quota of a service.
type limit struct {
	name  string
	size  float64
	every time.Duration
	// bucket: the quota comes back at a rate, and the reset is the time until it is full.
	bucket bool
	// cost is what a request spends, 1 by default.
	cost func(*rand.Rand) float64

	left   float64
	filled time.Duration
}

func (l *limit) fill(now time.Duration) {
	if l.bucket {
		l.left = min(l.size, l.left+l.size*(now-l.filled).Seconds()/l.every.Seconds())
	} else if now/l.every != l.filled/l.every {
		l.left = l.size
	}
	l.filled = now
}

// report is what the service says of the quota, in truth.
func (l *limit) report(now time.Duration) quota.Report {
	reset := l.every - now%l.every
	if l.bucket {
		reset = time.Duration((l.size - l.left) / l.size * float64(l.every))
	}
	return quota.Report{Name: l.name, Limit: l.size, Left: math.Floor(l.left), Reset: reset}
}

// world is clients that send to a service with quotas.
type world struct {
	clients, jobs int
	// jobs is how many operations each client has, 0: without end. until is when it ends.
	until   time.Duration
	rtt     time.Duration
	limits  []*limit
	slots   int
	reports func(r quota.Report, refused bool) (quota.Report, bool)
	// retryAfter: a refusal has one.
	retryAfter bool
	reserve    float64
	seed       uint64
	silent     bool

	random *rand.Rand
	now    time.Duration
	events events
	seq    int
	busy   int
	all    []*client

	accepted, refused int
	// settled are the refusals after the first minute, in which clients learn of each other.
	settled int
	done    time.Duration
}

type client struct {
	core core.Core[int]
	wake time.Duration
	done int
	// fails are the failures of an operation.
	fails map[int]int
}

type event struct {
	at  time.Duration
	seq int
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.events, event{w.now + d, w.seq, do})
}

func (w *world) run() {
	w.random, w.rtt = rand.New(rand.NewPCG(w.seed, 7)), 100*time.Millisecond
	for _, l := range w.limits {
		l.left = l.size
		l.filled = 0
	}
	for range max(1, w.clients) {
		g, err := core.New[int](aimd.Probe, core.Settings{Rand: w.random, Reserve: w.reserve, Window: window.Settings{}})
		if err != nil {
			panic(err)
		}
		c := &client{core: g, fails: map[int]int{}}
		w.all = append(w.all, c)
		n := w.jobs
		if n == 0 {
			n = 1000
		}
		w.after(time.Duration(w.random.Float64()*float64(10*time.Millisecond)), func() {
			for i := range n {
				c.core.Queue.Push(&queue.Item[int]{Value: i})
			}
			w.drain(c)
		})
	}
	for len(w.events) > 0 {
		e := heap.Pop(&w.events).(event)
		if e.at > w.until {
			return
		}
		w.now = e.at
		e.do()
	}
}

func (w *world) drain(c *client) {
	for i, t := c.core.Next(w.now); i != nil; i, t = c.core.Next(w.now) {
		w.send(c, i, t)
	}
	if at, ok := c.core.Deadline(); ok && at != c.wake {
		c.wake = at
		w.after(at-w.now+time.Duration(w.random.Float64()*float64(time.Millisecond)), func() { w.drain(c) })
	}
}

func (w *world) send(c *client, i *queue.Item[int], t core.Ticket) {
	half := func() time.Duration {
		return time.Duration((0.25 + 0.5*w.random.Float64()) * float64(w.rtt))
	}
	w.after(half(), func() {
		refused := w.slots > 0 && w.busy >= w.slots
		var costs []float64
		for _, l := range w.limits {
			l.fill(w.now)
			cost := 1.
			if l.cost != nil {
				cost = l.cost(w.random)
			}
			costs = append(costs, cost)
			refused = refused || l.left < cost
		}
		var reports []quota.Report
		var ra time.Duration
		for k, l := range w.limits {
			if !refused {
				l.left -= costs[k]
			}
			r := l.report(w.now)
			if l.left < costs[k] {
				ra = max(ra, r.Reset)
				if l.bucket {
					ra = max(time.Second, time.Duration((costs[k]-l.left)/l.size*float64(l.every)))
				}
			}
			if w.reports != nil {
				var ok bool
				if r, ok = w.reports(r, refused); !ok {
					continue
				}
			}
			reports = append(reports, r)
		}
		if !refused {
			w.busy++
		}
		serve := time.Duration(0)
		if w.slots > 0 && !refused {
			serve = w.rtt
		}
		w.after(serve, func() {
			if !refused {
				w.busy--
			}
			w.after(half(), func() { w.answered(c, i, t, refused, ra, reports) })
		})
	})
}

func (w *world) answered(c *client, i *queue.Item[int], t core.Ticket, refused bool, ra time.Duration, reports []quota.Report) {
	o := window.Success
	if !w.retryAfter || !refused {
		ra = 0
	}
	if refused {
		o = window.Overload
		w.refused++
		if w.now > time.Minute {
			w.settled++
		}
	}
	if !w.silent {
		c.core.Reported(w.now, t, quota.Answer{Reports: reports, Refused: refused, RetryAfter: ra})
	}
	c.core.Answered(w.now, t, o, ra)
	if refused {
		c.fails[i.Value]++
		d := c.core.RetryDelay(c.fails[i.Value], o, ra)
		w.after(d, func() { c.core.Queue.PutBack(i); w.drain(c) })
	} else {
		w.accepted++
		c.done++
		w.done = w.now
		delete(c.fails, i.Value)
		if w.jobs == 0 {
			c.core.Queue.Push(i)
		}
	}
	w.drain(c)
}

// fairness is Jain's index of what the clients got: 1 if all got the same.
func (w *world) fairness() float64 {
	var sum, squares float64
	for _, c := range w.all {
		sum += float64(c.done)
		squares += float64(c.done) * float64(c.done)
	}
	return sum * sum / squares / float64(len(w.all))
}
