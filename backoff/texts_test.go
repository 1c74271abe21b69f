package backoff_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
)

// [Crash]: "delay = min(delay * Factor, MaxDelay) ... delay = delay +
// norm_variate(delay * Jitter)", and "the first interval is equal MinDelay".
func TestTheLoopOfCrashToTheLetter(t *testing.T) {
	for name, c := range map[string]backoff.Exponential{
		"blue":  {Min: 100 * time.Millisecond, Max: 10 * time.Minute, Factor: 2.7, Jitter: backoff.Normal(0.1), Compound: true},
		"green": {Min: time.Second, Max: 5 * time.Minute, Factor: 1.5, Jitter: backoff.Normal(0.1), Compound: true},
	} {
		got := delays(c, newRand(1), 40)
		r := newRand(1)
		delay := float64(c.Min)
		over := 0
		for n, d := range got {
			assert.InEpsilon(t, delay, d, 1e-8, "%s, retry %d", name, n+1)
			if d > c.Max {
				over++
			}
			delay = min(delay*c.Factor, float64(c.Max))
			delay += delay * 0.1 * r.NormFloat64()
		}
		assert.Equal(t, c.Min, got[0])
		// "The retry interval is limited MaxDelay (excluding Jitter)."
		assert.Positive(t, over, "jitter goes beyond the cap")
	}
}

// The text leaves open what follows a delay that jitter made 0: never a loop without pauses.
func TestTheLoopOfCrashRecoversFromZero(t *testing.T) {
	c := backoff.Exponential{Jitter: backoff.Normal(0.5), Compound: true}
	d, _ := c.Delay(backoff.State{Retry: 2}, fixed{normal: -3})
	assert.Zero(t, d)
	d, _ = c.Delay(backoff.State{Retry: 3, Last: d}, middle)
	assert.Equal(t, 200*time.Millisecond, d)
}

// [Ethernet]: "delay = MIN( R * T * F ^ N , M )", "R should be a random number in
// the range [1-2]", N "the number of retries so far".
func TestTheFormulaOfEthernet(t *testing.T) {
	const T, F, M = 10 * time.Millisecond, 2, time.Second
	b := backoff.Exponential{Min: T, Factor: F, Max: M, Jitter: backoff.Uniform(1, 2), CapLast: true}
	r := newRand(1)
	for n, d := range delays(b, newRand(1), 100) {
		R := 1 + r.Float64()
		assert.InDelta(t, min(R*float64(T)*math.Pow(F, float64(n)), float64(M)), d, 1)
	}
	// "always more conservative than plain backoff"
	plain := backoff.Exponential{Min: T, Factor: F, Max: M}
	for n := 1; n < 20; n++ {
		assert.GreaterOrEqual(t, one(t, b, n, r), one(t, plain, n, r))
	}
}

// clojure is the function of [Clojure], its sleeps collected.
func clojure(wait, rate, most float64, f func() error, slept *[]time.Duration) error {
	if wait >= most { // we're over budget, just call f
		return f()
	}
	if f() == nil {
		return nil
	}
	*slept = append(*slept, time.Duration(wait*1e6))
	return clojure(wait*rate, rate, most, f, slept)
}

// [Clojure]: "when the last wait is more than the max, it will try one more time.
// Failures from that last try will propagate."
func TestLastTryIsTheClojureFunction(t *testing.T) {
	for _, c := range []struct {
		wait, rate, most float64
		calls            int
	}{
		{1000, 2, 10000, 5}, {1000, 2, 8000, 4}, {1000, 2, 8001, 5}, {1000, 2, 1000, 1}, {1000, 2, 1001, 2},
		{50, 3, 30000, 7}, {500, 1.5, 60000, 13},
	} {
		var slept []time.Duration
		calls := 0
		err := clojure(c.wait, c.rate, c.most, func() error { calls++; return errors.New("busy") }, &slept)
		assert.Error(t, err)
		assert.Equal(t, c.calls, calls)

		ms := func(x float64) time.Duration { return time.Duration(x * 1e6) }
		b := backoff.Exponential{Min: ms(c.wait), Factor: c.rate, Max: ms(c.most), LastTry: true}
		got := delays(b, nil, 100)
		assert.Len(t, got, len(slept))
		for i := range got {
			assert.InDelta(t, slept[i], got[i], 1)
		}
		assert.Len(t, slept, calls-1, "each wait is followed by a call, the last by the last try")
	}
}

// [SafeClients]: "while not success && delay <= period: wait(delay * random(.5, 1.5)) ...
// success = send_rpc() ... delay = delay * 2", with "period = 300; delay = 10".
func TestTheCappedRetriesOfSafeClients(t *testing.T) {
	for _, period := range []int64{300, 320, 319, 10} {
		var want []float64
		r := newRand(3)
		for delay := int64(10); delay <= period; delay *= 2 {
			want = append(want, float64(delay)*(.5+r.Float64()))
		}
		b := backoff.Exponential{
			Min: 10 * time.Second, Max: time.Duration(period)*time.Second + 1, Jitter: backoff.Proportional(0.5), LastTry: true,
		}
		got := delays(b, newRand(3), 100)
		assert.Len(t, got, len(want))
		for i := range got {
			assert.InDelta(t, want[i], got[i].Seconds(), 1e-6)
		}
	}
}

