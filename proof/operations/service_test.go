package operations

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// leaveTrip is the mean time of an answer; all deadlines are in such times.
const leaveTrip = 100 * time.Millisecond

// leaveCell is one service, and a load of callers with deadlines.
type leaveCell struct {
	kind     string  // refuse, queue, rate, thrash, outage
	dist     string  // exact, even, exp, logn1, logn1.5
	slots    int     // the service takes slots / leaveTrip a second
	load     float64 // of what it takes
	spike    float64 // times the load, for length seconds
	length   float64
	deadline float64 // in mean answers
	spread   bool    // deadlines are 1/2 to 2 of it
	tries    int
	arrive   string // poisson, regular, burst, step
	notice   bool   // the service stops the work of a caller who left
	silent   bool   // the deadline is the caller's alone: it leaves then
}

func (c leaveCell) String() string {
	s := fmt.Sprintf("%s/%s/n%d/load%g", c.kind, c.dist, c.slots, c.load)
	if c.spike > 0 {
		s += fmt.Sprintf("/spike%gx%gs", c.spike, c.length)
	}
	s += fmt.Sprintf("/d%g", c.deadline)
	if c.spread {
		s += "spread"
	}
	s += fmt.Sprintf("/%s", c.arrive)
	if c.tries > 1 {
		s += fmt.Sprintf("/tries%d", c.tries)
	}
	if c.notice {
		s += "/notice"
	}
	return s
}

// work is the time of one answer.
func (c leaveCell) work(r *rand.Rand) time.Duration {
	m := float64(leaveTrip)
	switch c.dist {
	case "even":
		m *= 0.5 + r.Float64()
	case "exp":
		m *= r.ExpFloat64()
	case "logn1":
		m *= math.Exp(r.NormFloat64() - 0.5)
	case "logn1.5":
		m *= math.Exp(1.5*r.NormFloat64() - 1.125)
	}
	return max(time.Millisecond, time.Duration(m))
}

// best is the share of answers that come within the deadline, if an attempt is sent at once.
func (c leaveCell) best() float64 {
	r, in := rand.New(rand.NewPCG(3, 3)), 0
	for range 20000 {
		d := c.deadline
		if c.spread {
			d *= math.Pow(2, 2*r.Float64()-1)
		}
		if c.work(r) < time.Duration(d*float64(leaveTrip)) {
			in++
		}
	}
	return float64(in) / 20000
}

type leaveRefusal struct{}

func (leaveRefusal) Error() string   { return "503 too much" }
func (leaveRefusal) StatusCode() int { return 503 }

type leaveService struct {
	leaveCell
	start time.Time

	mu     sync.Mutex
	busy   int
	peak   int
	sent   int
	line   []*leaveWork
	tokens float64
	filled time.Time
}

type leaveWork struct {
	work   time.Duration
	answer chan struct{}
	timer  *time.Timer
	gone   bool
}

func (s *leaveService) call(ctx context.Context, work time.Duration) error {
	w, err := s.take(work)
	if err != nil {
		time.Sleep(5 * time.Millisecond)
		return err
	}
	select {
	case <-w.answer:
		return nil
	case <-ctx.Done():
		if s.notice {
			s.left(w)
		}
		return ctx.Err()
	}
}

func (s *leaveService) take(work time.Duration) (*leaveWork, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	w := &leaveWork{work: work, answer: make(chan struct{})}
	now := time.Now()
	since := now.Sub(s.start)
	switch s.kind {
	case "outage":
		if since > leaveWarm && since < leaveWarm+5*time.Second {
			return nil, leaveRefusal{}
		}
		fallthrough
	case "refuse":
		if s.busy >= s.slots {
			return nil, leaveRefusal{}
		}
	case "queue":
		if s.busy >= s.slots {
			s.line = append(s.line, w)
			return w, nil
		}
	case "rate":
		burst := max(2, float64(s.slots)/4)
		s.tokens = min(burst, s.tokens+now.Sub(s.filled).Seconds()*float64(s.slots)/leaveTrip.Seconds())
		if s.filled = now; s.tokens < 1 {
			return nil, leaveRefusal{}
		}
		s.tokens--
	case "thrash":
		if over := float64(s.busy+1) / float64(s.slots); over > 1 {
			w.work = time.Duration(float64(w.work) * min(over*over, 1000))
		}
	}
	s.begin(w)
	return w, nil
}

func (s *leaveService) begin(w *leaveWork) {
	s.busy++
	s.peak = max(s.peak, s.busy)
	w.timer = time.AfterFunc(w.work, func() {
		s.mu.Lock()
		s.ended()
		s.mu.Unlock()
		close(w.answer)
	})
}

func (s *leaveService) ended() {
	s.busy--
	for len(s.line) > 0 && s.busy < s.slots {
		w := s.line[0]
		if s.line = s.line[1:]; !w.gone {
			s.begin(w)
		}
	}
}

