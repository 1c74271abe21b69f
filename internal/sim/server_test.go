package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/sim"
)

// Each case is worked out by hand.
func TestServers(t *testing.T) {
	none, careful := sim.Strategy{}, fixed(100*ms)
	careful.Sense = 0.5
	slots := func(n, queue int) sim.Server { return sim.Server{Service: sec, Slots: n, Queue: queue} }
	costly := slots(2, 0)
	costly.Refusal = sim.Refusal{Time: 100 * ms, Busy: true}
	blocked := func(b sim.Block) sim.Server { return sim.Server{Service: 10 * ms, Block: b} }
	banned := blocked(sim.Block{For: 2 * sec, Refused: true, Renew: true})
	banned.Slots = 5
	indebted := func(no bool) sim.Server {
		return sim.Server{Service: 10 * ms, Rate: sim.Rate{PerSecond: 1, Burst: 2, CountRefused: true, NoDebt: no}}
	}
	far := costly
	far.Connect = 300 * ms
	for name, c := range map[string]struct {
		server   sim.Server
		clients  sim.Clients
		strategy sim.Strategy
		want     sim.Result // what is compared; see below
	}{
		"slots: two of three are served": {
			slots(2, 0), clients(3, 0), none,
			sim.Result{Done: 2, Refused: 1, Makespan: sec},
		},
		"slots: a refusal that keeps busy takes a slot beyond": {
			costly, clients(3, 0), none,
			sim.Result{Done: 2, Refused: 1, Makespan: sec},
		},
		// Refused at 0.1, asked again at 0.5 and refused at 0.6, asked again at 1
		// just after the others are done, and served to 2.
		"slots: fixed retry": {
			costly, clients(3, 0), fixed(400 * ms),
			sim.Result{Done: 3, Refused: 2, Makespan: 2 * sec},
		},
		"connection: it holds no slot, and comes before each attempt": {
			// Served 0.3 to 1.3; refused at 0.4, there again at 1.1 and refused at
			// 1.2, there again at 1.9 and served to 2.9.
			far, clients(3, 0), fixed(400 * ms),
			sim.Result{Done: 3, Refused: 2, Makespan: 2900 * ms},
		},
		"queue: one waits, one is refused": {
			slots(1, 1), clients(3, 0), none,
			sim.Result{Done: 2, Refused: 1, Makespan: 2 * sec},
		},
		"slowdown: all wait for what the last one made of it": {
			// 1 takes 100 ms, 2 take 200, 3 take 400. They come at 0, 50 and 100; the first is due at 100,
			// then 200, then 400. As it goes the others are older than what is left asks for.
			sim.Server{Service: 100 * ms, Knee: sim.Knee{At: 1, Factor: 2, Scale: 1}}, clients(3, 50*ms), none,
			sim.Result{Done: 3, Makespan: 400 * ms},
		},
		"slowdown: within the limit there is none": {
			sim.Server{Service: 100 * ms, Knee: sim.Knee{At: 3, Factor: 2, Scale: 1}}, clients(3, 50*ms), none,
			sim.Result{Done: 3, Makespan: 200 * ms},
		},
		"knee: four share what two can have": {
			sim.Server{Service: sec, Knee: sim.Knee{At: 2}}, clients(4, 0), none,
			sim.Result{Done: 4, Makespan: 2 * sec},
		},
		// Alone to 0.5, together at half the pace until the first is done at 1.5, the
		// second then has half of its work before it.
		"knee: the pace changes as they come and go": {
			sim.Server{Service: sec, Knee: sim.Knee{At: 1}}, clients(2, 500*ms), none,
			sim.Result{Done: 2, Makespan: 2 * sec},
		},
		// As before, but together at a third of the pace: 1.5 more for the first.
		"knee: thrashing": {
			sim.Server{Service: sec, Knee: sim.Knee{At: 1, Slope: 2}}, clients(2, 500*ms), none,
			sim.Result{Done: 2, Makespan: 2500 * ms},
		},
		"jam: within the slots nothing happens": {
			sim.Server{Service: sec, Slots: 2, Jam: sec}, clients(3, 500*ms), none,
			sim.Result{Done: 3, Makespan: 2 * sec},
		},
		// The third, at 0.5, destroys 0.5 and 0.25 of work; the fourth finds it jammed.
		"jam: a collision destroys all, and jams": {
			sim.Server{Service: sec, Slots: 2, Jam: sec}, clients(4, 250*ms), none,
			sim.Result{Refused: 4},
		},
		// The collision is at 0.5; they are there again at 2.5, 2.5 and 2.5, and
		// collide again; the fourth waited from 0.75 on and comes at 2.75, into the jam.
		"jam: who retries together collides together": {
			sim.Server{Service: sec, Slots: 2, Jam: sec}, clients(4, 250*ms),
			sim.Strategy{Retry: &backoff.Exponential{Min: 2 * sec, Factor: 1}, Attempts: 2},
			sim.Result{Refused: 8},
		},
		"failures: all fail, and say nothing about load": {
			sim.Server{Service: sec, Failures: sim.Failures{Rate: 1}}, clients(3, 0), none,
			sim.Result{Failed: 3},
		},
		"failures: all fail, as if of too much load": {
			sim.Server{Service: sec, Failures: sim.Failures{Rate: 1, Overload: true}}, clients(3, 0), none,
			sim.Result{Refused: 3},
		},
		// They come at 0, 1, 2, 3, and those of 1 and 2 fail.
		"failures: from and for": {
			sim.Server{Failures: sim.Failures{Rate: 1, From: 500 * ms, For: 2 * sec}}, clients(4, sec), none,
			sim.Result{Done: 2, Failed: 2, Makespan: 3 * sec},
		},
		// The clients take turns twice, and those of the first two fail.
		"failures: always those of the same clients": {
			sim.Server{Failures: sim.Failures{Rate: 0.5, Sticky: true}}, sim.Clients{Count: 4, Operations: 8, Rate: 1}, none,
			sim.Result{Done: 4, Failed: 4, Makespan: 7 * sec},
		},
		// The third and the sixth request fail, of 2 s and 5 s.
		"failures: each third request": {
			sim.Server{Failures: sim.Failures{Every: 3, Overload: true}}, clients(6, sec), none,
			sim.Result{Done: 4, Refused: 2, Makespan: 4 * sec},
		},
		"failures: the first two attempts of each operation": {
			sim.Server{Failures: sim.Failures{First: 2}}, clients(2, 0), fixed(sec),
			sim.Result{Done: 2, Failed: 4, Makespan: 2 * sec},
		},
		// Each operation comes 1.5 s after the last attempt of the one before.
		"failures: after a rest": {
			sim.Server{Failures: sim.Failures{Rest: sec}}, clients(3, 2*sec), fixed(500 * ms),
			sim.Result{Done: 3, Failed: 3, Makespan: 4500 * ms},
		},
		// Those of 1 s, 3 s and 5 s fail.
		"failures: up for a second, down for a second": {
			sim.Server{Failures: sim.Failures{Rate: 1, From: sec, For: sec, Period: 2 * sec}}, clients(6, sec), none,
			sim.Result{Done: 3, Failed: 3, Makespan: 4 * sec},
		},
		"failures: never answered": {
			sim.Server{Failures: sim.Failures{Rate: 1, Lost: true, For: 500 * ms}},
			sim.Clients{Operations: 2, Rate: 1, Timeout: 2 * sec}, none,
			sim.Result{Done: 1, TimedOut: 1, Makespan: sec},
		},
		// 0 to 1, and 1 to 4.
		"capacity: slower from 0.5 s on": {
			sim.Server{Service: sec, Capacity: []sim.Change{{At: 500 * ms, Service: 3 * sec}}}, clients(2, sec), none,
			sim.Result{Done: 2, Makespan: 4 * sec},
		},
		"blocks: small and large operations": {
			sim.Server{Service: sec, Blocks: sim.Blocks{Operations: 2, Service: 3 * sec}}, clients(5, 0), none,
			sim.Result{Done: 5, Makespan: 3 * sec},
		},
		// One to 1, then two at a time: 1 to 2 twice, and the last 2 to 3.
		"capacity: a slot more from 1 s on": {
			sim.Server{Service: sec, Slots: 1, Queue: 9, Capacity: []sim.Change{{At: sec, Slots: 2}}}, clients(4, 0), none,
			sim.Result{Done: 4, Makespan: 3 * sec},
		},
		// Two to 1, then one at a time.
		"capacity: a slot less from 0.5 s on": {
			sim.Server{Service: sec, Slots: 2, Queue: 9, Capacity: []sim.Change{{At: 500 * ms, Slots: 1}}}, clients(4, 0), none,
			sim.Result{Done: 4, Makespan: 3 * sec},
		},
		// 0, 3 and 4 are served; 1 and 2 are refused.
		"outage: errors": {
			sim.Server{Service: sec, Outages: []sim.Outage{{From: 500 * ms, For: 2 * sec}}}, clients(5, sec), none,
			sim.Result{Done: 3, Refused: 2, Makespan: 5 * sec},
		},
		// 2 is served, 0 and 1 are refused.
		"outage: from the start": {
			sim.Server{Service: sec, Outages: []sim.Outage{{For: 1500 * ms}}}, clients(3, sec), none,
			sim.Result{Done: 1, Refused: 2, Makespan: 3 * sec},
		},
		// The first has half a second to go when it stops, and has it after; the
		// others are there when it continues, at 2.5.
		"outage: silence": {
			sim.Server{Service: sec, Outages: []sim.Outage{{From: 500 * ms, For: 2 * sec, Kind: "silent"}}}, clients(3, sec), none,
			sim.Result{Done: 3, Makespan: 3500 * ms},
		},
		// Of the four of 1 to 4 the kernel takes in the first, which is served
		// though its client is gone; of the others that of 4 is still waited for.
		"outage: silence, with a backlog of one": {
			sim.Server{Service: 100 * ms, Outages: []sim.Outage{{From: 500 * ms, For: 4 * sec, Kind: "silent", Backlog: 1}}},
			sim.Clients{Operations: 5, Rate: 1, Timeout: sec}, none,
			sim.Result{Done: 2, TimedOut: 3, Makespan: 4600 * ms},
		},
		// Of those of 0 to 4, the first is answered into the void at 1 s, 1 and 2 do
		// not arrive; each is given up after 1.5 s. 3 and 4 are served.
		"outage: what is sent and answered is lost": {
			sim.Server{Service: sec, Outages: []sim.Outage{{From: 500 * ms, For: 2 * sec, Kind: "lost"}}},
			sim.Clients{Operations: 5, Rate: 1, Timeout: 1500 * ms}, none,
			sim.Result{Done: 2, TimedOut: 3, Makespan: 5 * sec},
		},
		// Five pass, the sixth begins the block, and all that come within 10 s are refused: five retries at 3, 6 and
		// 9 s. Those at 12 s pass.
		"block: for 10 s": {
			blocked(sim.Block{For: 10 * sec, Requests: 5}), clients(10, 0), fixed(3 * sec),
			sim.Result{Done: 10, Refused: 20, Makespan: 12*sec + 10*ms},
		},
		"block: not so many": {
			blocked(sim.Block{For: 10 * sec, Requests: 10}), clients(10, 0), fixed(3 * sec),
			sim.Result{Done: 10, Makespan: 10 * ms},
		},
		"block: of refusals, of which there are none": {
			blocked(sim.Block{For: sec, Refused: true}), clients(10, 0), none,
			sim.Result{Done: 10, Makespan: 10 * ms},
		},
		"ban: it renews, and ends": {
			blocked(sim.Block{For: 2 * sec, Requests: 5, Renew: true}), clients(10, 0), fixed(3 * sec),
			sim.Result{Done: 10, Refused: 5, Makespan: 3*sec + 10*ms},
		},
		// Those in front of the first refusal are served.
		"ban: who asks within its time never gets through": {
			banned, clients(10, 0), sim.Strategy{Retry: &backoff.Exponential{Min: sec, Factor: 1}, Attempts: 9},
			sim.Result{Done: 5, Refused: 45, Makespan: 10 * ms},
		},
		"ban: who waits does": {
			banned, clients(10, 0), fixed(3 * sec),
			sim.Result{Done: 10, Refused: 5, Makespan: 3*sec + 10*ms},
		},
		// 403 is final, and neutral: the work is lost.
		"block: forbidden": {
			blocked(sim.Block{For: 10 * sec, Requests: 5, Forbidden: true}), clients(10, 0), fixed(sec),
			sim.Result{Done: 5, Failed: 5, Makespan: 10 * ms},
		},
		// Asked 20 times a second each request takes half a token more than was added since the one before, so 9 pass.
		// From then on every other one passes; but if refused requests count, none ever again.
		"bucket: every other one": {
			sim.Server{Rate: sim.Rate{PerSecond: 10, Burst: 5}}, clients(100, 50*ms), none,
			sim.Result{Done: 54, Refused: 46, Makespan: 4900 * ms},
		},
		"bucket: refused requests count": {
			sim.Server{Rate: sim.Rate{PerSecond: 10, Burst: 5, CountRefused: true}}, clients(100, 50*ms), none,
			sim.Result{Done: 9, Refused: 91, Makespan: 400 * ms},
		},
		"bucket: asked less often than it refills": {
			sim.Server{Rate: sim.Rate{PerSecond: 10, Burst: 5, CountRefused: true}}, clients(100, 100*ms), none,
			sim.Result{Done: 100, Makespan: 9900 * ms},
		},
		// Refused requests take tokens down to -2, or to 0: then a token is there a second later.
		"bucket: a token is owed": {indebted(false), clients(3, 0), fixed(2 * sec), sim.Result{Done: 3, Refused: 1, Makespan: 2*sec + 10*ms}},
		"bucket: no debt":         {indebted(true), clients(3, 0), fixed(sec), sim.Result{Done: 3, Refused: 1, Makespan: sec + 10*ms}},
		"bucket: 0.75 tokens are gone each time": {
			indebted(true), clients(3, 0), sim.Strategy{Retry: &backoff.Exponential{Min: 750 * ms, Factor: 1}, Attempts: 9},
			sim.Result{Done: 2, Refused: 9, Makespan: 10 * ms},
		},
		// Of five a second the 6 of 0 s to 1 s pass; from 2 s on one passes when one is 2 s old, again in the first
		// second of two. If refused requests count, there are always 6 within 2 s.
		"sliding window: six in two seconds": {
			sim.Server{Rate: sim.Rate{PerSecond: 3, Window: 2 * sec}}, clients(50, 200*ms), none,
			sim.Result{Done: 30, Refused: 20, Makespan: 9 * sec},
		},
		"sliding window: refused requests count": {
			sim.Server{Rate: sim.Rate{PerSecond: 3, Window: 2 * sec, CountRefused: true}}, clients(50, 200*ms), none,
			sim.Result{Done: 6, Refused: 44, Makespan: sec},
		},
		"sliding window: three a second are never too many": {
			sim.Server{Rate: sim.Rate{PerSecond: 3, Window: 2 * sec, CountRefused: true}}, clients(50, 350*ms), none,
			sim.Result{Done: 50, Makespan: 49 * 350 * ms},
		},
		// All 20 look at an empty server at once; 10 are refused, look every 100 ms, and find it empty after the
		// first 10 are done.
		"sense: a client that sees that the service is full does not send": {
			slots(10, 0), clients(20, 0), careful,
			sim.Result{Done: 20, Refused: 10, Rejected: 10 * 9, Makespan: 2 * sec},
		},
		"sense: in an outage there is no carrier": {
			sim.Server{Service: sec, Slots: 10, Outages: []sim.Outage{{For: 950 * ms}}}, clients(1, 0), careful,
			sim.Result{Done: 1, Rejected: 10, Makespan: 2 * sec},
		},
		// The clients wait 1 s, the service takes 2: nothing comes of it.
		"timeouts: abandoned work stays": {
			sim.Server{Service: 2 * sec, Slots: 1, Queue: 9}, sim.Clients{Operations: 2, Rate: 0.5, Timeout: sec},
			sim.Strategy{Retry: &backoff.Exponential{Min: 100 * ms, Factor: 1}, Attempts: 2},
			// 0 and 1.1 of the first, 2 and 3.1 of the second; the last times out
			// at 4.1. By then two were served, to 2 and 4.
			sim.Result{TimedOut: 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, sim.Scenario{Server: c.server, Clients: c.clients}, c.strategy)
			got := sim.Result{
				Done: r.Done, Refused: r.Refused, Failed: r.Failed, TimedOut: r.TimedOut, Rejected: r.Rejected, Makespan: r.Makespan,
			}
			assert.Equal(t, c.want, got)
			assert.Equal(t, r.Operations, r.Done+r.GivenUp)
		})
	}
}

