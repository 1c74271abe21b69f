package sim

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/schedule"
)

// Bounds of times and whole numbers, so that every run ends and fits into memory. Our choice; some fields have
// other bounds.
const (
	maxHorizon = 30 * 24 * time.Hour
	maxNumber  = 10_000_000
)

// Validate returns nil, or an error that joins a setting.Error for each wrong field of the scenario and of the
// strategies, in the order of the fields. Its Name is the field's path as in a scenario file:
// "server.outages[1].from", "strategies[0].retry.min".
func (s Scenario) Validate(strategies ...Strategy) error {
	errs := problems("", s)
	for i, st := range strategies {
		errs = append(errs, problems(fmt.Sprintf("strategies[%d]", i), st)...)
	}
	return errors.Join(errs...)
}

func (s Scenario) check(c checker) {
	c.below("server", s.Server)
	c.below("clients", s.Clients)
	c.time("horizon", s.Horizon)
	c.count("max_events", s.MaxEvents, 0, 2_000_000_000)
	c.time("watch_from", s.WatchFrom)
	c.time("watch_for", s.WatchFor)
	c.number("regain", s.Regain, 0, 1)
	c.duration("trace", s.Trace, time.Millisecond, time.Hour)
	if !c.right() {
		return
	}
	needs(c, "watch_from", s.WatchFrom, "watch_for", s.WatchFor)
	const want = "clients.timeout with it: clients wait for a lost answer until then"
	forever := s.Clients.Timeout == 0
	c.when(forever && s.Server.Failures.Lost, "server.failures.lost", true, want)
	for i, o := range s.Server.Outages {
		c.when(forever && o.Kind == lostWord, fmt.Sprintf("server.outages[%d].kind", i), o.Kind, want)
	}
}

func (s Server) check(c checker) {
	c.time("connect", s.Connect)
	c.below("connect_spread", s.ConnectSpread)
	c.time("service", s.Service)
	c.below("blocks", s.Blocks)
	c.below("spread", s.Spread)
	c.count("slots", s.Slots, 0, maxNumber)
	c.count("queue", s.Queue, 0, maxNumber)
	c.number("reserve", s.Reserve, 0, 1)
	c.below("refusal", s.Refusal)
	c.below("rate", s.Rate)
	c.below("block", s.Block)
	each(c, "quotas", s.Quotas)
	c.below("knee", s.Knee)
	c.time("jam", s.Jam)
	c.below("failures", s.Failures)
	each(c, "capacity", s.Capacity)
	each(c, "outages", s.Outages)
	if !c.right() {
		return
	}
	needs(c, "queue", s.Queue, "slots", s.Slots)
	needs(c, "reserve", s.Reserve, "slots", s.Slots)
	needs(c, "jam", s.Jam, "slots", s.Slots)
	c.when(s.Reserve > 0 && s.Queue > 0, "reserve", s.Reserve, "no queue with it, which knows no priorities")
	c.when(s.Jam > 0 && s.Queue > 0, "jam", s.Jam, "no queue with it")
	const one = "no %s with it: it is one time for all requests"
	steep := s.Knee.steep()
	c.when(steep && s.Spread.Kind != "" && s.Spread.Kind != constantWord, "knee.factor", s.Knee.Factor, one, "spread")
	c.when(steep && s.Blocks.Operations > 0, "knee.factor", s.Knee.Factor, one, "blocks")
	var before time.Duration
	for i, ch := range s.Capacity {
		c := c.in(fmt.Sprintf("capacity[%d]", i))
		c.when(ch.At < before, "at", ch.At, "%v or later: changes stand in the order of time", before)
		c.when(ch.Slots > 0 && s.Slots == 0, "slots", ch.Slots, "server.slots with it")
		c.when(ch.Service > 0 && steep, "service", ch.Service, "no server.knee.factor with it, which has one time for all requests")
		before = ch.At
	}
	before = 0
	for i, o := range s.Outages {
		c := c.in(fmt.Sprintf("outages[%d]", i))
		c.when(o.For == 0, "for", o.For, "a duration from 1ns to %v", maxHorizon)
		c.when(o.From < before, "from", o.From, "%v or later, when the outage before has ended", before)
		before = o.end()
	}
}

func (b Blocks) check(c checker) {
	c.count("operations", b.Operations, 0, maxNumber)
	c.time("service", b.Service)
	if c.right() {
		needs(c, "service", b.Service, "operations", b.Operations)
	}
}

