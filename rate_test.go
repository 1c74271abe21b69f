package aimd_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

// sends runs that many callers of a service that answers in 100 ms, until that time, and returns the times at
// which they sent.
func sends(l *aimd.Limiter, callers int, until time.Duration) (at []time.Duration) {
	start, mu := time.Now(), sync.Mutex{}
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for time.Since(start) < until {
				p, err := l.Acquire(context.Background())
				if err != nil {
					return
				}
				mu.Lock()
				if now := time.Since(start); now < until {
					at = append(at, now)
				}
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				p.Done(window.Success)
			}
		})
	}
	all.Wait()
	slices.Sort(at)
	return at
}

// "the greatest number of attempts of all operations in a second": no second has more, whatever the law.
func TestMaxRate(t *testing.T) {
	for name, law := range map[string]window.NewLaw{"probe": aimd.Probe(), "reno": aimd.Reno(0.5), "tahoe": aimd.Tahoe(0.5, 20)} {
		for _, rate := range []int{3, 70, 2000} {
			t.Run(fmt.Sprint(name, " at ", rate), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l, err := aimd.New(aimd.Config{Law: law, MaxRate: float64(rate)})
					require.NoError(t, err)
					require.InDelta(t, time.Second/time.Duration(rate), l.Snapshot().Gap, 1)
					at := sends(l, rate/2+5, 10*time.Second)
					for i := range at[rate:] {
						require.GreaterOrEqual(t, at[i+rate]-at[i], time.Second, "send %d and the %dth after it", i, rate)
					}
					least := 9 // of 10 s
					if name != "probe" && rate > 1000 {
						least = 5 // while sends wait for the gap, the window of the text grows by one a round trip
					}
					require.Greater(t, len(at), rate*least, "it is used")
				})
			})
		}
	}
}

func TestMaxRateMayChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 20, func(c *aimd.Config) { c.MaxRate = 100 })
		for _, rate := range []float64{100, 20, 200} {
			require.NoError(t, l.Reconfigure(exactly(aimd.Config{MaxRate: rate})))
			require.InDelta(t, 10*rate, len(sends(l, 50, 10*time.Second)), 10, "%v a second", rate)
		}
		require.NoError(t, l.Reconfigure(exactly(aimd.Config{})))
		require.Zero(t, l.Snapshot().Gap)
		require.Greater(t, len(sends(l, 50, 10*time.Second)), 4000)
	})
}
