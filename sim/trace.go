package sim

import "time"

// The names of the series in Traces.
const (
	// SeriesRequests to SeriesTimeouts are rates, a second.
	SeriesRequests  = "requests"
	SeriesRetries   = "retries"
	SeriesSuccesses = "successes"
	SeriesRefusals  = "refusals"
	SeriesFailures  = "failures"
	SeriesTimeouts  = "timeouts"
	// seriesInFlight is the attempts that clients wait for, SeriesConcurrency the
	// requests that the server has, SeriesWaiting the operations that are neither
	// in flight nor at their end: in a limiter's queue, or backing off.
	seriesInFlight    = "in_flight"
	SeriesConcurrency = "concurrency"
	seriesWaiting     = "waiting"
	// SeriesCwnd and SeriesSsthresh are the windows, summed up over the limiters.
	// Only with a window.
	SeriesCwnd     = "cwnd"
	SeriesSsthresh = "ssthresh"
)

// Traces are courses over time, all with the same interval.
type Traces struct {
	// Interval is the time from one sample to the next. Sample i of a rate is that
	// of the time from i to i+1 intervals; sample i of anything else is as at the end
	// of it. The last interval may be cut short. 0: there are no traces.
	Interval time.Duration
	// Series are the courses, all of the same length.
	Series []Series
}

// Series is one course over time.
type Series struct {
	// Name is one of the above.
	Name string
	// Unit is "1/s", "requests", "operations" or "attempts".
	Unit string
	// Values are the samples.
	Values []float64
}

// Of returns the samples of the series of that name, nil if there is none.
func (t Traces) Of(name string) []float64 {
	for _, s := range t.Series {
		if s.Name == name {
			return s.Values
		}
	}
	return nil
}
