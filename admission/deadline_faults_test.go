package admission

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// With short deadlines and more requests than the server can serve, each was served when it had waited for the
// QueueTime, and left before its answer: of those that could be done at a deadline of three answers 64 of 100 were, and
// at two none.
func TestRequestsWithDeadlinesAreAnsweredInTime(t *testing.T) {
	const places, answer = 32, 100 * time.Millisecond
	for _, load := range []float64{.9, 1.5, 3} {
		for _, heeds := range []bool{false, true} {
			for trips, want := range map[float64]float64{1.5: .87, 2: .94, 3: .96, 5: .96, 10: .96} {
				synctest.Test(t, func(t *testing.T) {
					c, err := New(Fixed(places), Config{})
					require.NoError(t, err)
					var came, done atomic.Int64
					var all sync.WaitGroup
					deadline := time.Duration(trips * float64(answer))
					for began := time.Now(); time.Since(began) < 20*time.Second; {
						time.Sleep(time.Duration(rand.ExpFloat64() / (load * places) * float64(answer)))
						late := time.Since(began) > 4*time.Second
						all.Go(func() {
							ctx, cancel := context.WithTimeout(t.Context(), deadline)
							defer cancel()
							work := time.Duration((0.5 + rand.Float64()) * float64(answer))
							if late {
								came.Inc()
							}
							p, err := c.Admit(ctx, tag.Tags{})
							if err != nil {
								return
							}
							left := time.After(work)
							if heeds {
								select {
								case <-left:
								case <-ctx.Done():
									p.Done(window.Neutral)
									return
								}
							} else {
								<-left
							}
							p.Done(window.Success)
							if late && ctx.Err() == nil {
								done.Inc()
							}
						})
					}
					all.Wait()
					share := float64(done.Load()) / float64(came.Load()) * max(1, load)
					t.Logf("load %v, heeds %v, deadline %v answers: %.2f", load, heeds, trips, share)
					assert.GreaterOrEqual(t, share, want, "load %v, heeds %v, deadline %v answers", load, heeds, trips)
				})
			}
		}
	}
}

// An outcome that does not exist kept the place of its place for ever.
func TestAPlaceIsGivenBackIfItsOutcomeDoesNotExist(t *testing.T) {
	c := controller(t, Fixed(1), Config{})
	p, err := c.Admit(t.Context(), tag.Tags{})
	require.NoError(t, err)
	require.Equal(t, 1, c.Snapshot().InFlight)
	require.Panics(t, func() { p.Done(99) })
	require.Zero(t, c.Snapshot().InFlight)
	require.EqualValues(t, 1, c.outcomes[window.Neutral])
}