// The client of [Syncmusings], in the reading that fits its figures: 50 ms doubling, jitter of U(0.4,
// 1.6), capped at 30 s after the jitter: "these are 'unfortunate' ones which maxed out the retry period
// to 30s".
func TestTheClientOfSyncmusings(t *testing.T) {
	b := backoff.Exponential{Min: 50 * time.Millisecond, Max: 30 * time.Second, Factor: 2, Jitter: backoff.Proportional(0.6), CapLast: true}
	r := newRand(4)
	for n, d := range delays(b, newRand(4), 100) {
		want := min(50e6*math.Pow(2, float64(n))*(0.4+1.2*r.Float64()), 30e9)
		assert.InDelta(t, want, d, 10)
	}
	// "retry periods grew so large they overflowed the 64-bit counters used to track time"
	assert.Equal(t, 30*time.Second, one(t, b, 64, middle))
	assert.Equal(t, 30*time.Second, one(t, b, math.MaxInt, middle))
}

// worked are the rows of the table in doc.go.
var worked = []struct {
	text    string
	backoff backoff.Exponential
}{
	{"Exponential{}", backoff.Exponential{}},
	{"Exponential{Jitter: Full()}", backoff.Exponential{Jitter: backoff.Full()}},
	{"Exponential{Jitter: Equal()}", backoff.Exponential{Jitter: backoff.Equal()}},
	{"Exponential{Jitter: Proportional(0.5)}", backoff.Exponential{Jitter: backoff.Proportional(0.5)}},
	{"Exponential{Jitter: Normal(0.1)}", backoff.Exponential{Jitter: backoff.Normal(0.1)}},
	{"Crash, blue:  Exponential{100ms, 10min, 2.7, Normal(0.1), Compound}", backoff.Exponential{Min: 100 * time.Millisecond, Max: 10 * time.Minute, Factor: 2.7, Jitter: backoff.Normal(0.1), Compound: true}},
	{"Crash, green: Exponential{1s, 5min, 1.5, Normal(0.1), Compound}", backoff.Exponential{Min: time.Second, Max: 5 * time.Minute, Factor: 1.5, Jitter: backoff.Normal(0.1), Compound: true}},
	{"Ethernet: Exponential{10ms, 1s, 2, Uniform(1, 2), CapLast}", backoff.Exponential{Min: 10 * time.Millisecond, Max: time.Second, Factor: 2, Jitter: backoff.Uniform(1, 2), CapLast: true}},
	{"Clojure: Exponential{1s, 10s, 2, LastTry}", backoff.Exponential{Min: time.Second, Max: 10 * time.Second, LastTry: true}},
	{"SafeClients: Exponential{10s, 300s + 1ns, 2, Proportional(0.5), LastTry}", backoff.Exponential{Min: 10 * time.Second, Max: 300*time.Second + 1, Jitter: backoff.Proportional(0.5), LastTry: true}},
	{"Syncmusings: Exponential{50ms, 30s, 2, Proportional(0.6), CapLast}", backoff.Exponential{Min: 50 * time.Millisecond, Max: 30 * time.Second, Factor: 2, Jitter: backoff.Proportional(0.6), CapLast: true}},
}

// row is the delays in seconds before retries 1 to 10: the shortest and the longest that the random
// source can make of them. A normal deviate has no longest, there the middle stands with its first
// standard deviation.
func row(x backoff.Backoff) string {
	lo, hi := delays(x, fixed{0, -1}, 10), delays(x, fixed{1, 1}, 10)
	var cells []string
	for i := range lo {
		cell := short(lo[i])
		if lo[i] != hi[i] {
			cell += "-" + short(hi[i])
		}
		cells = append(cells, cell)
	}
	if len(cells) < 10 {
		cells = append(cells, "no more")
	}
	return strings.Join(cells, "  ")
}

func short(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) }

// The table of delays in the package comment is the code's.
func TestDocTable(t *testing.T) {
	var want strings.Builder
	for _, w := range worked {
		fmt.Fprintf(&want, "//\t%s\n//\t    %s\n", w.text, row(w.backoff))
	}
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	assert.Contains(t, string(doc), want.String())
}

func plan(t *testing.T, d backoff.Demand) backoff.Plan {
	t.Helper()
	p, err := backoff.NewPlan(d)
	require.NoError(t, err)
	return p
}

