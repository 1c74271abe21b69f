package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/aimd-go/aimd/backoff"
)

// FuzzDelay tries any settings, right or wrong, any state and any random numbers: a delay is never
// negative, never beyond MaxDelay, and what Check lets pass keeps what it promises.
func FuzzDelay(f *testing.F) {
	f.Add(int64(1e8), int64(3e10), 2.0, 0.5, 1.0, uint8(1), 3, int64(1e9), int64(5e9), 0.5, 0.1)
	f.Add(int64(-1), int64(math.MaxInt64), math.NaN(), math.Inf(1), -1.0, uint8(255), math.MaxInt, int64(math.MinInt64), int64(math.MaxInt64), math.NaN(), math.Inf(-1))
	f.Add(int64(1), int64(backoff.MaxDelay), 1000.0, 0.0, 100.0, uint8(2), math.MaxInt, int64(backoff.MaxDelay), int64(0), 0.0, 0.0)
	// A cap that no float64 can hold.
	f.Add(int64(40), int64(backoff.MaxDelay)-9, 2.0, 0.0, 0.0, uint8(0), math.MaxInt, int64(0), int64(0), 0.0, 0.0)
	f.Fuzz(func(t *testing.T, lo, hi int64, factor, a, b float64, kind uint8, retry int, last, elapsed int64, u, n float64) {
		least, most := time.Duration(lo), time.Duration(hi)
		j := []backoff.Jitter{{}, backoff.Uniform(a, b), backoff.Proportional(a), backoff.Normal(a)}[kind%4]
		s := backoff.State{Retry: retry, Last: time.Duration(last), Elapsed: time.Duration(elapsed)}
		r := fixed{u, n}
		within := func(name string, x backoff.Backoff, cap time.Duration) {
			t.Helper()
			d, _ := x.Delay(s, r)
			if d < 0 || d > backoff.MaxDelay {
				t.Fatalf("%s: %+v: waits %d at %+v", name, x, d, s)
			}
			if backoff.Check(x) == nil && d > cap {
				t.Fatalf("%s: %+v: waits %v, want at most %v, at %+v", name, x, d, cap, s)
			}
		}
		capLast := kind/64%2 == 1
		e := backoff.Exponential{Min: least, Max: most, Factor: factor, Jitter: j, CapLast: capLast}
		bound := func(longest time.Duration) time.Duration { return max(longest, 30*time.Second, least) }
		cap := backoff.MaxDelay
		if capLast || j == (backoff.Jitter{}) {
			cap = bound(most)
		}
		within("exponential", e, cap)
		within("compound", backoff.Compound{Min: least, Max: most, Factor: factor, Jitter: j}, backoff.MaxDelay)
		within("decorrelated", backoff.Decorrelated{Min: least, Max: most, Factor: factor}, bound(most))
		within("fibonacci", backoff.Fibonacci{Min: least, Max: most}, bound(most))
		within("constant", backoff.Constant(lo), least)
		within("last try", backoff.LastTry{Time: least, Rate: factor, Max: most}, max(most, 10*time.Second))
		within("cap", backoff.Cap(e, most), most)
		within("jitter", backoff.WithJitter(e, j), backoff.MaxDelay)
		within("attempts", backoff.LimitAttempts(e, retry), cap)
		within("elapsed", backoff.LimitElapsed(e, most), most)
	})
}

// FuzzJitterText: what can be read can be written and read again, and is right.
func FuzzJitterText(f *testing.F) {
	for _, s := range []string{"none", "full", "equal", "proportional:0.5", "normal:0.1", "uniform:1:2", "uniform:1:2:3", "normal:NaN", "normal:-0", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var j, again backoff.Jitter
		if j.UnmarshalText([]byte(s)) != nil {
			return
		}
		text, err := j.MarshalText()
		if err != nil {
			t.Fatalf("%q is read, but %v", s, err)
		}
		if err := again.UnmarshalText(text); err != nil || again != j {
			t.Fatalf("%q is read as %v, that as %v, %v", s, j, again, err)
		}
	})
}

// FuzzPlan: whatever is planned keeps to the capacity, and says honestly whether the wish can be had.
func FuzzPlan(f *testing.F) {
	f.Add(1000, 1000.0, int64(1e9), int64(0), 0.0)
	f.Add(1_000_000_000, 1e12, int64(1), int64(1), 1.01)
	f.Add(1, 1e-9, int64(backoff.MaxDelay), int64(backoff.MaxDelay), 1000.0)
	f.Add(1, 1.0, int64(1e9), int64(backoff.MaxDelay)-6, 2.0)
	f.Fuzz(func(t *testing.T, clients int, capacity float64, recovery, first int64, factor float64) {
		p, err := backoff.NewPlan(backoff.Demand{
			Clients: clients, Capacity: capacity, Recovery: time.Duration(recovery), First: time.Duration(first), Factor: factor,
		})
		if err != nil {
			return
		}
		if err := backoff.Check(p.Backoff); err != nil {
			t.Fatalf("the plan's Backoff: %v", err)
		}
		if p.Rate > capacity*(1+1e-9) {
			t.Fatalf("rate %v beyond the capacity %v", p.Rate, capacity)
		}
		if p.Possible != (p.Recovery <= time.Duration(recovery)) || p.Max != p.Recovery {
			t.Fatalf("%+v for a recovery of %v", p, time.Duration(recovery))
		}
		if p.Retries < 0 || p.Settled < 0 || p.ClientsPossible < 0 {
			t.Fatalf("negative: %+v", p)
		}
		for _, outage := range []time.Duration{-1, 0, time.Second, backoff.MaxDelay} {
			if d := p.RecoveryAfter(outage); d < 0 || d > p.Max {
				t.Fatalf("recovery %v after %v, M is %v", d, outage, p.Max)
			}
		}
	})
}