// Until a limit the server responds with a fixed delay, then exponentially: minDelay * factor ^ ((concurrency
// - concurrencyLimit) / K). The text's log: "concurrency: 1040, last delay: 2.671444385s", "1599 ...
// 16.458895305s", "1925 ... 47.524196455s", "2231 ... 2m8.580906589s".
func TestSlowdownIsTheTextsFormula(t *testing.T) {
	for concurrency, want := range map[int]time.Duration{
		30: 100 * ms, 1040: 2671444385, 1599: 16458895305, 1925: 47524196455, 2231: 128580906589,
	} {
		s := sim.Scenario{
			Server:  sim.Server{Service: 100 * ms, Knee: sim.Knee{At: 30, Factor: 1.05}},
			Clients: clients(concurrency, 0),
		}
		assert.InDelta(t, want, run(t, s, sim.Strategy{}).Makespan, 2, "the text's log, to the nanosecond but for rounding")
	}
	steep := sim.Server{Service: 100 * ms, Knee: sim.Knee{At: 1, Factor: 1000, Scale: 0.01}}
	s := sim.Scenario{Server: steep, Clients: clients(1000, 0), Horizon: 48 * time.Hour}
	assert.Equal(t, 24*time.Hour, run(t, s, sim.Strategy{}).Makespan, "the longest time")
}

