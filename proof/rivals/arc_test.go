package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/window"
)

// arcCase is a scenario of Vector: requests that begin each interval at a service that takes delay, both in milliseconds, with
// a random part jitter, more for each request in flight by scale, and from kneeAt on by a tenth each. Beyond limit in flight
// or rate a second it answers an error, or nothing if it drops. A client waits a second for an answer.
type arcCase struct {
	requests, interval, delay, kneeAt, limit, rate int
	jitter, scale                                  float64
	drop                                           bool
	// flying and limits are the ranges that Vector accepts of the requests in flight and of the limit: most, mode, mean.
	flying, limits [6]float64
}

// arcRequest is a request, in milliseconds; without an outcome it waits for its client.
type arcRequest struct {
	at, sent, wait, waited int
	outcome                window.Outcome
	lost                   bool
}

// run returns for how long each number was in flight, and each limit was in force.
func (c arcCase) run() (flying, limits map[int]int) {
	var queue, ready []arcRequest
	for i := range c.requests {
		queue = append(queue, arcRequest{at: i * c.interval, wait: 1000})
	}
	l, s, random := &arc{}, window.State{Cwnd: 1}, rand.New(rand.NewPCG(1, 1))
	now, judged, sent, served, begun := 0, 0, 0, 0, []int(nil)
	flying, limits = map[int]int{}, map[int]int{}
	for done := 0; done < c.requests; {
		slices.SortStableFunc(queue, func(a, b arcRequest) int { return cmp.Compare(a.at, b.at) })
		r := queue[0]
		queue = queue[1:]
		flying[served] += r.at - now
		if now = r.at; r.outcome == 0 {
			ready = append(ready, r)
		} else {
			round, before := l.next, int(s.Cwnd)
			s = l.Answered(time.Duration(now)*time.Millisecond, s, window.End{Outcome: r.outcome, Flying: sent, RTT: time.Duration(now-r.sent) * time.Millisecond})
			if round > 0 && l.next != round { // Vector adds to its histogram at the end of a round
				limits[before] += now - cmp.Or(judged, now)
				judged = now
			}
			if sent--; !r.lost {
				served--
			}
			if r.outcome == window.Success {
				done++
			} else { // retries wait 1, 1, 2, 3, 5 ... s
				queue = append(queue, arcRequest{at: now + r.wait, wait: r.wait + r.waited, waited: r.wait})
			}
		}
		for ; len(ready) > 0 && sent < int(s.Cwnd); ready = ready[1:] {
			r := ready[0]
			sent, served = sent+1, served+1
			begun = append(slices.DeleteFunc(begun, func(t int) bool { return t <= now-1000 }), now)
			factor := 1 + c.jitter*random.ExpFloat64()
			r.sent, r.outcome = now, window.Success
			switch refused := c.limit > 0 && served > c.limit || c.rate > 0 && len(begun) > c.rate; {
			case refused && c.drop:
				served, factor = served-1, 1000/float64(c.delay)
				r.outcome, r.lost = window.Timeout, true
			case refused:
				r.outcome = window.Overload
			case c.kneeAt > 0:
				factor = math.Pow(1.1, float64(max(0, served-c.kneeAt)))
			default:
				factor += float64(served-1) * c.scale
			}
			r.at = now + int(float64(c.delay)*factor+1e-6) + 1 // a timer of Vector's runtime is late by up to 1 ms
			queue = append(queue, r)
		}
	}
	return flying, limits
}

func arcTheirs(t *testing.T) {
	const free = 1e9
	for name, c := range map[string]arcCase{
		"constant-link":              {requests: 500, delay: 100, flying: [6]float64{30, 31, 0, free, 15, 16}, limits: [6]float64{22, 32, 0, free, 16, 18}},
		"defers-at-high-concurrency": {requests: 500, delay: 100, limit: 5, flying: [6]float64{5, 13, 0, 5, 2.4, 5}, limits: [6]float64{6, 18, 2, 13, 4, 12}},
		"defers-at-high-rate":        {requests: 1000, delay: 100, rate: 100, flying: [6]float64{16, 24, 0, free, 6, 9}, limits: [6]float64{16, 24, 0, free, 8, 18.5}},
		"drops-at-high-concurrency":  {requests: 500, delay: 100, limit: 5, drop: true, flying: [6]float64{4, 5, 1, 5, 1.8, 4}, limits: [6]float64{10, 15, 8, 12, 7, 8}},
		"jittery-link-small":         {requests: 1000, delay: 100, jitter: 0.1, flying: [6]float64{20, 40, 0, free, 8, 20}, limits: [6]float64{20, 40, 0, free, 9, 20}},
		"medium-send":                {requests: 500, interval: 25, delay: 100, flying: [6]float64{8, 8, 4, 5, 4, 4.5}, limits: [6]float64{9, 9, 0, free, 0, free}},
		"shallow-knee":               {requests: 1000, delay: 100, kneeAt: 10, flying: [6]float64{12, 12, 9, 12, 9, 11}, limits: [6]float64{12, 12, 9, 12, 10, 12}},
		"slow-link":                  {requests: 200, delay: 100, scale: 1, flying: [6]float64{2, 7, 2, 5, 1.5, 5}, limits: [6]float64{0, free, 2, 5, 1.7, 5}},
		"slow-send-1":                {requests: 100, interval: 100, delay: 50, flying: [6]float64{1, 1, 1, 1, 0.5, 0.55}, limits: [6]float64{0, free, 1, 2, 1, 2}},
		"slow-send-2":                {requests: 100, interval: 50, delay: 50, flying: [6]float64{1, 2, 1, 1, 1, 1.2}, limits: [6]float64{0, free, 2, 3, 2, 2.5}},
	} {
		flying, limits := c.run()
		for _, x := range []struct {
			times map[int]int
			want  [6]float64
		}{{flying, c.flying}, {limits, c.limits}} {
			var most, mode, sum, all float64
			for level, ms := range x.times {
				if ms > 0 {
					most = max(most, float64(level))
				}
				if ms > x.times[int(mode)] {
					mode = float64(level)
				}
				sum, all = sum+float64(level*ms), all+float64(ms)
			}
			for i, got := range []float64{most, mode, sum / all} { // but for shallow-knee, where 11.002 are in flight
				assert.GreaterOrEqual(t, got, x.want[2*i], name)
				assert.LessOrEqual(t, got, 1.001*x.want[2*i+1], name)
			}
		}
	}
}