func (r Refusal) check(c checker) {
	c.time("time", r.Time)
	c.below("spread", r.Spread)
	c.time("retry_after", r.RetryAfter)
	c.time("retry_after_jitter", r.RetryAfterJitter)
}

func (k Knee) check(c checker) {
	c.count("at", k.At, 0, maxNumber)
	c.number("slope", k.Slope, 0, 100)
	c.number("factor", k.Factor, 1.0001, 1000)
	c.number("scale", k.Scale, 0.01, 1e6)
	if !c.right() {
		return
	}
	needs(c, "slope", k.Slope, "at", k.At)
	needs(c, "factor", k.Factor, "at", k.At)
	needs(c, "scale", k.Scale, "factor", k.Factor)
	c.when(k.Factor > 0 && k.Slope > 0, "factor", k.Factor, "no slope with it: choose one of them")
}

func (r Rate) check(c checker) {
	c.number("per_second", r.PerSecond, 0, 1e7)
	c.number("burst", r.Burst, 1, 1e7)
	c.duration("window", r.Window, 0, time.Hour)
	if !c.right() {
		return
	}
	needs(c, "window", r.Window, "per_second", r.PerSecond)
	needs(c, "no_debt", r.NoDebt, "count_refused", r.CountRefused)
	most := r.PerSecond * r.Window.Seconds()
	c.when(r.Window > 0 && r.Burst > 1, "burst", r.Burst, "no window with it, which has no bucket")
	c.when(r.PerSecond > 0 && r.Window > 0 && (most < 1 || most > maxNumber), "window", r.Window, "one in which there are 1 to %d requests, at %v per second", maxNumber, r.PerSecond)
}

func (b Block) check(c checker) {
	c.time("for", b.For)
	c.count("requests", b.Requests, 1, maxNumber)
	if !c.right() {
		return
	}
	needs(c, "requests", b.Requests, "for", b.For)
	needs(c, "refused", b.Refused, "for", b.For)
	needs(c, "renew", b.Renew, "for", b.For)
	needs(c, "retry_after", b.RetryAfter, "for", b.For)
	needs(c, "forbidden", b.Forbidden, "for", b.For)
	c.when(b.For > 0 && b.Requests == 0 && !b.Refused, "requests", 0, "a number from 1 to %d, or refused", maxNumber)
}

func (q Quota) check(c checker) {
	c.number("limit", q.Limit, 1, 1e12)
	c.duration("per", q.Per, time.Millisecond, maxHorizon)
	c.time("slice", q.Slice)
	c.number("cost", q.Cost, 0, 1e9)
	c.word("report", q.Report, "true", "rounded", "full", "empty", "refusals", "none")
	if !c.right() {
		return
	}
	c.when(q.Limit == 0, "limit", 0, "a number that is more than 0")
	c.when(q.Per == 0, "per", "0s", "a duration that is more than 0")
}

func (f Failures) check(c checker) {
	c.number("rate", f.Rate, 0, 1)
	c.count("every", f.Every, 0, maxNumber)
	c.count("first", f.First, 0, maxNumber)
	c.time("rest", f.Rest)
	c.time("from", f.From)
	c.time("for", f.For)
	c.time("period", f.Period)
	if !c.right() {
		return
	}
	c.when(f.Period > 0 && (f.For == 0 || f.For >= f.Period), "period", f.Period, "a for that is longer than 0 and shorter than the period")
}

func (c Change) check(k checker) {
	k.time("at", c.At)
	k.count("slots", c.Slots, 0, maxNumber)
	k.time("service", c.Service)
}

func (o Outage) check(c checker) {
	c.time("from", o.From)
	c.duration("for", o.For, 1, maxHorizon)
	c.word("kind", o.Kind, errorsWord, silentWord, lostWord)
	c.count("backlog", o.Backlog, 0, maxNumber)
}

func (s Spread) check(c checker) {
	if c.word("kind", s.Kind, constantWord, uniformWord, exponentialWord, lognormalWord); !c.right() {
		return
	}
	most := map[string]float64{uniformWord: 1, lognormalWord: 3}[s.Kind]
	c.when(s.Width != 0 && most == 0, "width", s.Width, "kind uniform or lognormal with it")
	if most > 0 {
		c.number("width", s.Width, 0, most)
	}
}

