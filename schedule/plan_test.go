package schedule

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// period is that of [SafeClients]: "period = 300 // Once every 5 minutes".
const period = 300 * time.Second

// epoch is on the grid of that period.
var epoch = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

func newTestPlan(t *testing.T, now time.Time, s Config) plan {
	t.Helper()
	if s.Period == 0 {
		s.Period = period
	}
	s, err := s.withDefaults()
	require.NoError(t, err)
	return newPlan(now, s)
}

// next is the time of the run that is planned.
func next(t *testing.T, c *plan) time.Time {
	t.Helper()
	at, planned := c.Next()
	if !planned {
		t.Fatal("no run is planned")
	}
	return at
}

// run does the planned run on time, taking that long, and returns when it began.
func run(t *testing.T, c *plan, takes time.Duration) time.Time {
	t.Helper()
	at := next(t, c)
	if !c.Begin(at) {
		t.Fatalf("the run planned for %v may not begin then", at)
	}
	c.Ended(at.Add(takes))
	return at
}

// [SafeClients]: "next_execution = now(); while true: next_execution =
// truncate(next_execution, period); next_execution += random(1.0, 2.0) * period;
// wait_until(next_execution); send_rpc()".
func TestTheLastFormToTheLetter(t *testing.T) {
	now := epoch.Add(77 * time.Second)
	c := newTestPlan(t, now, Config{Rand: newRand(1)})
	r := newRand(1)
	want := now
	for range 1000 {
		want = want.Truncate(period)
		want = want.Add(time.Duration((1 + r.Float64()) * float64(period)))
		assert.WithinDuration(t, want, run(t, &c, time.Second), time.Microsecond)
	}
	assert.Zero(t, c.missed)
}

// clients counts the runs of many clients that start together, in bins of a twentieth of the period, over
// that many cells from the start on.
func clients(t *testing.T, cells int, one func(client int, runs func(time.Time))) []int {
	t.Helper()
	count := make([]int, cells*20)
	for client := range 10_000 {
		one(client, func(at time.Time) {
			if i := int(at.Sub(epoch) / (period / 20)); i < len(count) {
				count[i]++
			}
		})
	}
	return count
}

// chi2 is Pearson's statistic against a steady rate, per degree of freedom.
func chi2(count []int) float64 {
	sum := 0
	for _, n := range count {
		sum += n
	}
	mean, x := float64(sum)/float64(len(count)), 0.0
	for _, n := range count {
		x += (float64(n) - mean) * (float64(n) - mean) / mean
	}
	return x / float64(len(count)-1)
}

// [SafeClients]: "Jittering without startup oscillations: Jitter execution time, not
// period" against "Introducing synchronization by mistake": one line earlier.
func TestClientsThatStartTogetherSendAtASteadyRate(t *testing.T) {
	const cells = 12
	form := func(randomFirst bool) []int {
		return clients(t, cells, func(client int, runs func(time.Time)) {
			if randomFirst {
				r := newRand(uint64(client))
				for at := epoch; at.Sub(epoch) < cells*period; runs(at) {
					at = at.Add(time.Duration((1 + r.Float64()) * float64(period)))
					at = at.Truncate(period)
				}
				return
			}
			c := newTestPlan(t, epoch, Config{Rand: newRand(uint64(client))})
			for next(t, &c).Sub(epoch) < cells*period {
				runs(run(t, &c, 0))
			}
		})
	}
	steady := form(false)
	for _, n := range steady[:20] {
		require.Zero(t, n, "nothing in the cell of the start")
	}
	for cell := 1; cell < cells; cell++ {
		count := steady[cell*20 : (cell+1)*20]
		sum := 0
		for _, n := range count {
			sum += n
		}
		require.Equal(t, 10_000, sum, "each client once in each cell")
		// 99.9% of 19 degrees of freedom: 43.8 / 19.
		require.Less(t, chi2(count), 2.31, "cell %d: %v", cell, count)
	}
	require.Greater(t, chi2(form(true)[20:]), 100.0, "the wrong order is told")
}

// Clients that are held up together must not come back together, be it that their runs of 2.5 periods and
// later hang until 4.3, as in an outage that answers nothing, or that their machines stood still.
func TestClientsThatWereHeldUpSpreadAgain(t *testing.T) {
	from, until := epoch.Add(period*5/2), epoch.Add(period*43/10)
	for _, still := range []bool{false, true} {
		count := clients(t, 12, func(client int, runs func(time.Time)) {
			c := newTestPlan(t, epoch, Config{Rand: newRand(uint64(client))})
			for next(t, &c).Sub(epoch) < 12*period {
				at, takes := next(t, &c), time.Duration(0)
				if !at.Before(from) && at.Before(until) {
					takes = until.Sub(at)
				}
				if still {
					at, takes = at.Add(takes), 0
				}
				if c.Begin(at) {
					c.Ended(at.Add(takes))
					runs(at)
				}
			}
		})
		if still {
			back := int(until.Sub(epoch) / (period / 20))
			require.LessOrEqual(t, count[back], 10_000/20+10_000/100*3/2, "one in a hundred does not wait")
		}
		for i, n := range count[20:] {
			at := epoch.Add(time.Duration(i+20) * (period / 20))
			if !still && (at.Before(from) || !at.Before(until)) {
				assert.LessOrEqual(t, n, 10_000/20*12/10, "at %v", at.Sub(epoch))
			}
		}
		require.Less(t, chi2(count[5*20:6*20]), 2.31, "the first whole cell after it is as any other")
	}
}

