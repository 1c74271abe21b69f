package viewer

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/aimd-go/aimd/limiter"
)

// advice has the state of a limiter in a word or two, its mark (ok, grow, wait, pause or off),
// the state in one sentence with its reason, and one hint or "".
type advice struct {
	State string `json:"state"`
	Mark  string `json:"mark"`
	Text  string `json:"text"`
	Do    string `json:"do"`
}

func (s *series) advise(now time.Time) advice {
	f := s.facts(now)
	idle := f.InFlight == 0 && f.Queued == 0 && f.answers == 0 && f.left == 0
	switch {
	case s.closed:
		return advice{"closed", "off", "Closed: nothing more is sent.", ""}
	case idle:
		return advice{"idle", "off", "Idle: nothing to send.", ""}
	case s.client != nil:
		return say("no limiter", "ok", "", "No limiter bounds it: %d in flight, %d of the last %d answers refused.",
			f.InFlight, f.refused, f.answers)
	}
	a := f.verdict(s.limiter.Config().MaxWindow, slower(s.past))
	a.Do = cmp.Or(f.urgent(), a.Do)
	return a
}

func say(state, mark, hint, format string, args ...any) advice {
	return advice{state, mark, fmt.Sprintf(format, args...), hint}
}

func (f facts) verdict(maximum, slower float64) advice {
	window, since := math.Floor(max(1, f.Cwnd)), f.at.Sub(f.before.at)
	more := float64(f.Queued-f.before.Queued) / since.Seconds()
	switch {
	case f.left > 0:
		why := "the service refused again, and accepted nothing in between"
		if f.pause.RetryAfter > 0 {
			why = "the service asked for it"
		}
		return say("paused", "pause",
			"Nothing to do: the first attempt after the pause shows more. If pause follows pause, the service is down.",
			"Paused for %v more: %s.", f.left.Round(100*time.Millisecond), why)
	case f.Cwnd >= maximum && f.full:
		return say("at its maximum", "wait", "Raise WithMaxWindow if the service can take more at a time.",
			"The maximum window of %.0f is the bottleneck, not the service.", maximum)
	case f.waits && !f.full:
		return say("spaced", "ok", "The service takes less than one at a time, or the law sends at a pace.",
			"Sends are spaced out: %d wait although the window has room.", f.Queued)
	case f.full && f.Cuts == f.before.Cuts && math.Round(f.Cwnd) > math.Round(f.before.Cwnd):
		return say("growing", "grow", "Nothing to do: it grows until the service refuses, or nothing waits.",
			"Looking for the limit: the window went from %.0f to %.0f in %v without a cut.",
			f.before.Cwnd, f.Cwnd, since.Round(time.Second))
	case f.waits && more >= 1 && since >= 3*time.Second:
		return say("queue grows", "wait", "Bound the queue (WithQueueBound), start less, or ask for a higher limit.",
			"Work comes faster than the service takes it: %d wait, %.0f more every second.", f.Queued, more)
	case f.waits && slower >= 1.2 && f.refused == 0:
		return say("not growing", "wait",
			"To go faster, the service has to answer faster: a wider window would wait inside it.",
			"Not growing: answers take %.1f times as long as they did, though nothing is refused.", slower)
	case f.waits:
		return say("at the limit", "ok", "To go faster, the service has to allow more.",
			"The service sets the pace: the window of %.0f is in use, %d wait.", window, f.Queued)
	case f.full:
		return say("in balance", "ok", "",
			"The window fits the work: %d of %.0f slots in use, and nothing waits for long.", f.InFlight, window)
	}
	return say("room to spare", "ok",
		"To go faster, start more at a time. If workers wait at another limiter, give each limiter its own.",
		"Your program sets the pace, not the service: it uses %d of %.0f slots.", f.InFlight, window)
}

// urgent is the hint that comes before the state's own, or "".
func (f facts) urgent() string {
	part := func(now, before uint64) float64 { return float64(now-before) / float64(max(f.answers, enough)) }
	timeouts, b := f.Timeouts-f.before.Timeouts, f.before
	switch {
	case f.Late > 0:
		return fmt.Sprintf("Permits released twice: %d. That is a mistake in the program that calls Done.", f.Late)
	case timeouts >= 5 && 2*timeouts > f.refused:
		return "More attempts time out than are refused: compare the attempt timeout with how long the service takes."
	case part(f.refused, 0) > 0.2:
		return fmt.Sprintf("One answer in %.0f is a refusal: the limit is very low, or others use it too.",
			math.Round(1/part(f.refused, 0)))
	case part(f.ClientErrors+f.Neutrals, b.ClientErrors+b.Neutrals) > 0.5:
		return "Most answers say nothing about load (a 404, no connection, a bug): look at the errors."
	}
	return ""
}

const (
	recently = 10 * time.Second // the time that advice is about
	enough   = 20               // answers, so that a share means something
)

// facts are the base of advice: the samples since the last pause, of ten seconds at most.
type facts struct {
	sample                         // the latest
	before           sample        // the oldest
	answers, refused uint64        // in between
	waits, full      bool          // in half of the samples operations waited, the window was used up
	pause            limiter.Event // the latest
	left             time.Duration // how long it still lasts
}

func (s *series) facts(now time.Time) facts {
	f := facts{sample: s.now}
	var end time.Time
	for _, e := range s.decisions {
		if until := e.Time.Add(e.Wait); e.Kind == limiter.Paused && until.After(end) {
			f.pause, end = e, until
		}
	}
	f.left = max(0, end.Sub(now))
	n, waits, full := 0, 0, 0
	count := func(p sample) {
		f.before = p
		if n++; p.Queued > 0 {
			waits++
		}
		if float64(p.InFlight) >= math.Floor(max(1, p.Cwnd)) {
			full++
		}
	}
	count(s.now)
	for i := len(s.past) - 1; i >= 0 && now.Sub(s.past[i].at) <= recently && s.past[i].at.After(end); i-- {
		count(s.past[i])
	}
	f.waits, f.full = 2*waits >= n, 2*full >= n
	f.answers = f.Attempts() - f.before.Attempts()
	f.refused = f.Overloads + f.Timeouts - f.before.Overloads - f.before.Timeouts
	return f
}

// slower is the latest latency over the best one, NaN if unknown. By Little's law a
// latency is the number in flight over the answers of a second.
func slower(past []sample) float64 {
	const n = 10 // samples, a second apart
	took, best := math.NaN(), math.Inf(1)
	for j := len(past) - 1; j >= n; j -= n {
		a, b, flying := past[j-n], past[j], 0
		for _, s := range past[j-n+1 : j+1] {
			flying += s.InFlight
		}
		answers := b.Attempts() - a.Attempts()
		if answers < enough || b.at.Sub(a.at) > 2*recently { // no page was open
			continue
		}
		t := float64(flying) * b.at.Sub(a.at).Seconds() / float64(answers)
		if best = min(best, t); j == len(past)-1 {
			took = t
		}
	}
	return took / best
}
