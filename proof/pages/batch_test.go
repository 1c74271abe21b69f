package pages

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// docs/recipes.md, "A batch of which a part is refused": 2000 batches at 32 slots of .1 s that refuse what is above, and by
// chance an item of 2 or 10 in a hundred batches. What was done is kept, and the rest is sent in the same operation.
func TestABatchOfWhichAPartIsRefused(t *testing.T) {
	run := func(share float64, say func(error) error) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			lim, err := aimd.New(aimd.Config{})
			require.NoError(t, err)
			rnd := rand.New(rand.NewPCG(1, 2))
			var mu sync.Mutex
			busy := 0
			send := func(left int) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				if busy == 32 {
					return left, aimd.Refused(errors.New("busy"))
				}
				busy++
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				mu.Lock()
				if busy--; rnd.Float64() < share {
					return 1, say(errors.New("a part was refused"))
				}
				return 0, nil
			}
			began := time.Now()
			var all sync.WaitGroup
			for range 2000 {
				all.Go(func() {
					left := 20
					assert.NoError(t, lim.Do(t.Context(), func(context.Context) (err error) {
						left, err = send(left)
						return err
					}))
				})
			}
			all.Wait()
			took = time.Since(began)
			_ = lim.Close()
		})
		return took
	}
	alone := run(0, nil).Seconds()
	for share, most := range map[float64]float64{.02: 1.1, .1: 1.25} {
		assert.Less(t, run(share, aimd.Mostly).Seconds()/alone, most, share)
	}
}
