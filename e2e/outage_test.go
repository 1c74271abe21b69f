package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// attained is the rate of the last second, in uploads per second: what the cap
// allows, and the machine.
func (u *load) attained() float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	return u.rate(now.Add(-time.Second), now)
}

// enough is how many objects are uploaded before something happens: at full speed for a
// second or more. All are as many as are left long enough after it.
var enough, all = amount(500, 350), amount(2500, 1400)

// The cap goes from 32 to 8 and back.
func TestCapChanges(t *testing.T) {
	const narrow = 8
	attempt(t, func(t *testing.T) bool {
		ctx := begin(t)
		c := newCapped(ctx, t, probe, noCap)
		c.load.objects = all
		p := startNginx(t, c.gateway.address, proxyConfig{Cap: slots})
		c.load.put = put(limited(p.address, newTransport(t, 0), c.limiter))
		wait := c.load.start(ctx)

		c.load.reached(t, enough)
		rate := c.load.attained()
		p.setCap(t, narrow)
		lowered := time.Now()
		// What was in flight is served: then the witness sees the new cap.
		c.load.reached(t, c.load.count()+2*slots)
		c.gateway.counts(t)
		c.load.reached(t, c.load.count()+amount(150, 80))
		require.LessOrEqual(t, c.gateway.counts(t).Most, narrow, "the witness behind the narrow cap")
		raised := time.Now()
		p.setCap(t, slots)
		wait()

		s := c.limiter.Snapshot()
		p.requireStatuses(t, map[string]int{"200": all, "503": int(s.Overloads)})
		return c.regained(ctx, t, raised, rate, 5*time.Second, fmt.Sprintf("%.0f/s while the cap was %d", c.load.rate(lowered, raised), narrow))
	})
}

// The gateway stops for a while, without a word, and goes on.
func TestStopAndContinue(t *testing.T) {
	pause := amount(10*time.Second, 3*time.Second)
	attempt(t, func(t *testing.T) bool {
		ctx := begin(t)
		c := newCapped(ctx, t, probe, slots)
		c.load.objects = all
		// Silence for a second counts as a timeout.
		c.load.put = put(limited(c.gateway.address, newTransport(t, time.Second), c.limiter))
		wait := c.load.start(ctx)

		c.load.reached(t, enough)
		rate := c.load.attained()
		c.gateway.signal(t, syscall.SIGSTOP)
		time.Sleep(pause)
		c.gateway.signal(t, syscall.SIGCONT)
		continued := time.Now()
		wait()
		return c.regained(ctx, t, continued, rate, 5*time.Second, "stopped for "+pause.String())
	})
}

// The gateway is killed, and started again with the same objects.
func TestKillAndRestart(t *testing.T) {
	attempt(t, func(t *testing.T) bool {
		ctx := begin(t)
		c := newCapped(ctx, t, probe, slots)
		c.load.objects = all
		c.load.put = put(limited(c.gateway.address, newTransport(t, 0), c.limiter))
		wait := c.load.start(ctx)

		c.load.reached(t, enough)
		rate := c.load.attained()
		c.gateway.process.kill()
		time.Sleep(time.Second)
		c.gateway.start(t)
		restarted := time.Now()
		wait()
		return c.regained(ctx, t, restarted, rate, 5*time.Second, "killed and started again")
	})
}

// regained requires that nothing was lost in what happened, and reports whether the client
// was back at 90% of its rate soon enough after it.
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
