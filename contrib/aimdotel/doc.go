// Package aimdotel measures limiters of package aimd with OpenTelemetry.
//
//	_, err := aimdotel.Register(live.Of(lim))            // one, or some
//	_, err := aimdotel.Register(live.Keyed(limiters))    // one for each key or host
//
// They are read when the SDK collects, so a limiter at work costs the same. The instrumentation scope is
// github.com/aimd-go/aimd/contrib/aimdotel. The instruments, each with the attribute aimd.limiter.name, the
// limiter's name (aimd.Config.Name) or key:
//
//	aimd.cwnd, aimd.ssthresh   gauge, {attempt}: window and slow-start threshold
//	aimd.gap                   gauge, s: the shortest time between two sends; below a window of
//	                           2 it sets the rate
//	aimd.paused_until          gauge, s: the end of the pause for all, in seconds since 1970
//	aimd.quota_limit,          gauges: a quota of the service, as its answers report it, and
//	aimd.quota_left            the remaining quota, with aimd.quota, its name
//	aimd.in_flight             up-down counter, {attempt}: sent and not answered
//	aimd.queued                up-down counter, {operation}: wait for a slot
//	aimd.attempts              counter, {attempt}: answered, with aimd.outcome: success,
//	                           overload, timeout, neutral or client_error
//	aimd.cuts                  counter, {cut}: bursts of overloads that narrowed the window
//	aimd.pauses                counter, {pause}: pauses for everybody
//	aimd.too_late              counter, {operation}: not sent before their deadline
//	aimd.aside                 counter, {operation}: failed again and again while others succeeded
//	aimd.quota_refused         gauge, 1: share of what was spent of a quota that went to refused
//	                           requests, with aimd.quota
//	aimd.shadow.attempts,      counters, {attempt}, of a limiter that only watches: sent, would
//	aimd.shadow.held,          have waited, were refused, were refused of those
//	aimd.shadow.refused, aimd.shadow.above
//	aimd.shadow.held_time      counter, s: how long those would have waited, as far as known
//	aimd.open                  up-down counter, {answer}: stay open outside the window
//	aimd.share                 gauge, {attempt}: share of a window that processes have together
//	aimd.share.processes       gauge, {process}: their number
//	aimd.share.leads           gauge, 1: whether this process computes the window
//	aimd.share.heard           gauge, s: the time of the last answer of their store, since 1970
//
// The numbers of limiters with one name are added up; their largest gap and pause are shown. The counters of a name
// keep the counts of an evicted limiter. If there are more keys than a Keyed holds, see [Registration.Evicted]. The
// first 1000 names have their own attributes; other names share "other".
//
// # Histograms
//
// [NewObserver] adds two histograms. Each limiter needs it as an observer, and then reads the clock at every event:
// an attempt costs some 0.4 µs more:
//
//	observe, err := aimdotel.NewObserver()
//	...
//	lim, err := aimd.New(aimd.Config{Name: "photos", Observer: observe})
//
//	aimd.queue.wait            histogram, s: how long operations waited that had to
//	aimd.attempt.duration      histogram, s: from slot to answer, with aimd.outcome
//
// # Remote settings
//
// [RegisterRemote] measures a client of package remote, with the attribute aimd.remote.source:
//
//	aimd.remote.looks          counter, {look}: looks at the source of documents
//	aimd.remote.failures       counter, {look}: those that failed, or whose document was refused
//	aimd.remote.version        gauge: the version of the document in force, 0 for none
//	aimd.remote.confirmed      gauge, s: the last look that found the document in force, in
//	                           seconds since 1970; a document that has not come for a day shows here
package aimdotel