// Mean, median and 99th percentile of 20 000 service times.
func TestSpreads(t *testing.T) {
	for _, c := range []struct {
		spread            sim.Spread
		p50, p99          float64
		shortest, longest float64
	}{
		{sim.Spread{}, 1, 1, 1, 1},
		{sim.Spread{Kind: "uniform", Width: 0.2}, 1, 1.196, 0.8, 1.2},
		{sim.Spread{Kind: "uniform"}, 1, 1.49, 0.5, 1.5},
		{sim.Spread{Kind: "exponential"}, math.Ln2, -math.Log(0.01), 0, 20},
		{sim.Spread{Kind: "lognormal", Width: 1}, math.Exp(-0.5), math.Exp(-0.5 + 2.3263), 0, 200},
		{sim.Spread{Kind: "lognormal"}, math.Exp(-0.125), math.Exp(-0.125 + 0.5*2.3263), 0, 20},
	} {
		s := sim.Scenario{Server: sim.Server{Service: sec, Spread: c.spread}, Clients: clients(20_000, 0)}
		r := run(t, s, sim.Strategy{})
		assert.InEpsilon(t, c.p50, value(t, r, "p50_s").Value, 0.03, "%+v", c.spread)
		assert.InEpsilon(t, c.p99, value(t, r, "p99_s").Value, 0.06, "%+v", c.spread)
		assert.LessOrEqual(t, r.Makespan.Seconds(), c.longest)
		assert.GreaterOrEqual(t, value(t, r, "p50_s").Value, c.shortest)
		s.Clients.Arrivals, s.Horizon = "closed", 10*time.Hour // one after the other
		assert.InEpsilon(t, 20_000, run(t, s, sim.Strategy{}).Makespan.Seconds(), 0.03, "%+v", c.spread)
	}
}

