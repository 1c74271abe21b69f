package harm

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/sim"
)

// The share that was refused at or below the window in a minute of shadow, and what is refused in the minute after it,
// at the services of the first set of TestHarm, whose workers go on for ever. It is the most that will be refused.
// Where a rate or a block limits, it is too much, for the attempts above the window took what the others then have.
// make proof has two more services.
func TestWhatShadowForetells(t *testing.T) {
	last, want := 13, 6
	if *set == 0 {
		last, want = 15, 8
	}
	right := 0
	for number := 1; number <= last; number++ {
		s, _, service := draw(1, number)
		s.Clients.Operations, s.Horizon, s.WatchFrom, s.WatchFor = 0, 2*time.Minute, time.Minute, time.Minute
		st := named(t, "probe")
		st.Shared, st.Window.Shadow = true, time.Minute
		r, err := sim.Run(s, st, uint64(number))
		require.NoError(t, err)
		h := r.Shadow
		foretold := float64(h.Refused-h.Above) / float64(max(1, h.Sent-h.Held))
		sent, refused := value(t, r, "watch_sent").Value, value(t, r, "watch_errors").Value
		then := refused / max(1, sent)
		off := math.Abs(foretold - then)
		ok := off <= .02 || refused >= 100 && off <= .2*then
		if ok {
			right++
		}
		assert.Greater(t, foretold, then-.05, service)
		t.Logf("%v %2d: in shadow %.3f of %d, below the window %.3f of %d; then %.3f of %.0f: %s", ok, number,
			float64(h.Refused)/float64(h.Sent), h.Sent, foretold, h.Sent-h.Held, then, sent, service)
	}
	assert.GreaterOrEqual(t, right, want)
}
