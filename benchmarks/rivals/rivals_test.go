package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/sim"
	"github.com/aimd-go/aimd/window"
)

const trip = 100 * time.Millisecond

// round answers a full window with successes that take rtt, all at the end of it.
func round(l window.Law, at time.Duration, s window.State, rtt time.Duration) (time.Duration, window.State) {
	at += rtt
	for range int(s.Cwnd) {
		s = l.Answered(at, s, window.Answer{Outcome: window.Success, Flying: int(s.Cwnd), RTT: rtt})
	}
	return at, s
}

func refused(l window.Law, at time.Duration, s window.State) window.State {
	return l.Answered(at, s, window.Answer{Outcome: window.Overload, Flying: int(s.Cwnd), RTT: trip})
}

// After a cut from 1000 to 700 the curve is back at 1000 after K = cbrt(300/0.4) = 9.09 s
// (RFC 9438, section 4.2), and then goes on beyond it.
func TestCubicComesBackAfterK(t *testing.T) {
	l := newCubic(window.Settings{})
	s := refused(l, 0, window.State{Cwnd: 1000, Ssthresh: 1000})
	assert.InDelta(t, 700, s.Cwnd, 1e-9)
	at, k := time.Duration(0), math.Cbrt(300/cubicC)
	for at.Seconds() < k {
		at, s = round(l, at, s, trip)
	}
	assert.InEpsilon(t, 1000, s.Cwnd, 0.01)
	for at.Seconds() < 2*k {
		at, s = round(l, at, s, trip)
	}
	assert.InEpsilon(t, 1300, s.Cwnd, 0.05)
	again := refused(l, at, refused(l, at, s))
	assert.InDelta(t, again.Cwnd*1/cubicBeta*(1+cubicBeta)/2, l.(*cubic).most, 1, "fast convergence, section 4.7")
}

// With windows this small CUBIC grows as Reno does (section 4.3): 3(1-beta)/(1+beta) a
// round trip.
func TestCubicIsAtLeastReno(t *testing.T) {
	l := newCubic(window.Settings{})
	s := refused(l, 0, window.State{Cwnd: 20, Ssthresh: 20})
	at := time.Duration(0)
	for range 5 {
		at, s = round(l, at, s, trip/10)
	}
	assert.InDelta(t, 14+4*cubicAlpha, s.Cwnd, 0.6)
}

// At 21 in flight and a round trip of 100 ms at best, 119 ms means that 4 are queued.
func TestVegasKeepsAFewQueued(t *testing.T) {
	for rtt, want := range map[time.Duration]float64{105 * time.Millisecond: 22, 115 * time.Millisecond: 21, 130 * time.Millisecond: 20} {
		l := newVegas(window.Settings{})
		at, s := round(l, 0, window.State{Cwnd: 20, Ssthresh: 10}, trip)
		s.Cwnd = 20
		at, s = round(l, at, s, rtt) // is judged by the round before: 21
		_, s = round(l, at, s, rtt)
		assert.InDelta(t, want, s.Cwnd, 0.01, rtt)
	}
}

// 20 * 0.8 + (20 + 4) * 0.2, and with answers twice as slow as ever (20 * gradient + 4).
func TestGradient2(t *testing.T) {
	l := newGradient2(window.Settings{})
	at, s := round(l, 0, window.State{Cwnd: 20}, trip)
	assert.InDelta(t, 20.8, s.Cwnd, 1e-9)
	for range 4 {
		at, s = round(l, at, s, trip)
	}
	assert.InDelta(t, 20.8, s.Cwnd, 1e-9, "once a second")
	_, s = round(l, at+time.Second, s, 2*trip) // the answers since then were quick, but for these
	assert.Less(t, s.Cwnd, 20.8+0.8)

	l = newGradient2(window.Settings{})
	at, s = round(l, 0, window.State{Cwnd: 20}, trip)
	s = refused(l, at+time.Second, s)
	assert.InDelta(t, 21.6, s.Cwnd, 1e-9, "a refusal is one more answer")
}

func TestNetflixAIMD(t *testing.T) {
	l := newNetflixAIMD(window.Settings{})
	answer := func(s window.State, o window.Outcome, flying int, rtt time.Duration) float64 {
		return l.Answered(0, s, window.Answer{Outcome: o, Flying: flying, RTT: rtt}).Cwnd
	}
	s := window.State{Cwnd: 20}
	assert.Equal(t, 21.0, answer(s, window.Success, 10, trip))
	assert.Equal(t, 20.0, answer(s, window.Success, 9, trip), "not used")
	assert.Equal(t, 18.0, answer(s, window.Overload, 20, trip))
	assert.Equal(t, 18.0, answer(s, window.Success, 20, 6*time.Second), "too slow")
	assert.Equal(t, 4.0, answer(window.State{Cwnd: 5}, window.Overload, 5, trip), "at least one")
}

func TestARC(t *testing.T) {
	l := newARC(window.Settings{})
	at, s := round(l, 0, window.State{Cwnd: 20}, trip)
	assert.Equal(t, 20.0, s.Cwnd, "the first answer is the base")
	at, s = round(l, at, s, trip)
	assert.Equal(t, 21.0, s.Cwnd)
	at += trip
	s = refused(l, at, s)
	assert.Equal(t, 18.0, s.Cwnd)
	_, s = round(l, at, s, 3*trip)
	assert.Equal(t, 16.0, s.Cwnd, "slower than 2.5 deviations")
}

// All of them finish a job.
func TestRivalsFinish(t *testing.T) {
	register()
	s := sim.Scenario{
		Server:  sim.Server{Service: trip, Slots: 30, Refusal: sim.Refusal{Time: trip / 10}},
		Clients: sim.Clients{Operations: 2000},
	}
	for _, x := range rivals {
		strategy, ok := sim.StrategyNamed(x.name)
		require.True(t, ok, x.name)
		r, err := sim.Run(s, strategy, 1)
		require.NoError(t, err)
		assert.Equal(t, 2000, r.Done, x.name)
	}
}
