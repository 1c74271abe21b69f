package main

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// paced puts a rate in attempts a second into the window: spaced sends, one each 1/rate. The
// window then also bounds the attempts in flight, by the rate times the mean round trip.
func paced(s window.State, rate float64) window.State {
	s.Pace, s.Cwnd = window.Spaced, rate*seconds(s.Trip)
	return s
}

// awsAdaptive is the adaptive retry mode of the AWS SDKs, after botocore (Apache-2.0). A token
// bucket begins at the first refusal. Its rate follows CUBIC's curve, and is at most twice the
// measured rate.
type awsAdaptive struct {
	timed
	// on: a refusal came. rate is the rate of the bucket; most the rate before the last cut. Per second.
	on         bool
	rate, most float64
	// k is the time in seconds that the curve takes to reach most, from failed on.
	k, failed float64
	beta      float64
	// measured is the smoothed rate of answers up to bucket, in seconds; count came since.
	measured, bucket float64
	count            int
}

func newAWSAdaptive(window.Settings) window.Law { return &awsAdaptive{beta: 0.7} }

func (w *awsAdaptive) Answered(now time.Duration, s window.State, a window.End) window.State {
	if !a.Outcome.Accepted() && !a.Outcome.Overloaded() {
		return s
	}
	at := now.Seconds()
	w.measure(at)
	next := w.curve(at - w.failed)
	if a.Outcome.Overloaded() {
		if w.most = w.measured; w.on {
			w.most = min(w.most, w.rate)
		}
		w.on, w.failed = true, at
		w.k = math.Cbrt(w.most * (1 - w.beta) / 0.4)
		next = w.most * w.beta
	}
	if !w.on {
		return s
	}
	w.rate = max(0.5, min(next, 2*w.measured))
	return paced(s, w.rate)
}

func (w *awsAdaptive) curve(t float64) float64 { return 0.4*math.Pow(t-w.k, 3) + w.most }

// measure counts an answer, and takes the rate at the end of a bucket of half a second.
func (w *awsAdaptive) measure(at float64) {
	w.count++
	if at = math.Floor(at/0.5) * 0.5; at > w.bucket {
		w.measured += 0.8 * (float64(w.count)/(at-w.bucket) - w.measured)
		w.count, w.bucket = 0, at
	}
}

// loki is the rate control of Grafana Loki's object stores, written from the behaviour of
// pkg/storage/chunk/client/congestion (AGPL-3.0): one a second more for a success, half for an
// error. It retries in its own way, which is left to the limiter here.
type loki struct {
	timed
	rate float64
}

func newLoki(window.Settings) window.Law { return &loki{rate: 2000} }

func (l *loki) Answered(_ time.Duration, s window.State, a window.End) window.State {
	switch {
	case a.Outcome.Overloaded():
		l.rate = max(1, math.Ceil(l.rate/2))
	case a.Outcome.Accepted():
		l.rate = min(10000, l.rate+1)
	}
	return paced(s, l.rate)
}

// lance is the throttle of Lance's object stores (Apache-2.0), and of the layer for OpenDAL that is modelled on it.
// A second with answers and without a refusal adds 300 to the rate, a second with a refusal halves it. A second ends
// with the first answer after it. Its four classes of operations are left out: a law sees one. So is its burst of 100.
type lance struct {
	timed
	// rate, added by a good second, to most. Per second.
	rate, add, most float64
	// window is the second, from the time when it began.
	window, from time.Duration
	// begun: an answer came. answered and refused: in this second.
	begun, answered, refused bool
}

func newLance(window.Settings) window.Law {
	return &lance{rate: 2000, add: 300, most: 5000, window: time.Second}
}

func (l *lance) Answered(now time.Duration, s window.State, a window.End) window.State {
	if !l.begun {
		l.begun, l.from = true, now
	}
	if now-l.from >= l.window {
		switch {
		case l.refused:
			l.rate = max(1, l.rate/2)
		case l.answered:
			l.rate = min(l.most, l.rate+l.add)
		}
		l.from, l.answered, l.refused = now, false, false
	}
	l.answered, l.refused = true, l.refused || a.Outcome.Overloaded()
	return paced(s, l.rate)
}

// scrapy is Scrapy's AutoThrottle (BSD-3-Clause): the delay between requests moves halfway to
// the latency over the target concurrency, and at once if that is longer. A refusal never
// shortens it. The window bounds a gap to 15 s, and leaves out Scrapy's random half.
type scrapy struct {
	timed
	delay, target float64
}

func newScrapy(window.Settings) window.Law { return &scrapy{delay: 5, target: 1} }

func (c *scrapy) Answered(_ time.Duration, s window.State, a window.End) window.State {
	if a.Outcome.Accepted() || a.Outcome.Overloaded() {
		aim := seconds(a.RTT) / c.target
		next := min(60, max(aim, (c.delay+aim)/2))
		if a.Outcome.Accepted() || next > c.delay {
			c.delay = next
		}
	}
	return paced(s, 1/c.delay)
}
