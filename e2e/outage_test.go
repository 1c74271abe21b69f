package e2e

import (
	"context"
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

// The cap goes from 32 to 8 and back while 2000 objects are uploaded.
func TestCapChanges(t *testing.T) {
	const narrow = 8
	nginxBinary(t)
	ctx := begin(t)
	c := newCapped(ctx, t, probe, noCap)
	p := startNginx(t, c.gateway.address, proxyConfig{Cap: slots})
	c.load.put = put(limited(p.address, newTransport(t, 0), c.limiter))
	c.load.began = time.Now()
	wait := c.load.start(ctx)

	c.load.reached(t, 500)
	rate := c.load.attained()
	p.setCap(t, narrow)
	lowered := time.Now()
	// What was in flight is served: then the witness sees the new cap.
	c.load.reached(t, c.load.count()+2*slots)
	c.gateway.counts(t)
	c.load.reached(t, c.load.count()+150)
	require.LessOrEqual(t, c.gateway.counts(t).Most, narrow, "the witness behind the narrow cap")
	raised := time.Now()
	p.setCap(t, slots)
	wait()

	c.took = time.Since(c.load.began)
	c.load.requireAll(t, stored(ctx, t, c.gateway, c.store))
	requireIdle(t, c.limiter)
	s := c.limiter.Snapshot()
	p.requireStatuses(t, map[string]int{"200": objects, "503": int(s.Overloads)})
	after, ok := c.load.regained(raised, 0.9*rate)
	require.True(t, ok, "the rate is regained")
	figures.log(t, "%.0f/s, then %.0f/s while the cap was %d, 90%% of the rate %v after it was %d again, %.4f attempts per object, %d refused in %d bursts",
		rate, c.load.rate(lowered, raised), narrow, after.Round(10*time.Millisecond), slots, float64(s.Attempts())/objects, s.Overloads, s.Cuts)
}

// The gateway stops for a while, without a word, and goes on.
func TestStopAndContinue(t *testing.T) {
	pause := 3 * time.Second
	if long() {
		pause = 10 * time.Second
	}
	ctx := begin(t)
	c := newCapped(ctx, t, probe, slots)
	c.load.objects = 2500
	// Silence for a second counts as a timeout.
	c.load.put = put(limited(c.gateway.address, newTransport(t, time.Second), c.limiter))
	wait := c.load.start(ctx)

	c.load.reached(t, 500)
	rate := c.load.attained()
	c.gateway.signal(t, syscall.SIGSTOP)
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
	c.gateway.signal(t, syscall.SIGCONT)
	continued := time.Now()
	wait()

	after := requireRegained(ctx, t, c, continued, rate, "stopped for "+pause.String())
	require.Less(t, after, 5*time.Second, "regained after")
}

// The gateway is killed, and started again with the same objects.
func TestKillAndRestart(t *testing.T) {
	ctx := begin(t)
	c := newCapped(ctx, t, probe, slots)
	c.load.objects = 2500
	c.load.put = put(limited(c.gateway.address, newTransport(t, 0), c.limiter))
	wait := c.load.start(ctx)

	c.load.reached(t, 500)
	rate := c.load.attained()
	c.gateway.process.kill()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	c.gateway.start(t)
	restarted := time.Now()
	wait()

	requireRegained(ctx, t, c, restarted, rate, "killed and started again")
}

// requireRegained checks that nothing was lost in an outage, and returns how soon
// after it the client was back at 90% of its rate.
func requireRegained(ctx context.Context, t *testing.T, c *capped, back time.Time, rate float64, outage string) time.Duration {
	t.Helper()
	c.load.requireAll(t, stored(ctx, t, c.gateway, c.store))
	requireIdle(t, c.limiter)
	s := c.limiter.Snapshot()
	after, ok := c.load.regained(back, 0.9*rate)
	figures.log(t, "%s: 90%% of %.0f/s after %v, %.4f attempts per object, %d refused, %d timeouts, %d other, %d cuts, %d holds",
		outage, rate, after.Round(10*time.Millisecond), float64(s.Attempts())/float64(c.load.objects), s.Overloads, s.Timeouts, s.Neutrals, s.Cuts, s.Holds)
	require.True(t, ok, "the rate is regained")
	return after
}
