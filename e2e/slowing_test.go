package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// costAt does a job at a backend under the law, and logs what it cost. optimum is the shortest time for the
// job, alone the round trip of a single request.
func (j job) costAt(ctx context.Context, t *testing.T, w law, b *backend, optimum, alone time.Duration) cost {
	t.Helper()
	d := j.run(ctx, t, w)
	require.Len(t, b.done, j.requests)
	_, times := d.accepted()
	got := cost{
		span: ratio(d.took, optimum), attempts: float64(len(d.sends)) / float64(j.requests),
		slower: ratio(percentile(times, 0.5), alone), peak: float64(d.most),
	}
	figures.log(t, "%v, %v, %d refused in %d bursts, %d timeouts, 99%% of the answers within %v",
		got, d.took.Round(10*time.Millisecond), d.Overloads, d.Cuts, d.Timeouts, percentile(times, 0.99).Round(time.Millisecond))
	return got
}

// A service that slows down and never refuses: haproxy gives it 50 requests at a time, and the
// other requests wait. The client gives up after half a second, the round trip of 250 requests
// in flight.
func TestSlowingService(t *testing.T) {
	const workers = 50
	requests := amount(4000, 2000)
	ctx := begin(t)
	judge(t, cost{span: 1.15, attempts: 1, slower: 2}, onlyProbe, func(t *testing.T, w law) cost {
		b := (&backend{delay: service}).serve(t)
		j := job{
			address: haproxy{Workers: workers}.front(t, b.address), requests: requests,
			settings: []aimd.Option{aimd.WithAttemptTimeout(5 * service)},
		}
		return j.costAt(ctx, t, w, b, service*time.Duration(requests)/workers, service)
	})
}

// Uploads over a link of 100 Mbit/s that a dozen uploads fill: a listener reads no faster. No upload is
// refused, and with more uploads at a time each takes longer.
func TestUplink(t *testing.T) {
	const (
		bytesPerSecond = 100e6 / 8
		// thinking is how long the store takes for an object when it has all of it.
		thinking = 60 * time.Millisecond
		// onTheLink is how long an object takes alone on the link, knee how many uploads at a time
		// fill the link: more uploads only wait for each other.
		onTheLink = time.Duration(objectSize * float64(time.Second) / bytesPerSecond)
		knee      = float64(thinking+onTheLink) / float64(onTheLink)
	)
	objects := amount(1000, 500)
	ctx := begin(t)
	judge(t, cost{span: 1.05, attempts: 1, slower: 8, peak: 8 * knee}, onlyProbe, func(t *testing.T, w law) cost {
		b := (&backend{delay: thinking, uplink: &link{rate: bytesPerSecond}}).serve(t)
		j := job{address: b.address, requests: objects, body: body(0, objectSize)}
		return j.costAt(ctx, t, w, b, time.Duration(objects)*onTheLink+thinking, thinking+onTheLink)
	})
}
