package viewer

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
)

// A first look that kept an entry for each limiter compared each with all before it: ten
// thousand limiters took seconds under the lock of all pages. So the look may allocate for
// the limiters shown only. The names come in the worst order, each before all others.
func TestTheFirstLookCostsTheSameForAnyNumberOfLimiters(t *testing.T) {
	names, all := make([]string, 10_000), make([]*limiter.Limiter, 10_000)
	for i := range all {
		l, err := aimd.New()
		require.NoError(t, err)
		names[i], all[i] = fmt.Sprintf("customer-%05d", len(all)-i), l
	}
	allocations := func(n int) float64 {
		limiters := func() iter.Seq2[string, *limiter.Limiter] {
			return func(yield func(string, *limiter.Limiter) bool) {
				for i := range n {
					if !yield(names[i], all[i]) {
						return
					}
				}
			}
		}
		return testing.AllocsPerRun(3, func() {
			w := Handler(limiters, nil, nil).(*handler).watch
			w.look(time.Now())
			require.Len(t, w.all, shown)
			require.Equal(t, n-shown, w.more)
			require.Equal(t, names[n-1], w.all[0].name)
		})
	}
	few, many := allocations(500), allocations(10_000)
	require.InDelta(t, few, many, 10)
}
