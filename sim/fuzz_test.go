package sim

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
)

// picker makes choices of bytes, zeros when they are used up.
type picker struct{ bytes []byte }

func (p *picker) byte() byte {
	if len(p.bytes) == 0 {
		return 0
	}
	b := p.bytes[0]
	p.bytes = p.bytes[1:]
	return b
}

func (p *picker) yes() bool { return p.byte()%2 == 1 }

// count is 0 to 255, every tenth time of another size altogether.
func (p *picker) count() int {
	n := int(p.byte())
	if n >= 230 {
		return (n - 230) * 50
	}
	return n
}

// share is 0 to 1, and now and then what no share is.
func (p *picker) share() float64 {
	switch b := p.byte(); b {
	case 255:
		return math.NaN()
	case 254:
		return -1
	default:
		return float64(b) / 250
	}
}

// duration is nothing, a nanosecond, or up to days, rarely negative.
func (p *picker) duration() time.Duration {
	b := p.byte()
	switch {
	case b < 40:
		return 0
	case b == 255:
		return -1
	}
	units := [...]time.Duration{1, time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, time.Minute, time.Hour}
	return time.Duration(b) * units[p.byte()%8]
}

// rate is one in millions of years to millions in a second.
func (p *picker) rate() float64 {
	return float64(p.byte()) * math.Pow(10, float64(p.byte()%20)-15)
}

func (p *picker) word(all ...string) string { return all[int(p.byte())%len(all)] }

func (p *picker) server() Server {
	s := Server{
		Connect: p.duration(), Service: p.duration(),
		Spread: Spread{Kind: p.word("", uniformWord, exponentialWord, lognormalWord)},
		Slots:  p.count(),

		ConnectSpread: Spread{Kind: p.word("", uniformWord, exponentialWord, lognormalWord)},
	}
	if s.Slots > 0 {
		s.Queue = p.count()
	}
	s.Refusal = Refusal{Time: p.duration(), Busy: p.yes(), RetryAfter: p.duration(), RetryAfterJitter: p.duration()}
	switch p.byte() % 8 {
	case 0:
		s.Rate = Rate{PerSecond: float64(p.count()), CountRefused: p.yes()}
		if p.yes() {
			s.Rate.Window = p.duration()
		} else {
			s.Rate.Burst = float64(p.count())
		}
	case 1:
		s.Spread = Spread{}
		s.Slowdown = Slowdown{Limit: p.count(), Factor: 1 + 10*p.share(), Scale: float64(p.count()), Max: p.duration()}
	case 2:
		s.Knee = Knee{At: p.count(), Slope: 3 * p.share()}
	case 3:
		s.Medium = Medium{Places: p.count(), Jam: p.duration()}
		s.Knee = Knee{At: p.count()}
	case 4:
		s.Medium = Medium{Places: p.count(), Jam: p.duration()}
	}
	if p.yes() {
		s.Failures = Failures{Rate: p.share(), Overload: p.yes(), Sticky: p.yes(), From: p.duration(), For: p.duration()}
		if p.yes() {
			s.Failures.Every, s.Failures.First, s.Failures.Rest = p.count(), p.count(), p.duration()
			s.Failures.Lost, s.Failures.Period = p.yes(), p.duration()
			s.Blocks = Blocks{p.count(), p.duration()}
		}
	}
	for range p.byte() % 3 {
		s.Quotas = append(s.Quotas, Quota{
			Limit: float64(p.count()), Per: p.duration(), Bucket: p.yes(), Slice: p.duration(), Cost: p.share() * 100,
			Report: p.word("", "rounded", "full", "empty", "refusals", "none"),
		})
	}
	var at time.Duration
	for range p.byte() % 3 {
		o := Outage{From: at + p.duration(), For: p.duration(), Kind: p.word("", silentWord, lostWord), Backlog: p.count(), RetryAfter: p.yes()}
		s.Outages = append(s.Outages, o)
		at = o.end()
	}
	at = 0
	for range p.byte() % 3 {
		at += p.duration()
		c := Change{At: at, Service: p.duration()}
		if s.Slots > 0 {
			c.Slots = p.count()
		}
		s.Capacity = append(s.Capacity, c)
	}
	return s
}

func (p *picker) clients() Clients {
	c := Clients{Count: p.count(), Operations: p.count(), Timeout: p.duration(), Lateness: p.duration()}
	switch c.Arrivals = p.word(onceWord, steadyWord, poisson, closedWord, periodicWord); c.Arrivals {
	case onceWord:
		c.Stagger = p.duration()
	case steadyWord, poisson:
		c.Rate, c.Burst = p.rate(), Burst{p.duration(), p.count()}
	case closedWord:
		c.Think, c.Stagger = p.duration(), p.duration()
	case periodicWord:
		c.Period, c.Form = p.duration(), p.word("", fixedPeriod, jitteredPeriod, jitteredSlip)
		if !c.onGrid() {
			c.Start = p.word("", jittered, scattered)
		}
	}
	return c
}