func (s Clients) check(c checker) {
	c.count("count", s.Count, 0, 100_000)
	c.count("operations", s.Operations, 0, maxNumber)
	c.word("arrivals", s.Arrivals, onceWord, steadyWord, poisson, closedWord, periodicWord)
	c.number("rate", s.Rate, 0, 1e7)
	c.time("think", s.Think)
	c.time("period", s.Period)
	c.word("form", s.Form, fixedPeriod, jitteredPeriod, jitteredTime, jitteredSlip)
	c.word("start", s.Start, together, jittered, scattered)
	c.number("background", s.Background, 0, 1)
	c.time("stagger", s.Stagger)
	c.count("burst", s.Burst, 0, maxNumber)
	c.time("burst_at", s.BurstAt)
	c.time("timeout", s.Timeout)
	c.time("deadline", s.Deadline)
	c.duration("lateness", s.Lateness, 0, time.Minute)
	c.duration("stop_for", s.StopFor, 0, time.Hour)
	c.duration("stop_every", s.StopEvery, time.Millisecond, maxHorizon)
	c.duration("cpu", s.CPU, 0, time.Hour)
	c.number("price", s.Price, 0, 1e6)
	if !c.right() {
		return
	}
	needs(c, "burst_at", s.BurstAt, "burst", s.Burst)
	needs(c, "stop_for", s.StopFor, "stop_every", s.StopEvery)
	needs(c, "stop_every", s.StopEvery, "stop_for", s.StopFor)
	// So that the last client starts within the longest horizon.
	c.wrong(check.Duration("stagger", &s.Stagger, 0, 0, maxHorizon/time.Duration(max(s.Count, 1))))
	const none = "none with arrivals: %s"
	arrivals := s.withDefaults().Arrivals
	rated := arrivals == steadyWord || arrivals == poisson
	c.when(s.Rate > 0 && !rated, "rate", s.Rate, none, arrivals)
	c.when(s.Rate == 0 && rated, "rate", 0, "one with arrivals: %s", arrivals)
	c.when(s.Stagger > 0 && arrivals != onceWord && arrivals != closedWord, "stagger", s.Stagger, none, arrivals)
	c.when(s.Burst > 0 && (arrivals == closedWord || arrivals == periodicWord), "burst", s.Burst, none, arrivals)
	if arrivals == periodicWord {
		_, err := schedule.New(schedule.Config{Period: s.Period})
		c.wrong(err)
		c.when(s.Start != "" && s.onGrid(), "start", strconv.Quote(s.Start), "none with form: %s, which has a start of its own", s.withDefaults().Form)
	}
}

func (s Strategy) check(c checker) {
	c.count("attempts", s.Attempts, 0, 1_000_000)
	c.below("window", s.Window)
	c.number("throttle", s.Throttle, 1, 100)
	c.number("sense", s.Sense, 0, 1)
	if !c.right() {
		return
	}
	needs(c, "retry_after", s.RetryAfter, "retry", s.Retry)
	needs(c, "interactive", s.Interactive, "retry", s.Retry)
	c.when(!(s.Budget >= 0 && s.Budget < 1), "budget", s.Budget, "a number from 0 to less than 1")
	if s.Retry != nil {
		c.in("retry").wrong(backoff.Check(*s.Retry))
	}
	if s.Fleet != nil {
		s.Fleet.check(c.in("fleet"), s)
	}
	c.when(s.Sense != 0 && s.Window.on(), "sense", s.Sense, "no window with it")
}

func (w Window) check(c checker) {
	law := w.MakeLaw()
	switch {
	case w.Law == "" && law == nil:
		others := w.NoPause || w.NoQuota || w.FIFO || w.Shadow != 0 || w.Factor != 0 || w.Initial != 0 || w.Min != 0 || w.Max != 0
		c.when(others, "law", `""`, "one: the other fields are about it")
		return
	case law == nil:
		c.wrong(check.OneOf("law", w.Law, Laws()...))
		return
	}
	c.time("shadow", w.Shadow)
	cuts := w.Law == "" || w.Law == "tahoe" || w.Law == "reno" || w.Law == withoutIgnoredWord
	c.when(w.Factor != 0 && !cuts, "factor", w.Factor, "none with law: %s", w.Law)
	_, err := limiter.NewGate(law, w.settings(nil))
	c.wrong(err)
}