func (s *leaveService) left(w *leaveWork) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.gone = true
	if w.timer != nil && w.timer.Stop() {
		s.ended()
	}
}

// caller is the context of a caller who leaves after that time.
func (c leaveCell) caller(after time.Duration) (context.Context, context.CancelFunc) {
	if !c.silent {
		return context.WithTimeout(context.Background(), after)
	}
	ctx, leave := context.WithCancel(context.Background())
	t := time.AfterFunc(after, leave)
	return ctx, func() { t.Stop(); leave() }
}

const (
	leaveWarm = 8 * time.Second
	leaveCool = 24 * time.Second
)

// leaveShare counts the calls of a time: came, done in time, and the times of both.
type leaveShare struct {
	came, done, failed int
	took, lost         time.Duration
	all                []time.Duration
}

func (s leaveShare) share() float64 { return float64(s.done) / float64(max(1, s.came)) }

// leaveResult has the goodput, over what the service can take, in a spike, soon after it, and late.
type leaveResult struct {
	during, soon, late float64
	p50, p99, lost     time.Duration // of those done late; mean time of a try that failed
	sends              float64       // per call done
	window             float64
	flying             int
}

// run runs the load against the service; do runs one call with its deadline.
func (c leaveCell) run(t *testing.T, seed uint64, do func(context.Context, func(context.Context) error) error) (res leaveResult) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	s := &leaveService{leaveCell: c, start: time.Now()}
	var mu sync.Mutex
	var during, soon, late leaveShare
	var wg sync.WaitGroup
	over := leaveWarm + time.Duration(c.length*float64(time.Second))
	if c.kind == "outage" {
		over = leaveWarm + 5*time.Second
	}
	base := c.load * float64(c.slots) / leaveTrip.Seconds()
	var sentBefore int
	for next := time.Duration(0); next < over+leaveCool; {
		rate := base
		if next > leaveWarm && next < over && c.spike > 0 {
			rate *= c.spike
		}
		if c.arrive == "step" && next > leaveWarm && next < over+12*time.Second {
			rate *= 1.6 // the day begins, and ends 12 s later
		}
		n, gap := 1, 1/rate
		switch c.arrive {
		case "regular":
		case "burst":
			n = max(2, c.slots/2)
			gap *= float64(n) * rnd.ExpFloat64()
		default:
			gap *= rnd.ExpFloat64()
		}
		next += time.Duration(gap * float64(time.Second))
		time.Sleep(next - time.Since(s.start))
		for range n {
			var in *leaveShare
			switch {
			case next > leaveWarm && next <= over:
				in = &during
			case next > over+3*time.Second && next <= over+8*time.Second:
				in = &soon
			case next > over+14*time.Second && next <= over+22*time.Second:
				if in = &late; late.came == 0 {
					s.mu.Lock()
					sentBefore = s.sent
					s.mu.Unlock()
				}
			}
			d := c.deadline
			if c.spread {
				d *= math.Pow(2, 2*rnd.Float64()-1)
			}
			work, back := c.work(rnd), rnd.Float64()
			if in != nil {
				in.came++
			}
			wg.Add(1)
			go func() {
				defer wg.Done()
				began, ok := time.Now(), false
				var failed int
				var told time.Duration
				for try := range max(1, c.tries) {
					if try > 0 {
						time.Sleep(time.Duration(float64(100*time.Millisecond<<try) * (0.5 + back)))
					}
					tried := time.Now()
					ctx, cancel := c.caller(time.Duration(d * float64(leaveTrip)))
					err := do(ctx, func(ctx context.Context) error { return s.call(ctx, work) })
					cancel()
					if ok = err == nil; ok {
						break
					}
					failed, told = failed+1, told+time.Since(tried)
				}
				if in != nil {
					mu.Lock()
					defer mu.Unlock()
					if ok {
						in.done++
						in.took += time.Since(began)
						in.all = append(in.all, time.Since(began))
					}
					in.failed, in.lost = in.failed+failed, in.lost+told
				}
			}()
		}
	}
	s.mu.Lock()
	sends := s.sent - sentBefore
	res.flying = s.peak
	s.mu.Unlock()
	wg.Wait()
	could := func(f leaveShare, spike float64) float64 { return f.share() / min(1, 1/(c.load*spike)) }
	res.during, res.soon, res.late = could(during, max(1, c.spike)), could(soon, 1), could(late, 1)
	if c.kind == "outage" {
		res.during = during.share()
	}
	if c.arrive == "step" {
		res.soon = could(soon, 1.6)
	}
	slices.Sort(late.all)
	if n := len(late.all); n > 0 {
		res.p50, res.p99 = late.all[n/2], late.all[n*99/100]
	}
	res.lost = late.lost / time.Duration(max(1, late.failed))
	res.sends = float64(sends) / float64(max(1, late.done)) * 8 / 10 // sends are of the last 10 s, calls of 8
	return res
}
