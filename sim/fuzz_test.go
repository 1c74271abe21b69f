package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
)

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
		case *backoff.Jitter:
			*to = []backoff.Jitter{backoff.Full(), backoff.Equal(), backoff.Normal(0.5), backoff.Uniform(1, 2)}[b%4]
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
			words := strings.Fields(cmp.Or(tag.Get("of"), "tahoe reno probe"))
			*to = words[int(b)%len(words)]
		default:
			if f.Kind() == reflect.Struct {
				p.fill(f, nth, keep)
				continue
			}
			f.Set(reflect.MakeSlice(f.Type(), 1+int(b%2), 2))
			for i := range f.Len() {
				p.fill(f.Index(i), 1, func() bool { return true })
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
		s := Scenario{MaxEvents: 700, Strategies: []Strategy{{Name: "fuzz"}}}
		if p.byte()%2 == 0 {
			s.Strategies[0] = Strategies()[int(p.byte())%len(Strategies())]
		}
		st := &s.Strategies[0]
		valid := func() bool {
			if s.Validate() == nil {
				return true
			}
			_, err := Run(s, *st, 1)
			require.Error(t, err)
			return false
		}
		for _, part := range []any{&s.Clients, &s.Server, st, &s.Watch} {
			p.fill(reflect.ValueOf(part).Elem(), 2, valid)
		}
		s.Regain = float64(p.byte()) / 255
		s.Horizon = time.Duration(p.byte()) * time.Duration(math.Pow(10, float64(p.byte()%13)))
		s = s.WithDefaults()
		require.NoError(t, s.Validate())
		e := newEngine(s, *st, 1)
		for e.ended == "" {
			before := e.now
			e.step()
			require.LessOrEqual(t, before, e.now, "time goes on")
			// Looking at many attempts takes long.
			if len(e.attempts.all) < 50 || e.events%100 == 0 || e.ended != "" {
				e.invariants(t)
			}
		}
		r, err := Run(s, *st, 1)
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
