package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
)

// The logarithm and the exponential are as good as those of package math.
func TestOwnFunctions(t *testing.T) {
	for x := 1e-17; x < 1e17; x *= 1.37 {
		assert.InEpsilon(t, 1+math.Log(x), 1+logarithm(x), 1e-13, "log %v", x)
	}
	assert.InDelta(t, 0, logarithm(1), 0)
	assert.InDelta(t, 709.78, logarithm(math.MaxFloat64), 0.01)
	for x := -700.0; x < 700; x += 0.37 {
		assert.InEpsilon(t, math.Exp(x), exponential(x), 1e-13, "exp %v", x)
	}
	assert.InDelta(t, 1, exponential(0), 0)
	assert.True(t, math.IsInf(exponential(701), 1))
}

// Events come in the order of time and class, and those of one time and class as they were made.
func TestEventsAreInOrder(t *testing.T) {
	r := newRandom(2)
	var c calendar
	var want []event
	first := func() {
		got, ok := c.pop()
		assert.True(t, ok)
		assert.Equal(t, want[0], got)
		want = want[1:]
	}
	for i := range int32(5000) {
		e := newEvent(time.Duration(c.last>>2)+time.Duration(r.Int64N(1<<r.IntN(40))), kind(r.IntN(int(capacityKind)+1)), i, 0)
		if e.key < c.last { // as births and outages are not made by other events of their time
			e.key = c.last
		}
		c.push(e)
		want = append(want, e)
		slices.SortStableFunc(want, func(a, b event) int { return cmp.Compare(a.key, b.key) })
		if r.IntN(3) == 0 {
			first()
		}
	}
	for len(want) > 0 {
		first()
	}
	_, ok := c.pop()
	assert.False(t, ok)
	assert.Less(t, newEvent(time.Second, outageKind, 0, 0).key, newEvent(time.Second, bornKind, 0, 0).key)
	assert.Less(t, newEvent(time.Second, bornKind, 0, 0).key, newEvent(time.Second, retryKind, 0, 0).key)
	assert.Equal(t, time.Second, newEvent(time.Second, retryKind, 0, 0).at())
}

// A law of Register is known wherever one is named.
func TestRegister(t *testing.T) {
	t.Cleanup(func() {
		laws = laws[:3]
		clear(registered)
	})
	Register("mine", aimd.Reno(0.5))
	assert.Equal(t, []string{"probe", "tahoe", "reno", "mine"}, Laws())
	assert.NotNil(t, Window{Law: "mine"}.MakeLaw())
	st, ok := StrategyNamed("mine")
	require.True(t, ok)
	s := Scenario{Server: Server{Slots: 4}, Clients: Clients{Operations: 100}}
	require.NoError(t, s.Validate(st))
	r, err := Run(s, st, 1)
	require.NoError(t, err)
	assert.Equal(t, 100, r.Done)
	_, err = Run(s, Strategy{Name: "x", Window: Window{Law: "yours"}}, 1)
	assert.ErrorContains(t, err, `law: yours is not allowed, want probe, tahoe, reno or mine`)
}

// It panics if the name is empty, has blanks, or is that of a law or a strategy already,
// or if there is no law.
func TestRegisterWhatIsWrong(t *testing.T) {
	for _, name := range []string{"", "a law", "probe", "reno", "backoff"} {
		assert.Panics(t, func() { Register(name, aimd.Reno(0.5)) }, name)
	}
	assert.Panics(t, func() { Register("lawless", nil) })
	assert.Nil(t, Window{Law: "lawless"}.MakeLaw())
}

const ms = time.Millisecond

// slowing are servers whose best concurrency is not where they begin to slow down,
// and some where it is, with what they can serve a second.
var slowing = map[string]struct {
	server Server
	best   float64 // a second; 0: not worked out by hand
}{
	// 15/ln(1.05) = 307.4: 307 at 1.05^(277/15) * 100 ms.
	"slowdown: the text's own constants": {Server{Service: 100 * ms, Knee: Knee{At: 30, Factor: 1.05}}, 307 / (0.1 * math.Pow(1.05, 277.0/15))},
	"slowdown: from one on":              {Server{Service: 100 * ms, Knee: Knee{At: 1, Factor: 1.5, Scale: 3}}, 0},
	// 20/ln(2) = 28.9 is less than the limit.
	"slowdown: steep":      {Server{Service: 100 * ms, Knee: Knee{At: 30, Factor: 2, Scale: 20}}, 300},
	"slowdown: with slots": {Server{Service: 100 * ms, Slots: 40, Queue: 1000, Knee: Knee{At: 30, Factor: 1.05}}, 40 / (0.1 * math.Pow(1.05, 10.0/15))},
	"knee: flat":           {Server{Service: 100 * ms, Knee: Knee{At: 7}}, 70},
	"knee: thrashing":      {Server{Service: 100 * ms, Knee: Knee{At: 7, Slope: 1.3}}, 70},
	// c/(1 + 0.5*(c-8)/8) goes to 8/0.5.
	"knee: it goes on growing":        {Server{Service: 100 * ms, Knee: Knee{At: 8, Slope: 0.5}}, 160},
	"knee: it goes on growing, slots": {Server{Service: 100 * ms, Slots: 24, Queue: 1000, Knee: Knee{At: 8, Slope: 0.5}}, 120},
	"knee: with a jam":                {Server{Service: 100 * ms, Slots: 24, Knee: Knee{At: 8, Slope: 0.5}, Jam: ms}, 120},
}

