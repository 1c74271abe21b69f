package viewer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

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
