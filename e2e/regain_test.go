package e2e

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// mostRegaining is how long it may take until 80% of the rate are back, also after an outage
	// of a minute: the longest gap between two tries does not depend on the outage.
	mostRegaining = 4500 * time.Millisecond
	// mostSent is how many requests may be sent in an outage: 160 in a minute, and most of them at
	// its start.
	mostSent = 120
)

// before and after are how long requests go before and after an outage.
var before, after = amount(4*time.Second, 3*time.Second), amount(8*time.Second, 6*time.Second)

// The server behind haproxy is gone for some seconds, and haproxy answers 503 at once.
func TestBackendOutage(t *testing.T) {
	beside(t)
	outage := amount(10*time.Second, 5*time.Second)
	for _, c := range []struct {
		name  string
		delay time.Duration
		front haproxy
	}{
		{"50 workers", service, haproxy{Workers: 50}},
		{"100 a second", 20 * time.Millisecond, haproxy{Rate: 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			attempt(t, func(t *testing.T) bool {
				b := (&backend{delay: c.delay}).serve(t)
				d := interrupted(begin(t), t, b, c.front, outage)
				gone, back := d.began.Add(before), d.began.Add(before+outage)
				accepted, _ := d.accepted()
				rate := accepted.between(gone.Add(-2*time.Second), gone) / 2
				sent := d.sent().between(gone, back)
				regained, ok := accepted.regained(back, 0.8*float64(rate))
				figures.log(t, "gone for %v: %d sent in it, 80%% of %d/s after %v; %v", outage, sent, rate, regained.Round(10*time.Millisecond), d.Snapshot)
				return rate > 0 && ok && sent <= amount(1, noise)*mostSent && regained <= mostRegaining
			})
		})
	}
}

// interrupted sends requests all the time, and lets the backend be gone for a while.
func interrupted(ctx context.Context, t *testing.T, b *backend, front haproxy, outage time.Duration) *done {
	t.Helper()
	j := job{address: front.front(t, b.address), requests: math.MaxInt, until: time.Now().Add(before + outage + after)}
	failed := make(chan error, 1)
	go func() {
		time.Sleep(before)
		b.close()
		time.Sleep(outage)
		failed <- b.open()
	}()
	d := j.run(ctx, t, probe)
	require.NoError(t, <-failed)
	return d
}