// without plays a scenario without looking for its optimum.
func without(s Scenario, st Strategy) Result {
	s.NoTraces = true
	e := newEngine(s.withDefaults(), st, 1)
	e.run()
	return e.meter.result(e)
}

// The clairvoyant is not beaten by any fixed concurrency: each up to 40 is tried, and then one in forty more, by clients
// with such a window, for operations that come at once or one by one. Where they come one by one and are gone after a
// few rounds, some other concurrency may fit a little better.
func TestOptimumAgainstBruteForce(t *testing.T) {
	for name, c := range slowing {
		for _, load := range []struct {
			Clients
			within float64
		}{
			{Clients{Operations: 150}, 1.0001},
			{Clients{Operations: 97, Rate: 333}, 1.03},
			{Clients{Operations: 400, Rate: 1000}, 1.01},
		} {
			t.Run(name, func(t *testing.T) {
				s := Scenario{Server: c.server, Clients: load.Clients}
				least := time.Duration(math.MaxInt64)
				for most := 1; most <= load.Operations; most += 1 + most/40 {
					r := without(s, Strategy{Window: Window{Law: "reno", Initial: float64(most), Max: float64(most)}})
					if r.Done == load.Operations {
						least = min(least, r.Makespan)
					}
				}
				best := optimum(s.withDefaults(), 1).Seconds()
				assert.LessOrEqual(t, best, least.Seconds()*load.within)
				assert.GreaterOrEqual(t, best, least.Seconds()*0.97, "and it is not far from what can be had")
			})
		}
	}
}

// What can be served a second, by all concurrencies tried.
func TestThroughputAgainstBruteForce(t *testing.T) {
	for name, c := range slowing {
		t.Run(name, func(t *testing.T) {
			got := c.server.throughput(0)
			if c.best > 0 {
				assert.InEpsilon(t, c.best, got, 1e-9)
			}
			if c.server.Slots == 0 && c.server.Knee.Slope > 0 && c.server.Knee.Slope < 1 {
				return // the more the better: only in the limit
			}
			best := 0.0
			for n := 1; n <= 400; n++ {
				// So many at once take equally long.
				r := without(Scenario{Server: c.server, Clients: Clients{Operations: n}}, Strategy{})
				if r.Done == n {
					best = max(best, float64(n)/r.Makespan.Seconds())
				}
			}
			assert.InEpsilon(t, best, got, 1e-6)
		})
	}
}

// Zero fields take their defaults, which are right and stay as they are.
func TestDefaults(t *testing.T) {
	s := Scenario{}.withDefaults()
	assert.Equal(t, 1, s.Clients.Count)
	assert.Equal(t, 1, s.Clients.Operations)
	assert.Equal(t, "once", s.Clients.Arrivals)
	assert.Equal(t, time.Hour, s.Horizon)
	assert.NoError(t, s.Validate())
	assert.Equal(t, s, s.withDefaults())
	s = Scenario{Clients: Clients{Rate: 5}}.withDefaults()
	assert.Equal(t, "constant", s.Clients.Arrivals)
	assert.Equal(t, 5*time.Minute, s.Horizon)
}

// picker makes choices of bytes, zeros if they are used up.
type picker struct{ bytes []byte }

func (p *picker) byte() byte {
	if len(p.bytes) == 0 {
		return 0
	}
	b := p.bytes[0]
	p.bytes = p.bytes[1:]
	return b
}

// words are the words of the fields that have words.
var words = map[string][]string{
	"Spread.kind":      {constantWord, uniformWord, exponentialWord, lognormalWord},
	"Outage.kind":      {errorsWord, silentWord, lostWord},
	"Quota.report":     {"true", "rounded", "full", "empty", "refusals", "none"},
	"Clients.arrivals": {onceWord, steadyWord, poisson, closedWord, periodicWord},
	"Clients.form":     {fixedPeriod, jitteredPeriod, jitteredTime, jitteredSlip},
	"Clients.start":    {together, jittered, scattered},
	"Window.law":       {"tahoe", "reno", "probe"},
}

