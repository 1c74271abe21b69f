package throttle_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/window"
)

const start = 12 * time.Hour

func newCore(t testing.TB, s throttle.Config) *throttle.Throttle {
	t.Helper()
	c, err := throttle.New(s)
	require.NoError(t, err)
	for of := tag.Sheddable; of <= tag.CriticalPlus; of++ {
		require.True(t, c.AdmitAt(start, of) == nil, "the first request goes")
	}
	return c
}

// rejection is the probability at that time.
func rejection(c *throttle.Throttle, now time.Duration, of tag.Criticality) float64 {
	_, _, p := c.CountsAt(now, of)
	return p
}

// end tells of n requests that ended with the outcome.
func end(c *throttle.Throttle, now time.Duration, of tag.Criticality, n int, o window.Outcome) {
	for range n {
		c.EndedAt(now, of, o)
	}
}

// SRE book, chapter 21: "max(0, (requests - K * accepts) / (requests + 1))".
func TestTheFormula(t *testing.T) {
	for _, x := range []struct {
		k                 float64
		accepted, refused int
		want              float64
	}{
		{0, 0, 0, 0},
		{0, 100, 0, 0},
		{0, 50, 50, 0},
		{0, 49, 51, 2.0 / 101},
		{0, 25, 75, 50.0 / 101},
		{0, 10, 90, 80.0 / 101},
		{0, 0, 1, 1.0 / 2},
		{0, 0, 99, 99.0 / 100},
		{1, 50, 50, 50.0 / 101},
		{1, 100, 0, 0},
		{4, 25, 75, 0},
		{4, 24, 76, 4.0 / 101},
	} {
		c := newCore(t, throttle.Config{K: x.k})
		end(c, start, tag.Critical, x.accepted, window.Success)
		end(c, start, tag.Critical, x.refused, window.Overload)
		assert.InDelta(t, x.want, rejection(c, start, tag.Critical), 1e-12, "%+v", x)
	}
}

// The table in the comment of package throttle is the code's.
func TestDocTable(t *testing.T) {
	var row []string
	for _, c := range []struct{ accepted, refused int }{{33, 0}, {33, 33}, {33, 66}, {33, 99}, {33, 297}, {0, 99}} {
		core := newCore(t, throttle.Config{})
		end(core, start, tag.Critical, c.accepted, window.Success)
		end(core, start, tag.Critical, c.refused, window.Overload)
		row = append(row, fmt.Sprintf("%.0f%%", 100*rejection(core, start, tag.Critical)))
	}
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, line, _ := strings.Cut(string(doc), "//\trejected ")
	line, _, _ = strings.Cut(line, "\n")
	assert.Equal(t, strings.Fields(line), row)
}

// What is an accept and what is not: told the wrong way round, a throttle rejects while all is well and
// lets through while all is refused.
func TestWhatCountsAsAccepted(t *testing.T) {
	for o, want := range map[window.Outcome][2]int{
		window.Success:  {1, 1},
		window.Neutral:  {1, 1}, // a 404, a 500: the service dealt with it
		window.Overload: {1, 0},
		window.Timeout:  {1, 0},
		0:               {0, 0}, // nothing is known
	} {
		c := newCore(t, throttle.Config{})
		requests, _, _ := c.CountsAt(start, tag.Critical)
		assert.Zero(t, requests, "a request in flight does not count")
		c.EndedAt(start, tag.Critical, o)
		requests, accepts, _ := c.CountsAt(start, tag.Critical)
		assert.Equal(t, want, [2]int{requests, accepts}, "%v", o)
	}
}

func TestManyAtOnceFromTheStartRejectNothing(t *testing.T) {
	c := newCore(t, throttle.Config{})
	for range 10_000 {
		require.True(t, c.AdmitAt(start, tag.Critical) == nil)
	}
}

// "Requests: the number of requests attempted by the application layer", the rejected ones among them: so
// "the client continues to issue requests ... the rejection probability rises".
func TestARejectedRequestCountsAsARequest(t *testing.T) {
	c := newCore(t, throttle.Config{})
	end(c, start, tag.Critical, 1000, window.Overload)
	rejected := 0
	for range 1000 {
		if c.AdmitAt(start, tag.Critical) != nil {
			rejected++
		}
	}
	requests, accepts, _ := c.CountsAt(start, tag.Critical)
	assert.Equal(t, 1000+rejected, requests)
	assert.Zero(t, accepts)
	assert.Greater(t, rejected, 980, "of 1000 with a probability of 0.999 and rising")
}

