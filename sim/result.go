package sim

import "time"

// The words of Result.Ended.
const (
	endedDone    = "done"
	endedHorizon = "horizon"
	endedEvents  = "events"
	endedStopped = "stopped"
)

// Result is what came of one run.
//
// An operation is born when a client wants it done, and takes one attempt or more;
// it is done after a success, or given up. Times are virtual.
type Result struct {
	// Scenario, Strategy and Seed say which run it was.
	Scenario, Strategy string
	Seed               uint64
	// Ended says why the run ended: "done", every operation was done or given up;
	// "horizon", the virtual time was up, as it should be for clients without a number
	// of operations; "events", there were too many; "stopped", by Scenario.Stop.
	Ended string
	// End is when it did.
	End time.Duration
	// Events is the number of events that the simulator handled.
	Events int

	// Operations is how many were born; of these Done were done and GivenUp were
	// given up. The others were under way at the end.
	Operations, Done, GivenUp int
	// Attempts is how many requests were sent, and Retries those of them that were
	// not an operation's first.
	Attempts, Retries int
	// Succeeded, Refused, Failed and TimedOut are how attempts ended for the client:
	// a success, an overload answer, another error, no answer in time.
	// Attempts less their sum were under way at the end.
	Succeeded, Refused, Failed, TimedOut int
	// Rejected is how often a budget, a throttle or carrier sense kept an attempt
	// from being sent.
	Rejected int

	// Finite tells whether the clients had a number of operations.
	Finite bool
	// Makespan is when the last operation was done; it is a bound from below if
	// Done is less than Operations.
	Makespan time.Duration
	// Optimum is the makespan of a clairvoyant: the same operations sent so that
	// each arrives just when the server has room for it. 0 without a number of
	// operations, or where that does not end either. Where times vary, a run may by
	// chance be shorter, by the time of one operation or so.
	Optimum time.Duration

	// SinceBirth and SinceSend are the latencies of done operations, from their birth
	// and from their first attempt to their success.
	SinceBirth, SinceSend Latency

	// PeakInFlight is the most attempts that clients waited for at one time,
	// PeakConcurrency the most requests that the server had at one time.
	PeakInFlight, PeakConcurrency int
	// Useful is the server's time spent on what reached a client as a success,
	// Wasted that spent on anything else: refusals that keep it busy, work that
	// nobody waits for any more, work that a collision destroyed.
	Useful, Wasted time.Duration
	// Jain is Jain's fairness index of the clients' throughputs, 1/clients to 1; 0
	// with nothing done.
	Jain float64

	// Find is how long it took from the start until 90% of the capacity was used,
	// or of what the clients ask for if that is less.
	Find Spell
	// Recovery is the same from the end of the last outage.
	Recovery Spell
	// OutageSent is how many requests were sent during outages.
	OutageSent int
	// Outages tells whether there was an outage within the run.
	Outages bool

	// MeanRate and PeakRate are requests sent a second, after the warm-up: over the
	// run, and in its worst second. ReturnRate is that of the first second after
	// the last outage.
	MeanRate, PeakRate, ReturnRate float64

	// Watched is what happened in the time of Scenario.Watch.
	Watched Watched `json:",omitzero"`
	// Regain is how long it took, after the last change of capacity or end of an
	// outage, until Scenario.Regain of the capacity was used again.
	Regain Spell `json:",omitzero"`

	// Interactive and Background are how many of these two kinds of operations were born,
	// and how many of those were done, where Clients.Background tells them apart.
	Interactive struct{ Operations, Done int } `json:",omitzero"`
	Background  struct{ Operations, Done int } `json:",omitzero"`

	// Traces are the courses over time.
	Traces Traces
}

// Latency is how long something took, over many.
type Latency struct {
	// Mean, P50, P99 and Max are the mean, the median, the 99th percentile and
	// the longest; 0 of none.
	Mean, P50, P99, Max time.Duration
}

