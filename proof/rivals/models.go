package main

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

// inspect is the adaptive concurrency of Inspect AI (MIT). After a full limit of successes, in
// which four fifths of the limit were used, it doubles; from the first refusal on it gets a
// twentieth more. A refusal takes a fifth off. From 10 on the limit is a multiple of five. For
// 15 s after a cut no success counts, and no refusal cuts again.
type inspect struct {
	timed
	// ok is the number of successes at this limit, most the most in flight meanwhile.
	ok, most int
	// refused: a refusal came. until is the time when the cooldown ends.
	refused bool
	until   time.Duration
}

func newInspect(window.Settings) window.Law { return &inspect{} }

func (i *inspect) Answered(now time.Duration, s window.State, a window.End) window.State {
	i.most = max(i.most, a.Flying)
	switch {
	case a.Outcome.Overloaded():
		i.ok, i.most, i.refused = 0, 0, true
		if now >= i.until {
			i.until = now + 15*time.Second
			s.Cwnd = nice(math.Floor(s.Cwnd*0.8), math.Floor)
		}
	case a.Outcome.Accepted() && now >= i.until:
		if i.ok++; float64(i.ok) < max(s.Cwnd, 4) {
			return s
		}
		used := float64(i.most) >= 0.8*s.Cwnd
		switch i.ok, i.most = 0, 0; {
		case used && !i.refused:
			s.Cwnd *= 2
		case used:
			s.Cwnd = nice(s.Cwnd+max(1, math.RoundToEven(s.Cwnd*0.05)), math.Ceil)
		}
	}
	return s
}

// nice rounds to a multiple of five from 10 on.
func nice(limit float64, round func(float64) float64) float64 {
	if limit < 10 {
		return max(1, limit)
	}
	return round(limit/5) * 5
}

// aibrix is the error-rate controller of aibrix's batch client (Apache-2.0). Eight successes give
// one more, and a quarter more before the first cut. A tenth goes after a full limit of answers
// with a tenth of refusals. Its pauses are left to the limiter here, and a law does not see its
// tokens. Its start and its bound are as in its tests.
type aibrix struct {
	timed
	// healthy is the number of successes since the last change; cut: there was a cut.
	healthy int
	cut     bool
	// n and errors count up to size, the limit when the count began.
	n, errors int
	size      float64
}

func newAibrix(window.Settings) window.Law { return &aibrix{} }

func (b *aibrix) Answered(_ time.Duration, s window.State, a window.End) window.State {
	bad := a.Outcome.Overloaded()
	if !bad && !a.Outcome.Accepted() {
		return s
	}
	if b.n == 0 {
		b.size = max(8, s.Cwnd)
	}
	if b.n++; bad {
		b.errors++
	}
	if float64(b.n) >= b.size {
		over := b.errors >= 2 && float64(b.errors) >= 0.1*float64(b.n)
		b.n, b.errors = 0, 0
		if over {
			b.cut, b.healthy = true, 0
			s.Cwnd = max(1, math.Floor(s.Cwnd*0.9))
			return s
		}
	}
	if bad {
		return s
	}
	if b.healthy++; b.healthy >= 8 {
		step := 1.0
		if !b.cut {
			step = math.Ceil(s.Cwnd * 0.25)
		}
		b.healthy = 0
		s.Cwnd += step
	}
	return s
}

// llmd is the semaphore of llm-d's batch gateway (Apache-2.0). Each refusal halves the limit, without a cooldown. As
// many successes in a row as the limit has places add one place.
type llmd struct {
	timed
	least, most, add float64
	// ok is the number of successes in a row since the last change.
	ok int
}

func newLLMD(window.Settings) window.Law { return &llmd{least: 5, most: 100, add: 1} }

func (l *llmd) Answered(_ time.Duration, s window.State, a window.End) window.State {
	switch {
	case a.Outcome.Overloaded():
		s.Cwnd, l.ok = max(l.least, math.Floor(s.Cwnd/2)), 0
	case a.Outcome.Accepted():
		if l.ok++; float64(l.ok) >= s.Cwnd {
			s.Cwnd, l.ok = min(l.most, s.Cwnd+l.add), 0
		}
	}
	return s
}