// Times to connect and to refuse.
func TestSpreadsOfConnectionsAndRefusals(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Connect: sec, ConnectSpread: sim.Spread{Kind: "uniform", Width: 0.2}},
		Clients: clients(20_000, 0),
	}
	r := run(t, s, sim.Strategy{})
	assert.InDelta(t, 1, value(t, r, "p50_s").Value, 0.01)
	assert.InDelta(t, 1.196, value(t, r, "first_send_p99_s").Value, 0.002)
	assert.LessOrEqual(t, r.Makespan, 1200*ms)
	// A server that is down refuses each after 1 s, and every client tries until it is up, with no wait.
	s = sim.Scenario{
		Server: sim.Server{
			Refusal: sim.Refusal{Time: sec, Spread: sim.Spread{Kind: "lognormal", Width: 1}, Busy: true},
			Outages: []sim.Outage{{For: 1000 * sec}},
		},
		Clients: sim.Clients{Count: 20}, Horizon: 1000 * sec,
	}
	assert.InEpsilon(t, 20*1000, run(t, s, fixed(0)).Refused, 0.03, "one a second each")
}

// "Implement Retry-After header in client and server. Make sure to jitter
// retry periods on the server side" (Safe Client Behaviour).
func TestRetryAfter(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: sec, Slots: 1, Refusal: sim.Refusal{RetryAfter: 3 * sec}},
		Clients: clients(2, 0),
	}
	obey := fixed(100 * ms)
	obey.RetryAfter = true
	// The library adds up to a second to what it is told.
	within := func(got, from, to time.Duration) {
		assert.GreaterOrEqual(t, got, from)
		assert.LessOrEqual(t, got, to)
	}
	within(run(t, s, obey).Makespan, 4*sec, 5*sec)
	assert.Equal(t, 2*sec, run(t, s, fixed(100*ms)).Makespan, "who does not listen")

	s.Server.Refusal.RetryAfterJitter = 2 * sec
	within(run(t, s, obey).Makespan, 5*sec, 7*sec) // as it happens, not 4 s to 7 s

	// An outage that tells when it ends.
	s.Server = sim.Server{Outages: []sim.Outage{{For: 10 * sec, RetryAfter: true}}}
	s.Clients = clients(1, 0)
	r := run(t, s, obey)
	within(r.Makespan, 10*sec, 11*sec)
	assert.Equal(t, 2, r.Attempts)
	// A block that tells when it ends.
	blocked := sim.Scenario{Server: sim.Server{Block: sim.Block{For: 10 * sec, Requests: 5, RetryAfter: true}}, Clients: clients(10, 0)}
	r = run(t, blocked, obey)
	within(r.Makespan, 10*sec, 11*sec)
	assert.Equal(t, 5, r.Refused)
	// A limiter obeys on its own.
	r = run(t, s, named(t, "reno-0.9"))
	within(r.Makespan, 10*sec, 11*sec)
	assert.Equal(t, 2, r.Attempts)
}
