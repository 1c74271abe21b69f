package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// attained is the rate of the last second, in uploads per second.
func (u *load) attained() float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	return u.rate(now.Add(-time.Second), now)
}

// enough is how many objects are uploaded before the store changes: at full speed for a second
// or more. all leaves enough objects for the time after the change.
var enough, all = amount(500, 350), amount(2500, 1400)

// The store's cap is lowered and raised again, its process is stopped and continued, or it is
// killed and started again with the same objects: no upload is lost, and the rate is back soon.
func TestStoreChanges(t *testing.T) {
	const narrow = 8
	pause := amount(10*time.Second, 3*time.Second)
	for _, k := range []struct {
		name string
		// slots is the store's own cap. With noCap it is behind nginx, whose cap can change.
		slots int
		// silence is the time without an answer that counts as a timeout; 0: none does.
		silence time.Duration
		change  func(t *testing.T, c *capped, p *proxy) (back time.Time, what string)
	}{
		{"cap", noCap, 0, func(t *testing.T, c *capped, p *proxy) (time.Time, string) {
			p.setCap(t, narrow)
			// Requests in flight are served: then the witness sees the new cap.
			c.load.reached(t, c.load.count()+2*slots)
			c.gateway.counts(t)
			c.load.reached(t, c.load.count()+amount(150, 80))
			require.LessOrEqual(t, c.gateway.counts(t).Most, narrow, "the witness behind the narrow cap")
			p.setCap(t, slots)
			return time.Now(), fmt.Sprintf("the cap was %d for a while", narrow)
		}},
		{"stop", slots, time.Second, func(t *testing.T, c *capped, _ *proxy) (time.Time, string) {
			c.gateway.signal(t, syscall.SIGSTOP)
			time.Sleep(pause)
			c.gateway.signal(t, syscall.SIGCONT)
			return time.Now(), "stopped for " + pause.String()
		}},
		{"kill", slots, 0, func(t *testing.T, c *capped, _ *proxy) (time.Time, string) {
			c.gateway.process.kill()
			time.Sleep(time.Second)
			c.gateway.start(t)
			return time.Now(), "killed and started again"
		}},
	} {
		t.Run(k.name, func(t *testing.T) {
			attempt(t, func(t *testing.T) bool {
				ctx := begin(t)
				c := newCapped(ctx, t, probe, k.slots)
				address := c.gateway.address
				var p *proxy
				if k.slots == noCap {
					p = startNginx(t, address, proxyConfig{Cap: slots})
					address = p.address
				}
				c.load.objects = all
				c.load.put = put(limited(address, newTransport(t, k.silence), c.limiter))
				wait := c.load.start(ctx)
				c.load.reached(t, enough)
				rate := c.load.attained()
				back, what := k.change(t, c, p)
				wait()
				if p != nil {
					p.requireStatuses(t, map[string]int{"200": all, "503": int(c.limiter.Snapshot().Overloads)})
				}
				return c.regained(ctx, t, back, rate, 5*time.Second, what)
			})
		})
	}
}

// regained requires that each object is stored, and reports whether the client was back at 90%
// of its rate soon enough after the change.
func (c *capped) regained(ctx context.Context, t *testing.T, back time.Time, rate float64, most time.Duration, happened string) bool {
	t.Helper()
	c.load.requireAll(t, stored(ctx, t, c.gateway, c.store))
	requireIdle(t, c.limiter)
	s := c.limiter.Snapshot()
	after, ok := c.load.regained(back, 0.9*rate)
	figures.log(t, "%s: 90%% of %.0f/s after %v, %.4f attempts per object, %d refused, %d timeouts, %d other, %d cuts, %d pauses",
		happened, rate, after.Round(10*time.Millisecond), float64(s.Attempts())/float64(c.load.objects), s.Overloads, s.Timeouts, s.Neutrals, s.Cuts, s.Pauses)
	return ok && after <= most
}
