package e2e

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// costAt does a job at a backend, and logs what it cost. optimum is the shortest time for the
// job, alone the round trip of a single request.
func (j job) costAt(ctx context.Context, t *testing.T, b *backend, optimum, alone time.Duration) cost {
	t.Helper()
	d := j.run(ctx, t)
	require.Len(t, b.done, j.requests)
	_, times := d.accepted()
	got := cost{
		span: ratio(d.took, optimum), attempts: float64(len(d.sends)) / float64(j.requests),
		slower: ratio(percentile(times, 0.5), alone),
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
	judge(t, cost{span: 1.15, attempts: 1, slower: 2}, func(t *testing.T) cost {
		b := (&backend{delay: service}).serve(t)
		j := job{
			address: haproxy{Workers: workers}.front(t, b.address), requests: requests,
			settings: aimd.Config{Rules: aimd.Rules{AttemptTimeout: 5 * service}},
		}
		return j.costAt(ctx, t, b, service*time.Duration(requests)/workers, service)
	})
}

const (
	// mostRegaining is the time that it may take until 80% of the rate are back, also after an outage
	// of a minute: the longest gap between two tries does not depend on the outage.
	mostRegaining = 4500 * time.Millisecond
	// mostSent is the number of requests that may be sent in an outage: 160 in a minute, and most of them at
	// its start.
	mostSent = 120
)

// before and after are how long requests go before and after an outage.
var before, after = amount(4*time.Second, 3*time.Second), amount(8*time.Second, 6*time.Second)

// The server behind haproxy is gone for some seconds, and haproxy answers 503 at once.
func TestBackendOutage(t *testing.T) {
	beside(t)
	outage := amount(10*time.Second, 5*time.Second)
	attempt(t, func(t *testing.T) bool {
		b := (&backend{delay: service}).serve(t)
		j := job{address: haproxy{Workers: 50}.front(t, b.address), requests: math.MaxInt, until: time.Now().Add(before + outage + after)}
		failed := make(chan error, 1)
		go func() {
			time.Sleep(before)
			b.close()
			time.Sleep(outage)
			failed <- b.open()
		}()
		d := j.run(begin(t), t)
		require.NoError(t, <-failed)
		gone, back := d.began.Add(before), d.began.Add(before+outage)
		accepted, _ := d.accepted()
		rate := accepted.between(gone.Add(-2*time.Second), gone) / 2
		sent := d.sent().between(gone, back)
		regained, ok := accepted.regained(back, 0.8*float64(rate))
		figures.log(t, "gone for %v: %d sent in it, 80%% of %d/s after %v; %v", outage, sent, rate, regained.Round(10*time.Millisecond), d.Snapshot)
		return rate > 0 && ok && sent <= amount(1, noise)*mostSent && regained <= mostRegaining
	})
}

// Limits of requests a second, in front of a service that answers in 20 ms. haproxy has a
// sliding window in which refused requests count too; nginx has a bucket that drains. All run
// at once, since they mostly wait.
func TestRateLimits(t *testing.T) {
	const delay = 20 * time.Millisecond
	beside(t)
	for _, c := range []struct {
		name           string
		rate, requests int
		most           cost
		front          front
	}{
		// Wanted: 1.15 @ 1.10 and 1.00 @ 1.06. The law holds too large a window for a while, and haproxy counts what
		// it refuses.
		{"haproxy 100", 100, 1000, cost{span: 1.50, attempts: 1.60}, haproxy{Rate: 100}},
		{"nginx 100 burst 20", 100, 1000, cost{span: 1.10, attempts: 1.40}, nginx{Rate: 100, Burst: 20}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			requests := amount(c.requests, max(200, 2*c.requests/5))
			judge(t, c.most, func(t *testing.T) cost {
				b := (&backend{delay: delay}).serve(t)
				j := job{address: c.front.front(t, b.address), requests: requests}
				return j.costAt(begin(t), t, b, time.Second*time.Duration(requests)/time.Duration(c.rate), delay)
			})
		})
	}
}

// A POST behind nginx's limit_req as it comes, which refuses with 503 and without a Retry-After: with
// ResendUnavailable none is lost and none is done twice; without it what is refused is the caller's.
func TestPostsBehindNginx(t *testing.T) {
	beside(t)
	const requests, rate = 200, 50
	for name, resend := range map[string]bool{"resent": true, "not resent": false} {
		t.Run(name, func(t *testing.T) {
			ctx := begin(t)
			b := (&backend{delay: 20 * time.Millisecond}).serve(t)
			n := nginx{Rate: rate, Plain: true}.start(t, b.address)
			l := limiter(t, aimd.Config{})
			transport := httplimit.New(nil, l)
			transport.ResendUnavailable = resend
			client := transport.Client()
			t.Cleanup(client.CloseIdleConnections)
			lost := atomic.NewInt64(0)
			together(requests, requests, func(i int) {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprint("http://", n.Listen, "/", i), strings.NewReader("work"))
				assert.NoError(t, err)
				if err := exchange(client, req); err != nil {
					lost.Inc()
				}
			})
			s, done := l.Snapshot(), requests-int(lost.Load())
			figures.log(t, "%d of %d lost, %d refused", lost.Load(), requests, s.Overloads)
			require.Equal(t, done, b.requests)
			require.Len(t, b.done, done)
			n.requireStatuses(t, map[string]int{"200": done, "503": int(s.Overloads)})
			require.Positive(t, s.Overloads, "nginx refused nothing")
			require.Equal(t, resend, done == requests)
		})
	}
}
