package viewer

import (
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
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

// A client without a limiter is shown without a window, and stays when it has ended.
func TestAClientWithoutALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New(aimd.WithName("photos"))
		require.NoError(t, err)
		flow := Flow{InFlight: 7, Accepted: 3, Refused: 2}
		clients := []*Client{{"plain", func() Flow { return flow }}}
		w, p := Handler(of(l), func() []*Client { return clients }, nil).(*handler).watch, page{every: usual, seen: map[int]known{}}
		first := w.news(&p).Limiters
		require.Equal(t, "photos", *first[0].Name)
		require.Equal(t, "plain", *first[1].Name)
		require.Equal(t, []float64{0, 0, 7, 0, 3, 2, 0, 0}, first[1].Samples[0][1:])
		require.Equal(t, "no limiter", first[1].Advice.State)

		flow.Refused = 12
		time.Sleep(time.Second)
		next := w.news(&p).Limiters[1]
		require.Nil(t, next.Name, "it is known")
		require.Equal(t, "No limiter bounds it: 7 in flight, 10 of the last 10 answers refused.", next.Advice.Text)

		flow = Flow{Accepted: 9, Refused: 12, Ended: true}
		time.Sleep(time.Second)
		over := w.news(&p).Limiters[1]
		require.Equal(t, "closed", over.Advice.State)
		require.Equal(t, first[1].ID, over.ID)

		time.Sleep(time.Hour)
		still := w.news(&p).Limiters[1].Samples
		require.Equal(t, over.Samples, still[len(still)-1:], "nothing is looked at any more")
	})
}

// BenchmarkTick is the cost of one event of a page, without the writing.
func BenchmarkTick(b *testing.B) {
	l, err := aimd.NewReno()
	if err != nil {
		b.Fatal(err)
	}
	w, p := Handler(of(l), nil, nil).(*handler).watch, page{every: usual, seen: map[int]known{}}
	b.ReportAllocs()
	for b.Loop() {
		w.polled = time.Time{}
		if _, err := json.Marshal(w.news(&p)); err != nil {
			b.Fatal(err)
		}
	}
}
