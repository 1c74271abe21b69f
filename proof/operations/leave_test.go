package operations

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd"
)

// leaveClients are what a call may run through.
func leaveClient(t *testing.T, who string, c leaveCell) (do func(context.Context, func(context.Context) error) error, end func() float64) {
	nothing := func() float64 { return 0 }
	config := aimd.Config{}
	switch who {
	case "none":
		return func(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }, nothing
	case "sem":
		sem := make(chan struct{}, c.slots)
		return func(ctx context.Context, fn func(context.Context) error) error {
			select {
			case sem <- struct{}{}:
				defer func() { <-sem }()
				return fn(ctx)
			case <-ctx.Done():
				return ctx.Err()
			}
		}, nothing
	case "reno":
		config.Law = aimd.Reno(0.9)
	case "aimd":
	default:
		t.Fatalf("LEAVE_WHO: %q is not allowed", who)
	}
	lim, err := aimd.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return lim.Do, func() float64 {
		defer lim.Close()
		return lim.Snapshot().Cwnd
	}
}

func leaveRun(t *testing.T, who string, seed uint64, c leaveCell) (r leaveResult) {
	synctest.Test(t, func(t *testing.T) {
		do, end := leaveClient(t, who, c)
		r = c.run(t, seed, do)
		r.window = end()
	})
	return r
}

// leaveCells are the developers' cells; a third of all is held back.
func leaveCells() (cells []leaveCell) {
	base := leaveCell{kind: "refuse", dist: "even", slots: 32, load: 0.8, spike: 4, length: 2, deadline: 10, tries: 1, arrive: "poisson"}
	add := func(changes ...func(*leaveCell)) {
		c := base
		for _, change := range changes {
			change(&c)
		}
		cells = append(cells, c)
	}
	kind := func(k string) func(*leaveCell) { return func(c *leaveCell) { c.kind = k } }
	dist := func(d string) func(*leaveCell) { return func(c *leaveCell) { c.dist = d } }
	slots := func(n int) func(*leaveCell) { return func(c *leaveCell) { c.slots = n } }
	steady := func(load float64) func(*leaveCell) {
		return func(c *leaveCell) { c.load, c.spike, c.length = load, 0, 4 }
	}
	spike := func(load, f, l float64) func(*leaveCell) {
		return func(c *leaveCell) { c.load, c.spike, c.length = load, f, l }
	}
	deadline := func(d float64) func(*leaveCell) { return func(c *leaveCell) { c.deadline = d } }
	spread := func(c *leaveCell) { c.spread = true }
	tries := func(c *leaveCell) { c.tries = 3 }
	arrive := func(a string) func(*leaveCell) { return func(c *leaveCell) { c.arrive = a } }
	notice := func(c *leaveCell) { c.notice = true }

	for _, k := range []string{"refuse", "queue"} {
		// load
		for _, load := range []float64{.5, .9, 1.1, 1.5, 3} {
			add(kind(k), steady(load))
		}
		// answers with a tail
		for _, d := range []string{"exact", "exp", "logn1", "logn1.5"} {
			add(kind(k), dist(d), steady(.9))
			add(kind(k), dist(d), steady(1.5))
			add(kind(k), dist(d), spike(.8, 4, 2))
		}
		// deadline
		for _, d := range []float64{2, 3, 5, 30} {
			add(kind(k), deadline(d), steady(1.5))
			add(kind(k), deadline(d), spike(.8, 4, 2))
		}
		add(kind(k), deadline(3), dist("logn1"), steady(1.5))
		add(kind(k), deadline(3), dist("exact"), steady(1.5))
		// slots
		add(kind(k), slots(2), spike(.8, 4, 2))
		add(kind(k), slots(8), spike(.8, 4, 2))
		add(kind(k), slots(8), steady(1.5))
		add(kind(k), slots(200), spike(.8, 4, 2))
		// spikes
		add(kind(k), spike(.8, 1.5, 2))
		add(kind(k), spike(.9, 8, 1))
		add(kind(k), spike(.7, 2, 10))
		// callers
		add(kind(k), spread, spike(.8, 4, 2))
		add(kind(k), spread, steady(1.5))
		add(kind(k), tries, spike(.8, 4, 2))
		add(kind(k), tries, steady(1.5))
		add(kind(k), notice, spike(.8, 4, 2))
		add(kind(k), notice, tries, spike(.8, 4, 2))
		add(kind(k), arrive("regular"), spike(.8, 4, 2))
		add(kind(k), arrive("burst"), spike(.7, 3, 2))
		add(kind(k), arrive("step"), steady(.8))
	}
	for _, k := range []string{"rate", "thrash"} {
		add(kind(k), steady(.8))
		add(kind(k), steady(1.5))
		add(kind(k), spike(.8, 4, 2))
		add(kind(k), dist("logn1"), spike(.8, 4, 2))
		add(kind(k), tries, spike(.8, 4, 2))
		add(kind(k), deadline(3), steady(1.5))
	}
	for _, d := range []float64{3, 10, 30} {
		add(kind("outage"), spike(.8, 0, 5), deadline(d))
	}
	add(kind("outage"), spike(.8, 0, 5), tries)
	return cells
}

