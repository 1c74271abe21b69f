package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/sim"
)

const period = 300 * sec // "Once every 5 minutes"

// seed3 are 10 000 clients of Safe Client Behaviour, which ask a service that answers at once
// every five minutes, for an hour.
func seed3(form, start string) sim.Scenario {
	return sim.Scenario{
		Name:    "seed3",
		Clients: sim.Clients{Count: 10_000, Period: period, Form: form, Start: start},
		Horizon: time.Hour,
		Trace:   sim.Trace{Interval: sec},
	}
}

// peak is the most requests in a second from one time to another; 33.3 are the mean.
func peak(r sim.Result, from, to time.Duration) float64 {
	most := 0.0
	for _, v := range r.Traces.Of("requests")[from/sec : to/sec] {
		most = max(most, v)
	}
	return most
}

// The talk's figures of clients that start together, one after the other.
func TestSeed3Jitter(t *testing.T) {
	rate := func(r sim.Result, from, to time.Duration) float64 { return mean(r, "requests", from, to) }
	const end = time.Hour
	t.Run("Worst case: Synchronized startup, no jitter", func(t *testing.T) {
		r := run(t, seed3("fixed", "together"), sim.Strategy{})
		for at := time.Duration(0); at < end; at += period {
			assert.InDelta(t, 10_000, peak(r, at, at+period), 0)
			assert.Zero(t, peak(r, at+sec, at+period))
		}
	})
	t.Run("Synchronized startup, jitter on future attempts", func(t *testing.T) {
		r := run(t, seed3("jittered-period", "together"), sim.Strategy{})
		assert.InDelta(t, 10_000, peak(r, 0, sec), 0)
		assert.Zero(t, peak(r, sec, period/2))
		assert.Less(t, peak(r, sec, end), 100.0)
	})
	t.Run("Startup jittered, future attempts jittered: startup oscillations", func(t *testing.T) {
		r := run(t, seed3("jittered-period", "jittered"), sim.Strategy{})
		// Nobody before half a period; then the second requests come on top of the
		// first ones, up to one and a half of the mean at 450 s; then they are past.
		assert.Zero(t, peak(r, 0, period/2))
		assert.InDelta(t, 33.3, rate(r, 150*sec, 300*sec), 2)
		assert.InDelta(t, 50, rate(r, 440*sec, 450*sec), 5)
		assert.InDelta(t, 17.5, rate(r, 450*sec, 470*sec), 3)
		assert.InDelta(t, 33.3, rate(r, 50*time.Minute, end), 1, "it dies away")
	})
	t.Run("Jittering without startup oscillations: Jitter execution time, not period", func(t *testing.T) {
		r := run(t, seed3("jittered-time", ""), sim.Strategy{})
		assert.Zero(t, peak(r, 0, period))
		for at := period; at < end; at += period / 5 {
			assert.InDelta(t, 33.3, rate(r, at, at+period/5), 3, "%v", at)
		}
		assert.Less(t, peak(r, 0, end), 1.8*33.3)
	})
	t.Run("Introducing synchronization by mistake", func(t *testing.T) {
		r := run(t, seed3("jittered-time-slip", ""), sim.Strategy{})
		for at := period; at < end; at += period {
			assert.InDelta(t, 10_000, peak(r, at, at+sec), 0)
			assert.Zero(t, peak(r, at+sec, at+period))
		}
	})
}

