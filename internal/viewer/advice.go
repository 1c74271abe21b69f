package viewer

import (
	"fmt"
	"math"
	"time"

	"github.com/aimd-go/aimd/limiter"
)

// advice is how a limiter does, and what to do about it.
type advice struct {
	// State is a word or two; Mark says what sort of state it is: ok, grow, wait,
	// hold or off.
	State string `json:"state"`
	Mark  string `json:"mark"`
	// Text is the whole of it, and Do what to do or to know.
	Text string   `json:"text"`
	Do   []string `json:"do"`
}

// recently is the time that advice speaks of.
const recently = 10 * time.Second

// facts are what advice is drawn from.
type facts struct {
	sample
	// before is the oldest sample of late, and span how long ago.
	before sample
	span   time.Duration
	// waiting, full and free are the parts of samples in which operations waited, the
	// window was used up, and had room for another; those within a pause do not count.
	waiting, full, free float64
	// max is the maximum window.
	max float64
	// held is the pause that lasts until then, if one does; holds are those of late.
	held  limiter.Event
	until time.Time
	holds []limiter.Event
	// slower is by how many times answers take longer than at best within the past; 0: not known.
	slower float64
	// moved is the latest cut or other change of late, if any.
	moved  limiter.Event
	closed bool
}

func (s *series) advise(now time.Time) advice {
	f := s.facts(now)
	if s.flow != nil {
		return f.unlimited()
	}
	f.max = s.limiter.Config().MaxWindow
	a := f.verdict()
	a.Do = append(a.Do, f.hints()...)
	return a
}

func (s *series) facts(now time.Time) facts {
	f := facts{sample: s.now, before: s.now, closed: s.closed}
	for _, e := range s.decisions {
		f.decided(now, e)
	}
	n := f.count(s.now)
	for i := len(s.past) - 1; i >= 0 && now.Sub(s.past[i].at) <= recently; i-- {
		f.before = s.past[i]
		n += f.count(s.past[i])
	}
	n = max(n, 1)
	f.waiting, f.full, f.free = f.waiting/n, f.full/n, f.free/n
	f.span = s.now.at.Sub(f.before.at)
	f.slower = slower(s.past)
	return f
}

// slower is by how many times answers take longer of late than at best. How long they
// take is Little's law: what flies over what is answered a second.
func slower(past []sample) float64 {
	const n = int(recently / spacing)
	now, best := 0.0, math.Inf(1)
	for j := len(past) - 1; j >= n; j -= n {
		flying, answers := 0.0, past[j].Attempts()-past[j-n].Attempts()
		for _, s := range past[j-n+1 : j+1] {
			flying += float64(s.InFlight)
		}
		if answers < enough || past[j].at.Sub(past[j-n].at) > 2*recently { // nobody looked
			continue
		}
		took := flying * past[j].at.Sub(past[j-n].at).Seconds() / float64(answers)
		if j == len(past)-1 {
			now = took
		}
		best = min(best, took)
	}
	return now / best
}

// decided takes a decision into account.
func (f *facts) decided(now time.Time, e limiter.Event) {
	late := now.Sub(e.Time) <= recently
	switch e.Kind {
	case limiter.Held:
		end := e.Time.Add(e.Wait)
		if end.After(now) && end.After(f.until) {
			f.held, f.until = e, end
		}
		if now.Sub(end) <= recently {
			f.holds = append(f.holds, e)
		}
	case limiter.Cut, limiter.Ignored, limiter.Shrank, limiter.Reconfigured:
		if late {
			f.moved = e
		}
	}
}

// count takes a sample into account and returns how often it counts.
func (f *facts) count(s sample) float64 {
	for _, e := range f.holds {
		if d := s.at.Sub(e.Time); d >= 0 && d <= e.Wait {
			return 0
		}
	}
	if s.Queued > 0 {
		f.waiting++
	}
	if float64(s.InFlight) >= math.Floor(s.Cwnd) {
		f.full++
	} else {
		f.free++
	}
	return 1
}

// often is the part of the samples from which on something is so.
const often = 0.5

// verdict says how the limiter does.
func (f facts) verdict() advice {
	switch {
	case f.closed:
		return f.ended()
	case !f.until.IsZero():
		return f.paused()
	case f.InFlight == 0 && f.Queued == 0 && f.Attempts() == f.before.Attempts():
		return advice{State: "idle", Mark: "off", Text: "Idle: nothing to send."}
	case f.Cwnd >= f.max && f.full >= often:
		return advice{"at its maximum", "wait", fmt.Sprintf("The maximum window of %.0f is the bottleneck, not the service.", f.max),
			[]string{"Raise WithMaxWindow if the service may have more at a time."}}
	case f.waiting >= often:
		return f.busy()
	case f.free >= often:
		return advice{"room to spare", "ok", fmt.Sprintf("Your program sets the pace, not the service: it uses %d of %.0f slots.", f.InFlight, math.Floor(f.Cwnd)),
			[]string{"To go faster, start more at a time. A window that is not used does not grow."}}
	case f.grew():
		return f.growing()
	}
	return advice{"in balance", "ok", fmt.Sprintf("The window fits the work: %d of %.0f slots in use, and nothing waits for long.", f.InFlight, math.Floor(f.Cwnd)), nil}
}

