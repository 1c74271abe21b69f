package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/sim"
)

// published is the system of Improve on exponential backoff: "The connection/request time is 100ms; succesful
// responses are served in 500ms, and error responses in 50ms." The operations are "initially generated at a
// 1000/s rate", and the server "only allows up to max_busy = 50 requests at a time". The connection passes
// before the request holds a slot; a refusal keeps the server busy while it lasts.
func published(operations int) sim.Scenario {
	return sim.Scenario{
		Name: "published",
		Server: sim.Server{
			Connect: 100 * time.Millisecond, Service: 500 * time.Millisecond, Slots: 50,
			Refusal: sim.Refusal{Time: 50 * time.Millisecond, Busy: true},
		},
		Clients: sim.Clients{Operations: operations, Rate: 1000},
	}
}

// The published figures of "Improve on exponential backoff", and ours; docs/design.md has
// both. The text's second simulation has "at most 100 concurrent requests", and an "optimal
// 20s" that takes 50 of them, as in its first; so there are 50 slots. The windowed runs hold no
// randomness, so they are exact. "All requests complete within 25s, which is
// close to the optimal 20s ... The client performs 2085 request attempts overall".
func TestPublishedFigures(t *testing.T) {
	for _, c := range []struct {
		strategy   string
		operations int
		makespan   float64 // seconds; 0: not asked for
		attempts   int
	}{
		{"reno-0.9", 2000, 25.2, 2085},
		{"reno-0.5", 2000, 30.6, 2032},
		{"tahoe-0.9", 2000, 25.2, 2079},
		{"tahoe-0.5", 2000, 31.2, 2032},
		{"reno-0.9", 100, 0, 100},
		{"reno-0.9", 5000, 0, 5098},
	} {
		t.Run(c.strategy, func(t *testing.T) {
			for _, seed := range []uint64{0, 20} {
				r, err := sim.Run(published(c.operations), named(t, c.strategy), seed)
				require.NoError(t, err)
				assert.Equal(t, "done", r.Ended)
				assert.Equal(t, c.operations, r.Done)
				assert.Equal(t, c.attempts, r.Attempts)
				if c.makespan > 0 {
					assert.InDelta(t, c.makespan, r.Makespan.Seconds(), 0.05)
				}
			}
		})
	}
}

// A refused operation has its turn again at once: the p99 from the first send to success stays
// near the service time, 0.6 s.
func TestOperationsDoNotStarve(t *testing.T) {
	r := run(t, published(2000), named(t, "reno-0.9"))
	assert.LessOrEqual(t, r.SinceSend.P99, 1250*ms)
}
