package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Limits of requests a second, in front of a service that answers in 20 ms. haproxy has a
// sliding window in which refused requests count too; nginx has a bucket that drains. All run
// at once, since they mostly wait.
func TestRateLimits(t *testing.T) {
	beside(t)
	for _, c := range []struct {
		name           string
		rate, requests int
		most           cost
		start          func(t *testing.T, upstream string) (address string)
	}{
		// Wanted: 1.15 @ 1.10, 1.35 @ 1.25, 1.25 @ 1.10, 1.00 @ 1.06 and 1.22 @ 1.14. The law holds too large a
		// window for a while, and haproxy counts what it refuses.
		{"haproxy 100", 100, 1000, cost{span: 1.35, attempts: 1.35}, haproxyRate(100)},
		{"haproxy 20", 20, 200, cost{span: 1.60, attempts: 1.50}, haproxyRate(20)},
		{"haproxy 300", 300, 1000, cost{span: 1.50, attempts: 1.35}, haproxyRate(300)},
		{"nginx 100 burst 20", 100, 1000, cost{span: 1.10, attempts: 1.40}, nginxRate(100, 20)},
		{"nginx 100", 100, 1000, cost{span: 2.40, attempts: 1.30}, nginxRate(100, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			requests := amount(c.requests, max(200, 2*c.requests/5))
			judge(t, c.most, onlyProbe, func(t *testing.T, w law) cost {
				b := startBackend(t, 20*time.Millisecond)
				j := job{address: c.start(t, b.address), requests: requests}
				d := j.run(begin(t), t, w)
				require.Equal(t, requests, b.paths())
				got := d.cost(requests, float64(c.rate))
				figures.log(t, "%v, %v, %d refused in %d bursts", got, d.took.Round(10*time.Millisecond), d.Overloads, d.Cuts)
				return got
			})
		})
	}
}

func haproxyRate(rate int) func(*testing.T, string) string {
	return func(t *testing.T, upstream string) string {
		return startHAProxy(t, haproxyConfig{Rate: rate}, upstream)
	}
}

func nginxRate(rate, burst int) func(*testing.T, string) string {
	return func(t *testing.T, upstream string) string {
		return startNginx(t, upstream, proxyConfig{Rate: rate, Burst: burst}).address
	}
}