func (f facts) ended() advice {
	a := advice{State: "closed", Mark: "off", Text: "Closed: it takes no more work."}
	if f.InFlight > 0 {
		a.Text += fmt.Sprintf(" %d still in flight.", f.InFlight)
	}
	return a
}

// unlimited is the verdict on a client without a limiter.
func (f facts) unlimited() advice {
	accepted, refused := f.Successes-f.before.Successes, f.Overloads-f.before.Overloads
	switch {
	case f.closed:
		return advice{State: "closed", Mark: "off", Text: "Ended: it sends no more."}
	case f.InFlight == 0 && accepted+refused == 0:
		return advice{State: "idle", Mark: "off", Text: "Idle: no limiter bounds it, and nothing is in flight."}
	}
	a := advice{State: "no limiter", Mark: "ok", Text: fmt.Sprintf("No limiter bounds it: %d in flight.", f.InFlight)}
	if refused > 0 {
		a.Mark = "wait"
		a.Text = fmt.Sprintf("No limiter bounds it: %d in flight, and of the last %d answers %d were refusals.", f.InFlight, accepted+refused, refused)
	}
	return a
}

func (f facts) paused() advice {
	left := f.until.Sub(f.at).Round(100 * time.Millisecond)
	why := "it refused again, and accepted nothing in between"
	if f.held.RetryAfter > 0 {
		why = "the service asked for it"
	}
	return advice{"paused", "hold", fmt.Sprintf("Paused for %v more: %s.", left, why),
		[]string{"Nothing to do here: the first attempt after the pause finds out. If pause follows pause, the service is down or allows less than one at a time."}}
}

// slow is by how many times longer answers take where that is why a window does not grow.
const slow = 1.2

// busy is the verdict where operations wait.
func (f facts) busy() advice {
	switch growth := f.queueGrowth(); {
	case f.free > often:
		return advice{"spaced", "ok", fmt.Sprintf("Sends are spaced out: %d wait though the window has room.", f.Queued),
			[]string{"The limit is below one at a time, or the law sends at a pace."}}
	case f.grew():
		return f.growing()
	case f.recovers():
		from, _ := f.base()
		return advice{"recovering", "grow", fmt.Sprintf("Recovering: the pause is over, and the window went from %.0f to %.0f since.", from, f.Cwnd),
			[]string{"Nothing to do: it looks for the limit again."}}
	case growth >= 1 && f.span >= 3*time.Second && len(f.holds) == 0:
		return advice{"queue grows", "wait", fmt.Sprintf("The queue is the bottleneck, not the window: %d wait, %.0f more every second.", f.Queued, growth),
			[]string{"Work comes faster than the service takes it. Bound the queue (WithQueueBound), start less, or ask for a higher limit: a wider window would only be refused."}}
	}
	if f.slower >= slow && f.Overloads+f.Timeouts == f.before.Overloads+f.before.Timeouts {
		return advice{"not growing", "wait", fmt.Sprintf("Not growing: answers take %.1f times as long as they did, though nothing is refused.", f.slower),
			[]string{"A wider window would only wait inside the service. To go faster, it has to answer faster."}}
	}
	return advice{"at the limit", "ok", fmt.Sprintf("The service sets the pace: the window of %.0f is in use, %d wait.", math.Floor(f.Cwnd), f.Queued),
		[]string{"This is what the service gives. To go faster, it has to allow more."}}
}

func (f facts) growing() advice {
	from, since := f.base()
	return advice{"growing", "grow", fmt.Sprintf("Looking for the limit: the window went from %.0f to %.0f in %v without a cut.",
		from, f.Cwnd, since.Round(time.Second)),
		[]string{"Nothing to do: it grows until the service refuses or there is no more work."}}
}

// base is the window after its last cut or other change, or that of a while ago, and
// how long ago that was.
func (f facts) base() (float64, time.Duration) {
	if f.moved.Kind != 0 {
		return f.moved.Window.Cwnd, f.at.Sub(f.moved.Time)
	}
	return f.before.Cwnd, f.span
}

// calm is the time without a cut from which on a window counts as growing; around the
// limit it is cut more often.
const calm = 5 * time.Second

// grew reports whether the window did, by half a slot or more, and to another whole number.
func (f facts) grew() bool {
	from, since := f.base()
	return f.Cwnd >= from+0.5 && math.Round(f.Cwnd) > math.Round(from) && (f.moved.Kind == 0 || since >= calm)
}

// recovers reports whether the window grew after a pause, and was not cut since.
func (f facts) recovers() bool {
	from, _ := f.base()
	n := len(f.holds)
	return n > 0 && !f.holds[n-1].Time.Before(f.moved.Time) && f.Cwnd >= from+0.5
}

// queueGrowth is by how many operations the queue grew each second.
func (f facts) queueGrowth() float64 {
	if f.span <= 0 {
		return 0
	}
	return float64(f.Queued-f.before.Queued) / f.span.Seconds()
}
