package e2e

import (
	"context"
	"math"
	"net/http"
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
		front haproxyConfig
	}{
		{"50 workers", service, haproxyConfig{Workers: 50}},
		{"100 a second", 20 * time.Millisecond, haproxyConfig{Rate: 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			attempt(t, func(t *testing.T) bool {
				b := startBackend(t, c.delay)
				d := interrupted(begin(t), t, b, c.front, outage)
				gone, back := d.began.Add(before), d.began.Add(before+outage)
				rate := d.successes(gone.Add(-2*time.Second), gone) / 2
				require.Positive(t, rate, "all is well before the outage")
				sent := len(d.between(gone, back))
				regained := d.regained(back, 0.8*float64(rate))
				figures.log(t, "gone for %v: %d sent in it, 80%% of %d/s after %v; %v", outage, sent, rate, regained.Round(10*time.Millisecond), d.Snapshot)
				return sent <= amount(1, noise)*mostSent && regained <= mostRegaining
			})
		})
	}
}

// interrupted sends requests all the time, and lets the backend be gone for a while.
func interrupted(ctx context.Context, t *testing.T, b *backend, front haproxyConfig, outage time.Duration) *done {
	t.Helper()
	address := startHAProxy(t, front, b.address)
	began := time.Now()
	j := job{address: address, requests: math.MaxInt, until: began.Add(before + outage + after)}
	failed := make(chan error, 1)
	go func() {
		time.Sleep(before)
		b.stop()
		time.Sleep(outage)
		failed <- b.start()
	}()
	d := j.run(ctx, t, probe)
	require.NoError(t, <-failed)
	d.began = began
	return d
}

// between are the attempts that were sent between two moments.
func (d *done) between(from, to time.Time) (all []send) {
	for _, s := range d.sends {
		if !s.at.Before(from) && s.at.Before(to) {
			all = append(all, s)
		}
	}
	return all
}

// successes is how many of these attempts were accepted.
func (d *done) successes(from, to time.Time) (n int) {
	for _, s := range d.between(from, to) {
		if s.status == http.StatusOK {
			n++
		}
	}
	return n
}

// regained is the time from the moment to the first second in which that many attempts
// succeed, in steps of 10 ms. If there is no such second it is all the time after the outage.
func (d *done) regained(from time.Time, rate float64) time.Duration {
	for past := time.Duration(0); past < after; past += 10 * time.Millisecond {
		if at := from.Add(past); float64(d.successes(at, at.Add(time.Second))) >= rate {
			return past
		}
	}
	return after
}