func TestStartWithin(t *testing.T) {
	const within = 30 * time.Second
	sum := 0.0
	for seed := range uint64(2000) {
		now := epoch.Add(200 * time.Second)
		c := newTestPlan(t, now, Config{StartWithin: within, Rand: newRand(seed)})
		first := run(t, &c, 0)
		require.False(t, first.Before(now))
		require.True(t, first.Before(now.Add(within)))
		sum += first.Sub(now).Seconds()
		second := run(t, &c, 0)
		require.Equal(t, epoch.Add(period), second.Truncate(period), "from then on, once in each cell")
	}
	assert.InDelta(t, 15, sum/2000, 0.8)
}

// A run that ends in the cell of the next one, before that one's time, costs nothing. What it lasts past is missed:
// one run is planned, in the next cell.
func TestMissedRunsCollapse(t *testing.T) {
	kept := 0
	for seed := range uint64(400) {
		c := newTestPlan(t, epoch, Config{Rand: newRand(seed)})
		at := next(t, &c)
		require.True(t, c.Begin(at))
		end := at.Truncate(period).Add(time.Duration(1+seed%2*6)*period + period/2)
		c.Ended(end)
		planned := next(t, &c).Truncate(period)
		if late := planned.After(end); late {
			require.Equal(t, end.Truncate(period).Add(period), planned)
			require.EqualValues(t, 1, c.missed)
		} else {
			kept++
			require.Zero(t, c.missed)
		}
	}
	assert.InDelta(t, 100, kept, 25, "half of the cell is left to half of them")
}

func TestALateRunIsPlannedAnewOnce(t *testing.T) {
	c := newTestPlan(t, epoch, Config{})
	require.True(t, c.Begin(next(t, &c).Add(period/100)), "a timer may be late")
	c.Ended(next2(&c))

	late := next(t, &c).Add(period/100 + 1)
	require.False(t, c.Begin(late))
	require.Equal(t, late.Truncate(period).Add(period), next(t, &c).Truncate(period))
	require.EqualValues(t, 1, c.missed)
	require.True(t, c.Begin(next(t, &c).Add(5*period)), "but not for ever")
	c.Ended(next2(&c))
	require.False(t, c.Begin(next(t, &c).Add(5*period)), "the next one may be put off once again")

	c = newTestPlan(t, epoch, Config{Period: minPeriod})
	require.True(t, c.Begin(next(t, &c).Add(time.Second)), "a busy machine is no reason")
}

// next2 is the time when the run that is under way was planned.
func next2(c *plan) time.Time {
	at, _ := c.Next()
	return at
}

func TestThePeriodChangesLive(t *testing.T) {
	for name, c := range map[string]struct {
		to             time.Duration
		running, moves bool
	}{
		"shorter: soon":               {to: 10 * time.Second, moves: true},
		"longer: from the run after":  {to: time.Hour},
		"the same: nothing":           {to: period},
		"during a run: from the next": {to: 10 * time.Second, running: true},
	} {
		core := newTestPlan(t, epoch, Config{})
		before := next(t, &core)
		if c.running {
			require.True(t, core.Begin(before))
		}
		require.NoError(t, core.SetPeriod(epoch, c.to), name)
		assert.Equal(t, c.moves, !next2(&core).Equal(before), name)
		at := next2(&core)
		if c.moves {
			assert.Less(t, at.Sub(epoch), 2*c.to)
		}
		require.Equal(t, !c.running, core.Begin(at))
		core.Ended(at)
		assert.Equal(t, at.Truncate(c.to).Add(c.to), next(t, &core).Truncate(c.to), name)
	}

	// To and fro: never later. What is wrong changes nothing.
	c := newTestPlan(t, epoch, Config{})
	latest, now := next(t, &c), epoch
	for i := 0; now.Before(latest); i++ {
		now = now.Add(time.Second)
		require.NoError(t, c.SetPeriod(now, []time.Duration{time.Hour, period}[i%2]))
		require.EqualError(t, c.SetPeriod(now, -1), "Period: -1ns is not allowed, want a duration from 10ms to 8760h0m0s")
		require.Equal(t, []time.Duration{time.Hour, period}[i%2], c.period)
		require.False(t, next(t, &c).After(latest))
		latest = next(t, &c)
	}
	assert.True(t, c.Begin(now))
}

