package aimdprom_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	aimdprom "github.com/aimd-go/aimd/contrib/prometheus"
	"github.com/aimd-go/aimd/window"
)

// waited is one operation that waited for 2 s.
const waited = `
# HELP aimd_queue_wait_seconds Time that operations waited for a slot, of those that had to.
# TYPE aimd_queue_wait_seconds histogram
aimd_queue_wait_seconds_bucket{limiter="a",le="0.005"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.01"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.025"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.05"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.1"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.25"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="0.5"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="1"} 0
aimd_queue_wait_seconds_bucket{limiter="a",le="2.5"} 1
aimd_queue_wait_seconds_bucket{limiter="a",le="5"} 1
aimd_queue_wait_seconds_bucket{limiter="a",le="10"} 1
aimd_queue_wait_seconds_bucket{limiter="a",le="+Inf"} 1
aimd_queue_wait_seconds_sum{limiter="a"} 2
aimd_queue_wait_seconds_count{limiter="a"} 1
`

func TestHistograms(t *testing.T) {
	h := aimdprom.NewHistograms()
	r := registry(t, h)
	synctest.Test(t, func(t *testing.T) {
		l := reno(t, aimd.WithName("a"), aimd.WithInitialWindow(1), aimd.WithObserver(h.Observe))
		p := acquire(t, l)
		go func() {
			p := acquire(t, l)
			time.Sleep(30 * time.Millisecond)
			_ = p.Done(window.ClientError)
		}()
		time.Sleep(2 * time.Second)
		require.NoError(t, p.Done(window.Success))
		require.Error(t, p.Done(window.Success), "counts once")
		synctest.Wait()
		time.Sleep(time.Second)
	})
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(waited), "aimd_queue_wait_seconds"))

	families, err := r.Gather()
	require.NoError(t, err)
	sums := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "aimd_attempt_duration_seconds" && m.GetHistogram().GetSampleCount() > 0 {
				require.EqualValues(t, 1, m.GetHistogram().GetSampleCount())
				sums[m.GetLabel()[1].GetValue()] = m.GetHistogram().GetSampleSum()
			}
		}
	}
	require.InDeltaMapValues(t, map[string]float64{"success": 2, "client_error": 0.03}, sums, 1e-9)
}
