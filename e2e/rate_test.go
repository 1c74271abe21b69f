package e2e

import (
	"testing"
	"time"
)

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
		// Wanted: 1.15 @ 1.10, 1.35 @ 1.25, 1.25 @ 1.10, 1.00 @ 1.06 and 1.22 @ 1.14. The law holds too large a
		// window for a while, and haproxy counts what it refuses.
		{"haproxy 100", 100, 1000, cost{span: 1.35, attempts: 1.35}, haproxy{Rate: 100}},
		{"haproxy 20", 20, 200, cost{span: 1.60, attempts: 1.50}, haproxy{Rate: 20}},
		{"haproxy 300", 300, 1000, cost{span: 1.50, attempts: 1.35}, haproxy{Rate: 300}},
		{"nginx 100 burst 20", 100, 1000, cost{span: 1.10, attempts: 1.40}, nginx{Rate: 100, Burst: 20}},
		{"nginx 100", 100, 1000, cost{span: 2.40, attempts: 1.30}, nginx{Rate: 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			requests := amount(c.requests, max(200, 2*c.requests/5))
			judge(t, c.most, onlyProbe, func(t *testing.T, w law) cost {
				b := (&backend{delay: delay}).serve(t)
				j := job{address: c.front.front(t, b.address), requests: requests}
				return j.costAt(begin(t), t, w, b, time.Second*time.Duration(requests)/time.Duration(c.rate), delay)
			})
		})
	}
}