// The talk's figures of retries: a service that is down for six minutes, for clients
// that ask it at times of their own before.
func TestSeed3Retries(t *testing.T) {
	const down, up, later = 10 * time.Minute, 16 * time.Minute, 30 * time.Minute
	play := func(form string, retry sim.Retry) (during, after float64) {
		s := seed3(form, "scattered")
		s.Server.Outages = []sim.Outage{{From: down, For: up - down}}
		r := run(t, s, sim.Strategy{Retry: retry})
		return peak(r, down, up), peak(r, later, time.Hour)
	}
	fixed := sim.Retry{Kind: "constant", Min: 10 * sec}
	jittered := fixed
	jittered.Jitter = backoff.Proportional(0.5)
	grown := sim.Retry{Kind: "exponential", Min: 10 * sec, Factor: 2, Max: 24 * time.Hour}

	during, after := play("fixed", fixed)
	assert.Greater(t, during, 900.0, "Request spike")
	assert.Greater(t, after, 500.0, "and inadvertent synchronization")

	during, after = play("jittered-period", fixed)
	assert.Greater(t, during, 900.0)
	assert.Less(t, after, 100.0, "Fixed retry period with jitter: No inadvertent synchronization")

	_, after = play("fixed", jittered)
	assert.Greater(t, after, 500.0, "Jittered retry period, periodicity not jittered: Request spikes remain")

	during, after = play("jittered-period", grown)
	assert.Less(t, during, 250.0, "Exponential back-off to limit request spikes")
	assert.Less(t, after, 100.0)

	grown.Jitter = backoff.Proportional(0.5)
	during, _ = play("jittered-period", grown)
	assert.Less(t, during, 250.0, "Exponential back-off with jitter: Smoother back-off")

	// "while not success && delay <= period"
	during, _ = play("jittered-period", sim.Retry{
		Kind: "last-try", Min: 10 * sec, Factor: 2, Max: period + 1, Jitter: backoff.Proportional(0.5),
	})
	assert.Less(t, during, 250.0, "retries capped")
}

// "25% failure rate": each operation needs 4/3 attempts. "Fixed retry period:
// High rate of retries. With exponential back-off: Error rate subsides,
// occasional error spikes. Jittered back-off: Fewer synchronized errors spikes."
func TestSeed3PartialFailure(t *testing.T) {
	play := func(form string, retry sim.Retry) float64 {
		s := seed3(form, "together")
		s.Server.Failures.Rate = 0.25
		r := run(t, s, sim.Strategy{Retry: retry})
		assert.InEpsilon(t, 4.0/3, float64(r.Attempts)/float64(r.Operations), 0.01)
		most := 0.0
		for _, v := range r.Traces.Of("failures")[30*time.Minute/sec:] {
			most = max(most, v)
		}
		return most
	}
	fixed := sim.Retry{Kind: "constant", Min: 10 * sec}
	grown := sim.Retry{Kind: "exponential", Min: 10 * sec, Factor: 2, Max: time.Hour}
	assert.Greater(t, play("fixed", fixed), 300.0)
	assert.Less(t, play("jittered-period", grown), 60.0)
	grown.Jitter = backoff.Proportional(0.5)
	assert.Less(t, play("jittered-period", grown), 40.0)
}

// "Example: Only 10% of outgoing requests can be retries. Prevents retries from
// completely crowding out legitimate requests", in an outage of 30 s with 1000
// clients; and "make sure to jitter retry periods on the server side": else all
// that were told when it ends come back at that moment.
func TestSeed3Outage(t *testing.T) {
	s := sim.Scenario{
		Server:  sim.Server{Service: 10 * ms, Outages: []sim.Outage{{From: time.Minute, For: 30 * sec}}},
		Clients: sim.Clients{Count: 1000, Think: 10 * sec},
		Horizon: 3 * time.Minute,
	}
	st := fixed(sec)
	without := run(t, s, st)
	assert.Greater(t, without.Retries, without.Operations/2)
	st.Budget, st.Shared = sim.Budget{Share: 0.1}, true
	with := run(t, s, st)
	assert.LessOrEqual(t, float64(with.Retries), 0.1*float64(with.Attempts))
	assert.Less(t, with.PeakRate, 2*with.MeanRate)

	obey := fixed(sec)
	obey.Retry.RetryAfter = true
	s.Server.Outages[0].RetryAfter = true
	all := run(t, s, obey)
	assert.Greater(t, all.ReturnRate, 900.0, "the herd at the instant of the reset")
	s.Server.Refusal.RetryAfterJitter = 20 * sec
	spread := run(t, s, obey)
	assert.LessOrEqual(t, spread.ReturnRate, 2*spread.MeanRate)
	assert.Less(t, spread.OutageSent, with.Attempts)
}
