package main

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd/window"
)

const (
	// desyncFirst is the limit at which desync begins, and at which it measures the shortest latency again.
	desyncFirst = 10
	desyncMost  = 128
)

// desync is the adaptive limit of folbricht/desync (BSD-3-Clause), after BBR. It judges a window of as many answers as the
// limit has places, and at least 20. It doubles the limit until three windows in a row bring less than a quarter
// more. Then the limit is twice the best of ten rates times the shortest mean latency. The first failure of a window halves
// the limit.
type desync struct {
	timed
	// ramp: the limit still doubles, since the rate before. flat is the number of windows that brought too little.
	ramp   bool
	before float64
	flat   int
	// rates are the last ones that count, per second; lowest is the shortest mean latency in seconds, measured at lowestAt.
	rates    []float64
	lowest   float64
	lowestAt time.Duration
	// stale is the number of answers that were sent before the limit fell to be measured; they do not count.
	stale int
	// The rest is about this window: its begin, its answers and its successes, their latency in seconds, the most in flight.
	start         time.Duration
	begun, failed bool
	n, ok, peak   int
	took          float64
}

func newDesync(window.Settings) window.Law { return &desync{ramp: true} }

func (d *desync) Answered(now time.Duration, s window.State, a window.End) window.State {
	if !d.begun {
		d.begun, d.start = true, max(0, now-a.RTT)
	}
	d.peak = max(d.peak, a.Flying)
	if d.stale > 0 {
		d.stale--
		return s
	}
	if d.n++; a.Outcome.Accepted() {
		d.ok, d.took = d.ok+1, d.took+a.RTT.Seconds()
	} else if !d.failed {
		d.failed, d.ramp, d.rates = true, false, nil
		s.Cwnd = max(1, math.Floor(s.Cwnd/2))
	}
	if float64(d.n) >= max(s.Cwnd, 20) {
		s.Cwnd = min(max(d.judge(now, s.Cwnd, a.Flying), 1), desyncMost)
		d.start, d.n, d.ok, d.took, d.peak, d.failed = now, 0, 0, 0, a.Flying-1, false
	}
	return s
}

// judge is the limit after a window.
func (d *desync) judge(now time.Duration, limit float64, flying int) float64 {
	e := (now - d.start).Seconds()
	if d.failed || d.ok == 0 || e <= 0 {
		return limit
	}
	if mean := d.took / float64(d.ok); d.lowest == 0 || mean <= d.lowest || limit <= desyncFirst {
		d.lowest, d.lowestAt = mean, now
	}
	rate, reached := float64(d.ok)/e, float64(d.peak) >= limit
	if reached || len(d.rates) == 0 || rate > slices.Max(d.rates) {
		d.rates = latest(d.rates, rate, 10)
	}
	switch {
	case d.ramp && !reached:
		return limit
	case d.ramp && rate >= 1.25*d.before:
		d.before, d.flat = rate, 0
		return 2 * limit
	case d.ramp:
		if d.flat++; d.flat < 3 {
			return 2 * limit
		}
		d.ramp = false
	}
	if limit > desyncFirst && now-d.lowestAt >= 10*time.Second {
		d.stale = flying - 1
		return desyncFirst
	}
	return math.Ceil(2 * slices.Max(d.rates) * d.lowest)
}