// [Ethernet]: "If you ... want to handle 1000 clients and have a maximum
// recovery-after-failure time of one second, then you had better make sure that your system can handle
// 1000 failed requests per second at a sustained rate."
//
// And M "should be as low as possible to keep your customers happy, but high enough that the system can definitely
// handle requests from all clients at that sustained rate", T "at the outer limits of expected response time".
func TestTheRuleOfCapacity(t *testing.T) {
	for _, c := range []struct {
		demand   backoff.Demand
		possible bool
		most     time.Duration
		rate     float64
	}{
		{backoff.Demand{Clients: 1000, Capacity: 1000, Recovery: time.Second}, true, time.Second, 1000},
		{backoff.Demand{Clients: 1000, Capacity: 999, Recovery: time.Second}, false, 1001001002, 998.999999}, // one less is not enough
		{backoff.Demand{Clients: 1000, Capacity: 50, Recovery: time.Minute}, true, 20 * time.Second, 50},     // not the minute that would do
		{backoff.Demand{Clients: 1, Capacity: 1e6, Recovery: time.Second, First: 200 * time.Millisecond}, true, 200 * time.Millisecond, 5},
		{backoff.Demand{Clients: 1, Capacity: 1e6, Recovery: time.Millisecond, First: 200 * time.Millisecond}, false, 200 * time.Millisecond, 5},
	} {
		p := plan(t, c.demand)
		assert.Equal(t, c.possible, p.Possible, "%+v", c.demand)
		assert.Equal(t, c.most, p.Max)
		assert.InDelta(t, c.rate, p.Rate, 1e-6)
		first := max(c.demand.First, 100*time.Millisecond)
		assert.Equal(t, backoff.Exponential{Min: first, Max: c.most, Factor: 2, Jitter: backoff.Uniform(1, 2), CapLast: true}, p.Backoff)
	}
}

// The plan's numbers hold for clients that follow its Backoff: counted over the second half of a long
// outage, and at its end.
func TestPlanHoldsForItsClients(t *testing.T) {
	const clients = 500
	d := backoff.Demand{Clients: clients, Capacity: 100, Recovery: 10 * time.Second}
	p := plan(t, d)
	const outage = 10 * time.Minute
	r := newRand(5)
	sent, latest := 0, time.Duration(0)
	for range clients {
		at, s := time.Duration(0), backoff.State{}
		for at <= outage {
			s.Retry++
			s.Last, _ = p.Backoff.Delay(s, r)
			at += s.Last
			if at > outage/2 && at <= outage {
				sent++
			}
		}
		latest = max(latest, at-outage)
	}
	assert.InDelta(t, p.Rate, float64(sent)/(outage/2).Seconds(), 0.02*p.Rate)
	assert.LessOrEqual(t, latest, p.Max)
	assert.Greater(t, latest, p.Max*9/10)
}

// [Ethernet]: backoff "is going to extend the time to recovery after a failure by
// about a factor of two ... If the web server is unavailable for thirty seconds and then recovers, the
// client will not notice right away".
func TestRecoveryAfterAnOutage(t *testing.T) {
	b := backoff.Exponential{Min: time.Second, Max: backoff.MaxDelay, Jitter: backoff.Uniform(1, 2), CapLast: true}
	for _, outage := range []time.Duration{30 * time.Second, 30 * time.Minute} {
		r, seen := newRand(9), time.Duration(0)
		for range 5000 {
			at, s := time.Duration(0), backoff.State{}
			for at <= outage {
				s.Retry++
				s.Last, _ = b.Delay(s, r)
				at += s.Last
			}
			seen = max(seen, at-outage)
		}
		assert.LessOrEqual(t, seen, 2*outage+2*time.Second)
		assert.Greater(t, seen, outage*9/10)
	}
}

func TestWrongDemandsAreErrorsThatSaySo(t *testing.T) {
	const most = "876000h0m0s"
	good := backoff.Demand{Clients: 10, Capacity: 10, Recovery: time.Second}
	for _, c := range []struct {
		change func(*backoff.Demand)
		want   string
	}{
		{func(d *backoff.Demand) { d.Clients = 0 }, "Clients: 0 is not allowed, want a number from 1 to 1000000000"},
		{func(d *backoff.Demand) { d.Capacity = 0 }, "Capacity: 0 is not allowed, want a number from 0.0000000031709791983764586 to 1000000000000"},
		{func(d *backoff.Demand) { d.Capacity = math.NaN() }, "Capacity: NaN is not allowed, want a number from 0.0000000031709791983764586 to 1000000000000"},
		{func(d *backoff.Demand) { d.Capacity = 1e-12 }, "Capacity: 1e-12 is not allowed, want a number from 0.0000000031709791983764586 to 1000000000000"},
		{func(d *backoff.Demand) { d.Recovery = 0 }, "Recovery: 0s is not allowed, want a duration from 1ns to " + most},
		{func(d *backoff.Demand) { d.First = -1 }, "First: -1ns is not allowed, want a duration from 1ns to " + most},
		{func(d *backoff.Demand) { d.Factor = 1 }, "Factor: 1 is not allowed, want a number from 1.01 to 1000"},
	} {
		d := good
		c.change(&d)
		_, err := backoff.NewPlan(d)
		assert.EqualError(t, err, c.want)
	}
}