func (p *picker) strategy() Strategy {
	s := Strategy{Name: "fuzz", Shared: p.yes()}
	if p.yes() {
		s = Strategies()[int(p.byte())%len(Strategies())]
	}
	if p.yes() {
		s.Retry = Retry{
			Kind: p.word("none", "constant", "exponential", "compound", "last-try"),
			Min:  p.duration(), Factor: float64(p.byte()) / 20, Attempts: p.count(), RetryAfter: p.yes(),
			Jitter: []backoff.Jitter{{}, backoff.Full(), backoff.Equal(), backoff.Normal(0.5), backoff.Uniform(1, 2)}[p.byte()%5],
		}
	}
	if p.yes() {
		s.Window = Window{
			Law: p.word("tahoe", "reno"), Factor: p.share(), Initial: float64(p.count()),
			NoPause: p.yes(), Patience: p.count(),
		}
		if p.yes() {
			s.Window.Max = s.Window.Initial + float64(p.count())
		}
	}
	if p.yes() {
		s.Budget.Share = p.share()
		s.Throttle = float64(p.byte()) / 20
		s.Sense = p.share()
	}
	return s
}

// FuzzRun: random scenarios never panic, never run for ever; those that are wrong are refused, and those that
// are right hold every invariant after every event.
func FuzzRun(f *testing.F) {
	for i := range byte(120) {
		seed := make([]byte, 150)
		for j := range seed {
			seed[j] = byte(int(i)*37+j*(int(i)+11)*7) ^ byte(j*j)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		p := picker{bytes}
		s := Scenario{Server: p.server(), Clients: p.clients(), Horizon: p.duration(), MaxEvents: 700}
		s.Watch, s.Regain = Watch{p.duration(), p.duration()}, p.share()
		st := p.strategy()
		s.Strategies = []Strategy{st}
		if s.Validate() != nil {
			_, err := Run(s, st, 1)
			require.Error(t, err)
			return
		}
		s = s.WithDefaults()
		require.NoError(t, s.Validate())
		e := newEngine(s, st, 1)
		for e.ended == "" {
			before := e.now
			e.step()
			require.LessOrEqual(t, before, e.now, "time goes on")
			// Looking at many attempts takes long.
			if len(e.attempts.all) < 50 || e.events%100 == 0 || e.ended != "" {
				e.invariants(t)
			}
		}
		r, err := Run(s, st, 1)
		require.NoError(t, err)
		checkResult(t, s, r)
	})
}

// invariants holds what must be so after every event.
func (e *engine) invariants(t *testing.T) {
	v := &e.server
	var running, busy, waited int
	free := make([]bool, len(e.attempts.all))
	for _, id := range e.attempts.free {
		require.False(t, free[id], "an attempt is let go of once")
		free[id] = true
	}
	for id := range int32(len(e.attempts.all)) {
		a := e.attempts.at(id)
		if free[id] {
			continue
		}
		if !a.waited && !a.held {
			t.Fatal("nobody has an attempt that is in use")
		}
		if a.waited {
			waited++
		}
		if a.held && a.phase == serving {
			running++
		}
		if a.held && a.phase == refusing && v.conf.Refusal.Busy {
			busy++
		}
	}
	require.Equal(t, running, v.running)
	require.Equal(t, busy, v.busy)
	require.Equal(t, waited, e.meter.inFlight)
	m := &e.meter
	require.Equal(t, m.counts[requests], m.inFlight+m.counts[successes]+m.counts[refusals]+m.counts[failures]+m.counts[timeouts], "an attempt ends once")
	alive := len(e.operations.all) - len(e.operations.free)
	require.Equal(t, m.Operations, m.Done+m.GivenUp+alive, "an operation ends once")
	require.LessOrEqual(t, m.inFlight, alive)
	require.Equal(t, m.counts[successes], m.Done)
	for _, p := range e.parties {
		if p.core != nil {
			require.LessOrEqual(t, float64(p.core.Flying()), max(p.core.State().Cwnd, float64(e.meter.PeakInFlight)))
		}
	}
	require.LessOrEqual(t, len(v.waiting), v.conf.Queue)
}

// checkResult holds what must be so at the end.
func checkResult(t *testing.T, s Scenario, r Result) {
	require.Contains(t, []string{endedDone, endedHorizon, endedEvents}, r.Ended)
	require.LessOrEqual(t, r.End, s.Horizon)
	require.LessOrEqual(t, r.Events, s.MaxEvents)
	if n := s.Clients.total(); n > 0 {
		require.LessOrEqual(t, r.Operations, n)
	}
	if r.Ended == endedDone {
		require.Equal(t, r.Operations, r.Done+r.GivenUp)
	}
	require.LessOrEqual(t, r.Makespan, r.End)
	require.LessOrEqual(t, r.Retries, r.Attempts)
	require.LessOrEqual(t, r.Jain, 1+1e-9)
	require.LessOrEqual(t, r.SinceSend.Max, r.SinceBirth.Max)
	for _, l := range []Latency{r.SinceBirth, r.SinceSend} {
		require.LessOrEqual(t, l.P50, l.P99)
		require.LessOrEqual(t, l.P99, l.Max)
		require.LessOrEqual(t, l.Mean, l.Max)
	}
	for _, m := range r.Measures() {
		if m.Applies {
			require.False(t, math.IsNaN(m.Value) || math.IsInf(m.Value, 0) || m.Value < 0, "%s: %v", m.Name, m.Value)
		}
	}
	for _, series := range r.Traces.Series {
		require.LessOrEqual(t, len(series.Values), maxSamples)
		require.Len(t, series.Values, len(r.Traces.Series[0].Values))
		for _, v := range series.Values {
			require.False(t, math.IsNaN(v) || v < 0, series.Name)
		}
	}
}