// Callers with deadlines at 102 services: some seconds after a spike, or in a load that is too much, the calls that the
// service can do are done in time. Without the rules 31 in 100 were, and without a limiter 65.
func TestCallersWhoLeave(t *testing.T) {
	for _, seed := range []uint64{11, 12, 13} {
		sum, half, n := 0., 0, 0
		var told, sends []float64
		for _, c := range leaveCells() {
			r, best := leaveRun(t, "aimd", seed, c), c.best()
			share := r.late / best
			n, sum = n+1, sum+share
			if share < .5 {
				half++
			}
			least := .35
			// The law holds 45 for 32 there: growth ends where answers take 1.5 times the shortest, and a service that
			// thrashes does .7 of its best then. After a spike 200 are at it, which it goes on with when their callers left.
			if c.kind == "thrash" {
				least = .15
			}
			assert.GreaterOrEqual(t, share, least, "%s, seed %d", c, seed)
			sends = append(sends, r.sends)
			if (c.load == 1.5 || c.load == 3) && r.lost > 0 && !c.spread {
				told = append(told, r.lost.Seconds()/(c.deadline*leaveTrip.Seconds()))
			}
		}
		t.Logf("seed %d: %d cells, %.3f in the mean, %d below .5, sends for each call done %.3f, told after %.2f of the deadline", seed, n, sum/float64(n), half, mean(sends), mean(told))
		assert.GreaterOrEqual(t, sum/float64(n), .96, "seed %d", seed)
		assert.LessOrEqual(t, half, 2, "seed %d", seed)
		assert.LessOrEqual(t, mean(sends), 1.03, "seed %d", seed)
		// .54 of the deadline of a try, .61 of that of a call whose caller tries three times, with its own waits.
		assert.LessOrEqual(t, mean(told), .6, "seed %d", seed)
	}
}

// Reno needs no round trip; the window measures one for callers with deadlines: .89 without.
func TestCallersWhoLeaveUnderReno(t *testing.T) {
	sum, n := 0., 0
	for _, c := range leaveCells() {
		r := leaveRun(t, "reno", 14, c)
		n, sum = n+1, sum+r.late/c.best()
	}
	t.Logf("%.3f in the mean", sum/float64(n))
	assert.GreaterOrEqual(t, sum/float64(n), .91)
}

// Callers who do not say when they leave: 35 in 100 were done without the rules.
func TestCallersWhoLeaveWithoutAWord(t *testing.T) {
	var shares, spiked []float64
	for _, seed := range []uint64{21, 22, 23} {
		sum, soon, half, n, spikes := 0., 0., 0, 0, 0
		for _, c := range leaveCells() {
			c.silent = true
			r, best := leaveRun(t, "aimd", seed, c), c.best()
			share := r.late / best
			if n, sum = n+1, sum+share; share < .5 {
				half++
				t.Logf("%s: %.2f", c, share)
			}
			if c.spike > 0 {
				spikes, soon = spikes+1, soon+r.soon/best
			}
		}
		t.Logf("seed %d: %.3f in the mean, %d below .5; 3 to 8 s after a spike %.3f", seed, sum/float64(n), half, soon/float64(spikes))
		shares = append(shares, sum/float64(n))
		assert.GreaterOrEqual(t, shares[len(shares)-1], .9, "seed %d", seed)
		assert.GreaterOrEqual(t, soon/float64(spikes), .93, "seed %d", seed)
		spiked = append(spiked, soon/float64(spikes))
		assert.LessOrEqual(t, half, 5, "seed %d", seed) // the law holds a window that is too wide where a service thrashes
	}
	assert.GreaterOrEqual(t, mean(shares), .92)
	assert.GreaterOrEqual(t, mean(spiked), .945) // .949 to .953 in four runs: where a service thrashes, goroutines that race decide
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}
