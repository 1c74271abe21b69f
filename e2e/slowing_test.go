package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// A service that slows down and never refuses: haproxy gives it 50 requests at a time, and the
// other requests wait. The client gives up after half a second, the round trip of 250 requests
// in flight.
func TestSlowingService(t *testing.T) {
	const workers = 50
	requests := amount(4000, 2000)
	ctx := begin(t)
	judge(t, cost{span: 1.15, attempts: 1, slower: 2}, onlyProbe, func(t *testing.T, w law) cost {
		b := startBackend(t, service)
		j := job{address: startHAProxy(t, haproxyConfig{Workers: workers}, b.address), requests: requests,
			settings: []aimd.Option{aimd.WithAttemptTimeout(5 * service)}}
		d := j.run(ctx, t, w)
		require.Equal(t, requests, b.paths())
		got := d.cost(requests, float64(workers)/service.Seconds())
		times := d.times()
		got.slower, got.peak = ratio(percentile(times, 0.5), service), float64(d.most)
		figures.log(t, "%v, %v, %d timeouts, 99%% of the answers within %v",
			got, d.took.Round(10*time.Millisecond), d.Timeouts, percentile(times, 0.99).Round(time.Millisecond))
		return got
	})
}