func TestATimeOlderThanTheLastCountsAsThat(t *testing.T) {
	c := newTestPlan(t, epoch, Config{})
	require.NoError(t, c.SetPeriod(next(t, &c), time.Hour))
	require.True(t, c.Begin(epoch), "the run's time has been before")
	c.Ended(epoch.Add(-time.Hour))
	assert.Zero(t, c.missed)
	assert.False(t, c.Begin(epoch))
	assert.PanicsWithValue(t, "schedule: Ended without a run under way", func() { c.Ended(epoch) })
}

func TestWrongSettingsAreErrorsThatSaySo(t *testing.T) {
	for _, c := range []struct {
		Config
		want string
	}{
		{Config{}, "Period: 0s is not allowed, want a duration from 10ms to 8760h0m0s"},
		{Config{Period: math.MaxInt64}, "Period: 2562047h47m16.854775807s is not allowed, want a duration from 10ms to 8760h0m0s"},
		{Config{Period: period, StartWithin: -1}, "StartWithin: -1ns is not allowed, want a duration from 0s to 8760h0m0s"},
		{Config{Period: period, StartWithin: math.MaxInt64}, "StartWithin: 2562047h47m16.854775807s is not allowed, want a duration from 0s to 8760h0m0s"},
	} {
		_, err := c.Config.withDefaults()
		require.EqualError(t, err, c.want)
	}
}

// FuzzPlan: whatever the driver does, no two runs at once, none before its time, none put off for ever,
// at most one in each cell while the period stays.
func FuzzPlan(f *testing.F) {
	f.Add(uint64(1), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 1, 1, 2, 2})
	f.Add(uint64(2), []byte{255, 254, 253, 3, 3, 3, 6, 0, 6, 0, 6, 0, 9, 200, 100})
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		now := epoch
		c := newPlan(now, Config{Period: period, Rand: newRand(seed)})
		running := false
		var cell time.Time // of the last plan that ran
		refusals := 0
		for _, op := range ops {
			at, planned := c.Next()
			require.Equal(t, !running, planned)
			switch op % 4 {
			case 0:
				now = now.Add(time.Duration(op) * 3 * time.Second)
			case 1:
				if planned {
					now = at.Add(time.Duration(op) * time.Second / 4)
				}
			case 2:
				if granted := c.Begin(now); granted {
					require.False(t, running)
					require.False(t, now.Before(at))
					require.True(t, at.Truncate(c.period).After(cell))
					running, refusals, cell = true, 0, at.Truncate(c.period)
				} else if !running && !now.Before(at) {
					refusals++
					require.Equal(t, 1, refusals, "put off more than once")
					require.True(t, next2(&c).After(now))
				}
			case 3:
				if running {
					running = false
					c.Ended(now)
					require.False(t, next2(&c).Before(now))
				} else if op > 240 {
					p := minPeriod + time.Duration(op-240)*time.Minute
					require.NoError(t, c.SetPeriod(now, p))
					require.False(t, next2(&c).After(at))
					cell = time.Time{} // another grid
				}
			}
		}
	})
}

// "wait(period * random(.5, 1.5)); while true: send_rpc(); wait(period * random(.5, 1.5))"
// ([SafeClients]).
func TestAJitteredPeriodToTheLetter(t *testing.T) {
	now := epoch.Add(77 * time.Second)
	c := newTestPlan(t, now, Config{JitterPeriod: true, Rand: newRand(1)})
	r := newRand(1)
	for range 1000 {
		now = now.Add(time.Duration((0.5 + r.Float64()) * float64(period)))
		at := run(t, &c, time.Minute)
		assert.InDelta(t, 0, at.Sub(now), 2) // a nanosecond is rounded
		now = at.Add(time.Minute)
	}
	assert.Zero(t, c.missed, "a long run puts nothing off")
}

// The waits are between a half and one and a half of the period, whatever a run takes. Found late, as after a sleep,
// a run is planned anew, so that many do not come at once; a shorter period counts at once.
func TestAJitteredPeriodKeepsItsDistance(t *testing.T) {
	c := newTestPlan(t, epoch, Config{JitterPeriod: true, StartWithin: time.Second})
	first := next(t, &c)
	require.Less(t, first.Sub(epoch), time.Second)
	run(t, &c, 10*period)
	wait := next(t, &c).Sub(first.Add(10 * period))
	assert.GreaterOrEqual(t, wait, period/2)
	assert.Less(t, wait, period*3/2)
	woken := next(t, &c).Add(time.Hour)
	require.False(t, c.Begin(woken))
	assert.GreaterOrEqual(t, next(t, &c).Sub(woken), period/2)
	require.NoError(t, c.SetPeriod(woken, time.Second))
	assert.LessOrEqual(t, next(t, &c).Sub(woken), 1500*time.Millisecond)
}
