package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/limiter"
)

const (
	slots = 32
	// mostAttempts is the most attempts for one object that the limiter may need
	// at a cap of 32. Refusals per success come to 1/((1-0.9)*32*32), 1%.
	mostAttempts = 1.03
	// mostOptimum is generous, since other work may run on the machine. The aim is 1.10, and the
	// figure is logged.
	mostOptimum = 2.0
)

var (
	underCap = cost{span: mostOptimum, attempts: mostAttempts}
	objects  = amount(2000, 500)
	// compared are the laws of all caps but the first.
	compared = amount(laws, onlyProbe)
)

// capped is an upload of objects of 64 KiB from 256 goroutines under a cap of 32.
type capped struct {
	load    load
	limiter *limiter.Limiter
	gateway *gateway
	store   *s3.Client
	took    time.Duration
}

func newCapped(ctx context.Context, t *testing.T, w law, gatewaySlots int) *capped {
	t.Helper()
	c := &capped{limiter: w.limiter(t), gateway: startGateway(t, gatewaySlots)}
	c.store = steward(ctx, t, c.gateway.address)
	c.load.goroutines, c.load.objects = goroutines, objects
	return c
}

// run uploads, and requires that each object is stored and no slot is taken at the end.
func (c *capped) run(ctx context.Context, t *testing.T) {
	t.Helper()
	c.took = c.load.run(ctx)
	c.load.requireAll(t, stored(ctx, t, c.gateway, c.store))
	requireIdle(t, c.limiter)
	require.EqualValues(t, c.load.objects, c.limiter.Snapshot().Successes)
}

// cost logs what the upload cost, and returns it.
func (c *capped) cost(t *testing.T, n counts, optimum time.Duration) cost {
	t.Helper()
	s := c.limiter.Snapshot()
	got := cost{span: ratio(c.took, optimum), attempts: float64(s.Attempts()) / float64(c.load.objects)}
	figures.log(t, "%.3f x optimum (%v, mean service %v), %.4f attempts per object, %d refused in %d bursts, cwnd %.1f, most in flight %d",
		got.span, c.took.Round(10*time.Millisecond), n.mean().Round(100*time.Microsecond), got.attempts, s.Overloads, s.Cuts, s.Cwnd, n.Most)
	return got
}

func ratio(took, optimum time.Duration) float64 { return took.Seconds() / optimum.Seconds() }

// Caps on requests at a time: versitygw's own, with real SlowDown, signatures and checksums,
// under the AWS SDK and under minio-go, which retries by itself; and nginx's limit_conn. The
// last is nginx's limit_req, about the rate of 32 at a time, with Retry-After: 1.
func TestCaps(t *testing.T) {
	const rate = 300
	for _, k := range []struct {
		name   string
		most   cost
		laws   []law
		sdk    sdk
		slots  int
		nginx  proxyConfig
		status string
	}{
		{"versitygw", underCap, laws, throughAWS, slots, proxyConfig{}, ""},
		{"versitygw minio", underCap, compared, throughMinio, slots, proxyConfig{}, ""},
		{"nginx", underCap, compared, throughAWS, noCap, proxyConfig{Cap: slots}, "503"},
		// Requests that are refused near the end make the job a second longer.
		{"nginx rate", cost{span: mostOptimum, attempts: 1.10}, compared, throughAWS, noCap, proxyConfig{Rate: rate, Burst: 20, RetryAfter: 1}, "429"},
	} {
		t.Run(k.name, func(t *testing.T) {
			judge(t, k.most, k.laws, func(t *testing.T, w law) cost {
				ctx := begin(t)
				c := newCapped(ctx, t, w, k.slots)
				address := c.gateway.address
				var p *proxy
				if k.status != "" {
					p = startNginx(t, address, k.nginx)
					address = p.address
				}
				c.load.put = k.sdk(t, address, c.limiter)
				c.run(ctx, t)
				if p != nil {
					p.requireStatuses(t, map[string]int{"200": objects, k.status: int(c.limiter.Snapshot().Overloads)})
				}
				n := c.gateway.counts(t)
				if k.nginx.Rate > 0 {
					return c.cost(t, n, time.Second*time.Duration(objects)/rate)
				}
				require.LessOrEqual(t, n.Most, slots, "the witness behind the cap")
				return c.cost(t, n, n.optimum(objects, slots))
			})
		})
	}
}