// Spell is a time that may not have ended.
type Spell struct {
	// For is how long it lasted; to the end of the run, if it did not end before.
	For time.Duration
	// Over tells whether it ended.
	Over bool
	// Applies is false where there is nothing to measure.
	Applies bool
}

// Measure is one number of a result, for tables.
type Measure struct {
	// Name is short, with its unit: "makespan_s".
	Name string
	// Value is the number. Meaningless unless Applies.
	Value float64
	// AtLeast tells that the run ended before it was known: it is no less.
	AtLeast bool
	// Applies is false where the measure has no meaning, such as a recovery
	// without an outage.
	Applies bool
}

// Measures are the result's numbers, always the same and in the same order.
func (r Result) Measures() []Measure {
	unfinished := r.Done < r.Operations
	makespan := r.Makespan
	if unfinished && r.Ended != endedDone {
		// Some are under way still: it is no less than the run was long.
		makespan = r.End
	}
	ratio := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	return []Measure{
		{"makespan_s", makespan.Seconds(), unfinished, r.Finite},
		{"span", ratio(makespan.Seconds(), r.Optimum.Seconds()), unfinished, r.Optimum > 0},
		{"operations", float64(r.Operations), false, true},
		{"done", float64(r.Done), false, true},
		{"given_up", float64(r.GivenUp), false, true},
		{"attempts", float64(r.Attempts), false, true},
		{"attempts_per_op", ratio(float64(r.Attempts), float64(r.Operations)), false, r.Operations > 0},
		{"efficiency", ratio(float64(r.Succeeded), float64(r.Attempts)), false, r.Attempts > 0},
		{"refused", float64(r.Refused), false, true},
		{"timed_out", float64(r.TimedOut), false, true},
		{"mean_s", r.SinceBirth.Mean.Seconds(), false, r.Done > 0},
		{"p50_s", r.SinceBirth.P50.Seconds(), false, r.Done > 0},
		{"p99_s", r.SinceBirth.P99.Seconds(), false, r.Done > 0},
		{"first_send_mean_s", r.SinceSend.Mean.Seconds(), false, r.Done > 0},
		{"first_send_p50_s", r.SinceSend.P50.Seconds(), false, r.Done > 0},
		{"first_send_p99_s", r.SinceSend.P99.Seconds(), false, r.Done > 0},
		{"peak_in_flight", float64(r.PeakInFlight), false, true},
		{"peak_concurrency", float64(r.PeakConcurrency), false, true},
		{"useful_s", r.Useful.Seconds(), false, true},
		{"wasted_s", r.Wasted.Seconds(), false, true},
		{"jain", r.Jain, false, r.Done > 0},
		{"throughput", ratio(float64(r.Done), r.End.Seconds()), false, r.End > 0},
		{"find_s", r.Find.For.Seconds(), !r.Find.Over, r.Find.Applies},
		{"recovery_s", r.Recovery.For.Seconds(), !r.Recovery.Over, r.Recovery.Applies},
		{"outage_sent", float64(r.OutageSent), false, r.Outages},
		{"mean_rate", r.MeanRate, false, true},
		{"peak_rate", r.PeakRate, false, true},
		{"peak_over_mean", ratio(r.PeakRate, r.MeanRate), false, r.MeanRate > 0},
		{"return_over_mean", ratio(r.ReturnRate, r.MeanRate), false, r.MeanRate > 0 && r.Recovery.Applies},
		{"watch_use", ratio(float64(r.Watched.Done), r.Watched.Capacity), false, r.Watched.Capacity > 0},
		{"watch_attempts_per_op", ratio(float64(r.Watched.Attempts), float64(r.Watched.Done)), false, r.Watched.Done > 0},
		{"watch_errors", float64(r.Watched.Errors), false, r.Watched.Applies},
		{"watch_jain", r.Watched.Jain, false, r.Watched.Done > 0},
		{"regain_s", r.Regain.For.Seconds(), !r.Regain.Over, r.Regain.Applies},
		fared(r.Interactive).done("interactive_done"),
		fared(r.Background).done("background_done"),
	}
}
