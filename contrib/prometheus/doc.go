// Package aimdprom shows limiters of package aimd to Prometheus.
//
//	prometheus.MustRegister(aimdprom.New(live.Of(lim)))            // one, or some
//	prometheus.MustRegister(aimdprom.New(live.Keyed(buckets)))     // one for each key
//	prometheus.MustRegister(aimdprom.New(transport.Limiters))      // one for each host
//
// All of it is read when Prometheus asks, so a limiter at work costs the same with it.
// The metrics, each with the label limiter, the limiter's name (aimd.WithName) or key:
//
//	aimd_cwnd, aimd_ssthresh         the window and the slow-start threshold, in attempts
//	aimd_in_flight                   attempts sent and not answered
//	aimd_queued                      operations that wait for a slot
//	aimd_attempts_total              answered attempts, with the label outcome: success,
//	                                 overload, timeout, neutral or client_error
//	aimd_cuts_total                  bursts of overloads that narrowed the window
//	aimd_pauses_total                pauses for everybody
//
// Limiters of one name are one: what they have is added up. What a limiter counted
// stays in its name's counters after it is gone, as those of a Keyed go when they are
// idle. Where more keys are asked for than a Keyed holds, see [Collector.Evicted]. The
// first 1000 names have series of their own, the rest are one, "other".
//
// # Histograms
//
// [Histograms] adds two histograms, for which each limiter needs an observer. It
// then reads the clock at every event, so an attempt costs some 0.2 µs more:
//
//	h := aimdprom.NewHistograms()
//	prometheus.MustRegister(h)
//	lim, err := aimd.NewReno(aimd.WithName("photos"), aimd.WithObserver(h.Observe))
//
//	aimd_queue_wait_seconds          how long operations waited that had to
//	aimd_attempt_duration_seconds    from slot to answer, with the label outcome
//
// # Dashboard
//
// The folder of this package has dashboard.json, a dashboard for Grafana that shows all
// of these.
package aimdprom