// fill gives every nth field that has a name in files some value, and takes it back unless keep returns true.
func (p *picker) fill(v reflect.Value, nth byte, keep func() bool) {
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag
		if name := tag.Get("yaml"); name == "" || name == "-" || name == "name" || p.byte()%nth != 0 {
			continue
		}
		b, before := p.byte(), reflect.New(f.Type()).Elem()
		before.Set(f)
		switch to := f.Addr().Interface().(type) {
		case **backoff.Exponential:
			*to = &backoff.Exponential{
				Min: time.Duration(b) * time.Duration(math.Pow(10, float64(p.byte()%13))), Factor: float64(b%8) / 2, CapLast: b%2 == 0,
				Jitter: []backoff.Jitter{backoff.Full(), backoff.Equal(), backoff.Normal(0.5), backoff.Uniform(1, 2)}[b%4], Compound: b%5 == 0, LastTry: b%3 == 0,
			}
		case *time.Duration: // a nanosecond to days, or a negative one
			*to = time.Duration(int(b)-1) * time.Duration(math.Pow(10, float64(p.byte()%13)))
		case *bool:
			*to = b%2 == 0
		case *int:
			*to = int(b)
			if b >= 230 {
				*to = (*to - 230) * 50
			}
		case *float64: // a share, a number of a usual size, or one in millions of years
			*to = []float64{float64(b) / 250, float64(b) / 20, float64(b) * math.Pow(10, float64(p.byte()%20)-15), math.NaN(), -1}[p.byte()/60]
		case *string:
			words := words[v.Type().Name()+"."+tag.Get("yaml")]
			*to = words[int(b)%len(words)]
		default:
			switch f.Kind() {
			case reflect.Struct:
				p.fill(f, nth, keep)
				continue
			case reflect.Pointer:
				f.Set(reflect.New(f.Type().Elem()))
				p.fill(f.Elem(), nth, keep)
			default:
				f.Set(reflect.MakeSlice(f.Type(), 1+int(b%2), 2))
				for i := range f.Len() {
					p.fill(f.Index(i), 1, func() bool { return true })
				}
			}
		}
		if !keep() {
			f.Set(before)
		}
	}
}

// FuzzRun: random scenarios never panic, never run for ever; those that are wrong are refused, and those that
// are right hold every invariant after every event.
func FuzzRun(f *testing.F) {
	random := rand.NewChaCha8([32]byte{})
	for range 60 {
		seed := make([]byte, 250)
		_, _ = random.Read(seed) // never fails
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		p := picker{bytes}
		s, st := Scenario{MaxEvents: 700}, Strategy{}
		if p.byte()%2 == 0 {
			st = Strategies()[int(p.byte())%len(Strategies())]
		}
		valid := func() bool {
			if s.Validate(st) == nil {
				return true
			}
			_, err := Run(s, st, 1)
			require.Error(t, err)
			return false
		}
		for _, part := range []any{&s.Clients, &s.Server, &st} {
			p.fill(reflect.ValueOf(part).Elem(), 2, valid)
		}
		s.Regain, s.WatchFrom, s.WatchFor = float64(p.byte())/255, time.Duration(p.byte())*time.Second, time.Duration(1+int(p.byte()))*time.Second
		s.Horizon = time.Duration(p.byte()) * time.Duration(math.Pow(10, float64(p.byte()%13)))
		s = s.withDefaults()
		require.NoError(t, s.Validate(st))
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
	require.Len(t, v.serving, running)
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
			require.LessOrEqual(t, float64(p.core.Flying()), max(p.core.State().Cwnd, float64(e.meter.peak)))
		}
	}
	require.LessOrEqual(t, len(v.waiting), v.conf.Queue)
}

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
	value := map[string]float64{}
	for _, m := range r.Measures() {
		require.NotContains(t, value, m.Name)
		if value[m.Name] = m.Value; m.Applies {
			require.False(t, math.IsNaN(m.Value) || math.IsInf(m.Value, 0) || m.Value < 0, "%s: %v", m.Name, m.Value)
		}
	}
	require.LessOrEqual(t, value["jain"], 1+1e-9)
	require.LessOrEqual(t, value["p50_s"], value["p99_s"])
	require.LessOrEqual(t, value["first_send_p99_s"], value["p99_s"])
	for name, values := range r.Traces {
		require.LessOrEqual(t, len(values), maxSamples)
		require.Len(t, values, len(r.Traces["requests"]))
		for _, v := range values {
			require.False(t, math.IsNaN(v) || v < 0, name)
		}
	}
}
