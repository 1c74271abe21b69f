package quota

import "time"

const (
	// stopMin is the pause after a refusal that speaks for everybody and has no time: GitHub's "wait for at least
	// one minute", longer each time (see verdict.Classify).
	stopMin = time.Minute
	// stopDoublings is the number of times that this pause doubles: up to about an hour. Our choice.
	stopDoublings = 6
)

// Asked is the wait that a service asked for in a refusal. The zero value: it asked for no delay.
type Asked struct {
	// After is the Retry-After, 0 without one.
	After time.Duration
	// Stop: it refuses everybody until then (answer.Stopped).
	Stop bool
	// Refusals is the number of refusals in a row, this one among them.
	Refusals int
}

// Within returns the delay that is obeyed, without jitter: the Retry-After, at most the longest, since nothing that is
// told stops a client without a question. If the service refuses everybody and names no time, it is a minute, doubled
// after each refusal in a row.
func (a Asked) Within(longest time.Duration) time.Duration {
	if a.Stop && a.After <= 0 {
		return stopMin << min(max(a.Refusals-1, 0), stopDoublings)
	}
	return max(0, min(a.After, longest))
}

// Jittered returns the delay with jitter from r added: up to half of the delay, at most a second. The service may
// have asked many clients to come back at the same moment.
func (a Asked) Jittered(longest time.Duration, r interface{ Float64() float64 }) time.Duration {
	d := a.Within(longest)
	if d == 0 {
		return 0
	}
	return d + time.Duration(r.Float64()*float64(min(d/2, time.Second)))
}