// "For the last two minutes of its history".
func TestTheWindowIsTwoMinutes(t *testing.T) {
	c := newCore(t, throttle.Config{})
	end(c, start, tag.Critical, 100, window.Overload)
	for after, want := range map[time.Duration]int{0: 100, 2 * time.Minute: 100, 2*time.Minute + 2*time.Second: 0} {
		requests, _, _ := c.CountsAt(start+after, tag.Critical)
		assert.Equal(t, want, requests, "after %v; events leave with their bucket", after)
	}
}

// The floor: even while everything is refused, some requests pass.
func TestProbesGoOn(t *testing.T) {
	for _, probe := range []time.Duration{0, 250 * time.Millisecond} {
		c := newCore(t, throttle.Config{Probe: probe})
		every := probe
		if probe == 0 {
			every = time.Second
		}
		end(c, start, tag.Critical, 100_000, window.Overload)
		last, sent := start, 0
		// 1000 requests a second for ten minutes, all refused.
		for now := start; now < start+10*time.Minute; now += time.Millisecond {
			if c.AdmitAt(now, tag.Critical) != nil {
				continue
			}
			require.LessOrEqual(t, now-last, every)
			last, sent = now, sent+1
			c.EndedAt(now, tag.Critical, window.Overload)
		}
		probes := int(10 * time.Minute / every)
		assert.LessOrEqual(t, sent, probes+30, "of 600 000, with what the formula lets pass")
		// The formula's own begin the wait for a probe anew, so the last probe may fall behind the end.
		assert.GreaterOrEqual(t, sent, probes-1)
	}
}

// "Stats for each criticality": refused background work does not throttle interactive work, and the other
// way round.
func TestEachCriticalityByItself(t *testing.T) {
	for refused := tag.Sheddable; refused <= tag.CriticalPlus; refused++ {
		c := newCore(t, throttle.Config{})
		for of := tag.Sheddable; of <= tag.CriticalPlus; of++ {
			o := window.Success
			if of == refused {
				o = window.Overload
			}
			end(c, start, of, 100, o)
		}
		for of := tag.Sheddable; of <= tag.CriticalPlus; of++ {
			assert.Equal(t, of == refused, rejection(c, start, of) > 0, "%v refused, asked for %v", refused, of)
		}
	}
	c := newCore(t, throttle.Config{})
	end(c, start, tag.CriticalPlus+3, 9, window.Overload)
	assert.Positive(t, rejection(c, start, tag.CriticalPlus), "what is none counts as the nearest")
	assert.Zero(t, rejection(c, start, tag.Sheddable-3))
}

func TestEachWrongSettingIsNamed(t *testing.T) {
	for want, s := range map[string]throttle.Config{
		"Window: 1ms is not allowed, want a duration from 1s to 1h0m0s":           {Window: time.Millisecond},
		"Window: 2h0m0s is not allowed, want a duration from 1s to 1h0m0s":        {Window: 2 * time.Hour},
		"K: 0.9 is not allowed, want a number from 1 to 100":                      {K: 0.9},
		"K: NaN is not allowed, want a number from 1 to 100":                      {K: math.NaN()},
		"Probe: 3s is not allowed, want a duration from 1ms to the window, 2s":    {Window: 2 * time.Second, Probe: 3 * time.Second},
		"Probe: -1s is not allowed, want a duration from 1ms to the window, 2m0s": {Probe: -time.Second},
	} {
		_, err := throttle.New(s)
		assert.EqualError(t, err, "throttle: "+want)
	}
}

// FuzzCore: whatever comes in whatever order, a probability is one, accepts are requests, and after a
// while without a request the next one goes.
func FuzzCore(f *testing.F) {
	f.Add(2.0, []byte{0, 1, 2, 3, 4, 250, 6})
	f.Add(1.0, []byte{2, 2, 2, 2, 7, 7, 7, 7, 199})
	f.Fuzz(func(t *testing.T, k float64, steps []byte) {
		c, err := throttle.New(throttle.Config{K: k, Window: 10 * time.Second})
		if err != nil {
			return
		}
		now, last := start, map[tag.Criticality]time.Duration{}
		for _, s := range steps {
			now += time.Duration(s) * 7 * time.Millisecond
			of := tag.Sheddable + tag.Criticality(s%4)
			if s%3 == 0 {
				if went := c.AdmitAt(now, of) == nil; now-last[of] >= time.Second {
					require.True(t, went, "a probe was due")
					last[of] = now
				} else if went {
					last[of] = now
				}
			} else {
				c.EndedAt(now, of, window.Outcome(s%5))
			}
			for of := tag.Sheddable; of <= tag.CriticalPlus; of++ {
				p := rejection(c, now, of)
				require.True(t, p >= 0 && p < 1, "%v", p)
				requests, accepts, _ := c.CountsAt(now, of)
				require.True(t, 0 <= accepts && accepts <= requests, "%d of %d", accepts, requests)
			}
		}
	})
}
