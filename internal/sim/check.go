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

// Bounds of times and whole numbers, so that every run ends and fits into memory. Our choice; the tag of some fields has
// others.
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
	needs(c, "watch_from", s.WatchFrom, "watch_for", s.WatchFor)
	const want = "clients.timeout with it: clients wait for a lost answer until then"
	forever := s.Clients.Timeout == 0
	c.when(forever && s.Server.Failures.Lost, "server.failures.lost", true, want)
	for i, o := range s.Server.Outages {
		c.when(forever && o.Kind == lostWord, fmt.Sprintf("server.outages[%d].kind", i), o.Kind, want)
	}
}

func (s Server) check(c checker) {
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
	needs(c, "service", b.Service, "operations", b.Operations)
}

func (k Knee) check(c checker) {
	needs(c, "slope", k.Slope, "at", k.At)
	needs(c, "factor", k.Factor, "at", k.At)
	needs(c, "scale", k.Scale, "factor", k.Factor)
	c.when(k.Factor > 0 && k.Slope > 0, "factor", k.Factor, "no slope with it: choose one of them")
}

func (r Rate) check(c checker) {
	needs(c, "window", r.Window, "per_second", r.PerSecond)
	needs(c, "no_debt", r.NoDebt, "count_refused", r.CountRefused)
	most := r.PerSecond * r.Window.Seconds()
	c.when(r.Window > 0 && r.Burst > 1, "burst", r.Burst, "no window with it, which has no bucket")
	c.when(r.PerSecond > 0 && r.Window > 0 && (most < 1 || most > maxNumber), "window", r.Window, "one in which there are 1 to %d requests, at %v per second", maxNumber, r.PerSecond)
}

func (b Block) check(c checker) {
	needs(c, "requests", b.Requests, "for", b.For)
	needs(c, "refused", b.Refused, "for", b.For)
	needs(c, "renew", b.Renew, "for", b.For)
	needs(c, "retry_after", b.RetryAfter, "for", b.For)
	needs(c, "forbidden", b.Forbidden, "for", b.For)
	c.when(b.For > 0 && b.Requests == 0 && !b.Refused, "requests", 0, "a number from 1 to %d, or refused", maxNumber)
}

func (q Quota) check(c checker) {
	c.when(q.Limit == 0, "limit", 0, "a number that is more than 0")
	c.when(q.Per == 0, "per", "0s", "a duration that is more than 0")
}

func (f Failures) check(c checker) {
	c.when(f.Period > 0 && (f.For == 0 || f.For >= f.Period), "period", f.Period, "a for that is longer than 0 and shorter than the period")
}

func (s Spread) check(c checker) {
	most := map[string]float64{uniformWord: 1, lognormalWord: 3}[s.Kind]
	c.when(s.Width != 0 && most == 0, "width", s.Width, "kind uniform or lognormal with it")
	if most > 0 {
		c.wrong(check.Number("width", &s.Width, 0, 0, most))
	}
}

func (s Clients) check(c checker) {
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
	needs(c, "retry_after", s.RetryAfter, "retry", s.Retry)
	needs(c, "interactive", s.Interactive, "retry", s.Retry)
	c.when(!(s.Budget >= 0 && s.Budget < 1), "budget", s.Budget, "a number from 0 to less than 1")
	if s.Retry != nil {
		c.in("retry").wrong(backoff.Check(*s.Retry))
	}
	if s.Fleet != nil {
		c.below("fleet", *s.Fleet)
		c.when(!s.Window.on() || s.Shared, "fleet.every", s.Fleet.Every, "a window with it that is not shared")
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
	cuts := w.Law == "" || w.Law == "tahoe" || w.Law == "reno" || w.Law == withoutIgnoredWord
	c.when(w.Factor != 0 && !cuts, "factor", w.Factor, "none with law: %s", w.Law)
	_, err := limiter.NewGate(law, w.settings(nil))
	c.wrong(err)
}
