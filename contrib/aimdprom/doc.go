// Package aimdprom shows limiters of package aimd to Prometheus.
//
//	prometheus.MustRegister(aimdprom.New(live.Of(lim)))            // one, or some
//	prometheus.MustRegister(aimdprom.New(live.Keyed(limiters)))    // one for each key or host
//
// They are read when Prometheus asks, so a limiter at work costs the same. The metrics, each with the
// label limiter, the limiter's name (aimd.Config.Name) or key:
//
//	aimd_cwnd, aimd_ssthresh         the window and the slow-start threshold, in attempts
//	aimd_gap_seconds                 the shortest time between two sends; below a window of
//	                                 2 it sets the rate
//	aimd_paused_until_seconds        the end of the pause for all, in seconds since 1970
//	aimd_in_flight                   attempts sent and not answered
//	aimd_quota_limit                 a quota of the service, as its answers report it, by quota
//	aimd_quota_left                  the remaining quota
//	aimd_queued                      operations that wait for a slot
//	aimd_attempts_total              answered attempts, with the label outcome: success,
//	                                 overload, timeout, neutral or client_error
//	aimd_cuts_total                  bursts of overloads that narrowed the window
//	aimd_pauses_total                pauses for everybody
//	aimd_too_late_total              operations that were not sent before their deadline
//	aimd_aside_total                 operations that failed again and again while others succeeded
//	aimd_quota_refused_ratio         share of what was spent of a quota that went to refused requests
//	aimd_shadow_attempts_total       of a limiter that only watches: attempts,
//	aimd_shadow_held_total           those that would have waited,
//	aimd_shadow_held_seconds_total   how long, as far as it was known,
//	aimd_shadow_refused_total        refusals and time-outs,
//	aimd_shadow_above_total          those of attempts that would have waited
//	aimd_open                        answers that stay open outside the window
//	aimd_share                       share of a window that processes have together (package share),
//	aimd_share_processes             their number,
//	aimd_share_leads                 whether this one computes the window,
//	aimd_share_heard_seconds         the time of the last answer of their store
//
// The numbers of limiters with one name are added up; their largest gap and pause are shown. The counters of a name
// keep the counts of an evicted limiter. If there are more keys than a Keyed holds, see [Collector.Evicted]. The
// first 1000 names have their own series; other names share "other".
//
// # Histograms
//
// [NewObserver] adds two histograms. Each limiter needs it as an observer, and then reads the clock at every event:
// an attempt costs some 0.2 µs more:
//
//	observe, err := aimdprom.NewObserver(prometheus.DefaultRegisterer)
//	...
//	lim, err := aimd.New(aimd.Config{Name: "photos", Observer: observe})
//
//	aimd_queue_wait_seconds          how long operations waited that had to
//	aimd_attempt_duration_seconds    from slot to answer, with the label outcome
//
// # Rules from afar
//
// [Remote] shows a client of package remote, each metric with the label source:
//
//	aimd_remote_looks_total          looks at the source
//	aimd_remote_failures_total       looks that failed, or found a document that was refused
//	aimd_remote_version              the version of the document in force, 0 for none
//	aimd_remote_confirmed_seconds    the last look that found it in force, in seconds since 1970
//
// The folder of this package has dashboard.json, a dashboard for Grafana, and alerts.yaml, alerts for Prometheus.
package aimdprom
