package harm

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/sim"
)

// What a minute of shadow foretells of the minute after it, at services of the first sets of TestHarm, whose workers go on
// for ever: the share that is refused, of the attempts that were not refused above the window. What the service takes then
// goes to the attempts of the window, so all that it took counts. It is too little where the service refuses some of whatever
// comes, since those that go instead of a held one are refused as well. The share of the attempts that were not held is the
// most. make proof has 180 services. The first 15 were looked at when the rule was made, the others were not. Of 180 such the
// share refused in another run of that minute is as near at 152. Two other rules were worse: a law that does not hear the
// successes of held attempts, at 25 and 32 of 60 for 35 and 35; one that hears refusals only while nothing held flies, 26 and 33.
func TestWhatShadowForetells(t *testing.T) {
	last, wantRight, wantBetween := 13, 8, 10
	if *set == 0 {
		last, wantRight, wantBetween = 180, 96, 142
	}
	right, between, off, offToday := 0, 0, 0., 0.
	for n := range last {
		number := n%30 + 1
		s, _, service := draw(1+uint64(n/30), number)
		s.Clients.Operations, s.Horizon, s.WatchFrom, s.WatchFor = 0, 2*time.Minute, time.Minute, time.Minute
		st := named(t, "probe")
		st.Shared, st.Window.Shadow = true, time.Minute
		r, err := sim.Run(s, st, uint64(number))
		require.NoError(t, err)
		h := r.Shadow
		below := float64(h.Refused - h.Above)
		foretold, most := below/float64(max(1, h.Sent-h.Above)), below/float64(max(1, h.Sent-h.Held))
		sent, refused := value(t, r, "watch_sent").Value, value(t, r, "watch_errors").Value
		then := refused / max(1, sent)
		by, now := math.Abs(foretold-then), float64(h.Refused)/float64(h.Sent)
		off, offToday = off+by, offToday+math.Abs(now-then)
		ok := by <= .02 || refused >= 100 && by <= .2*then
		if ok {
			right++
		}
		if foretold-.05 <= then && then <= most+.05 {
			between++
		}
		t.Logf("%v %2d: in shadow %.3f of %d, foretold %.3f, at most %.3f; then %.3f of %.0f: %s", ok, number,
			now, h.Sent, foretold, most, then, sent, service)
	}
	t.Logf("%d right, %d between, of %d", right, between, last)
	t.Logf("off by %.3f in the mean, and the share in shadow by %.3f", off/float64(last), offToday/float64(last))
	assert.GreaterOrEqual(t, right, wantRight)
	assert.GreaterOrEqual(t, between, wantBetween)
}
