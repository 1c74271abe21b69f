package aimdprom

import (
	"errors"
	"fmt"
	"iter"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/window"
)

var (
	ofLimiter = []string{"limiter"}
	ofOutcome = []string{"limiter", "outcome"}
	ofQuota   = []string{"limiter", "quota"}

	cwnd        = desc("aimd_cwnd", ofLimiter, "Congestion window, in attempts.")
	ssthresh    = desc("aimd_ssthresh", ofLimiter, "Slow-start threshold, in attempts.")
	gap         = desc("aimd_gap_seconds", ofLimiter, "Shortest time between two sends, 0 for none; below a window of 2 it sets the rate.")
	pausedUntil = desc("aimd_paused_until_seconds", ofLimiter, "End of the pause for all, in seconds since 1970; 0 for none.")
	quotaLimit  = desc("aimd_quota_limit", ofQuota, "Quota of the service, as its answers report it.")
	quotaLeft   = desc("aimd_quota_left", ofQuota, "What is left of the quota.")
	inFlight    = desc("aimd_in_flight", ofLimiter, "Attempts sent and not answered.")
	queued      = desc("aimd_queued", ofLimiter, "Operations that wait for a slot.")
	attempts    = desc("aimd_attempts_total", ofOutcome, "Attempts that were answered, by outcome.")
	cuts        = desc("aimd_cuts_total", ofLimiter, "Bursts of overloads that narrowed the window.")
	pauses      = desc("aimd_pauses_total", ofLimiter, "Pauses for everybody.")
	tooLate     = desc("aimd_too_late_total", ofLimiter, "Operations that were not sent before their deadline.")
	aside       = desc("aimd_aside_total", ofLimiter, "Operations that failed again and again while others succeeded.")
	heldN       = desc("aimd_shadow_held_total", ofLimiter, "Attempts that would have waited, in shadow.")
	heldFor     = desc("aimd_shadow_held_seconds_total", ofLimiter, "Sum of the waits of those, as far as they were known.")
	shadowed    = desc("aimd_shadow_attempts_total", ofLimiter, "Attempts in shadow.")
	refused     = desc("aimd_shadow_refused_total", ofLimiter, "Refusals and time-outs in shadow.")
	above       = desc("aimd_shadow_above_total", ofLimiter, "Refusals and time-outs in shadow of attempts that would have waited.")
	quotaLost   = desc("aimd_quota_refused_ratio", ofQuota, "Share of what was spent of the quota that went to refused requests.")
	open        = desc("aimd_open", ofLimiter, "Answers that stay open outside the window.")
	ofFleet     = desc("aimd_share", ofLimiter, "Share of a window that processes have together, in attempts.")
	processes   = desc("aimd_share_processes", ofLimiter, "Processes that have the window together.")
	leads       = desc("aimd_share_leads", ofLimiter, "1 if this process computes the window of all.")
	heard       = desc("aimd_share_heard_seconds", ofLimiter, "Time of the last answer of their store, in seconds since 1970; 0 for none.")
)

func desc(name string, labels []string, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Collector is a prometheus.Collector of limiters. It is safe for any number of goroutines.
type Collector struct{ tally *live.Tally }

// New returns a Collector. Each function yields the present limiters, each with a name, "" for the
// limiter's own; several goroutines may call it at once. A limiter that several functions yield counts
// once. live.Of and live.Keyed make such a function. New panics if
// a function is nil. A registry takes one Collector, or several with a label each
// (prometheus.WrapRegistererWith).
func New(limiters ...func() iter.Seq2[string, *aimd.Limiter]) *Collector {
	return &Collector{live.NewTally(limiters...)}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cwnd, ssthresh, gap, pausedUntil, quotaLimit, quotaLeft, inFlight, queued, attempts, cuts, pauses, tooLate, aside, heldN, heldFor, shadowed, refused, above, quotaLost, open, ofFleet, processes, leads, heard} {
		to <- d
	}
}

// Collect implements prometheus.Collector. It takes each limiter's lock once, shortly.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.tally.Read() {
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{s.Name}, labels...)...)
		}
		counter := func(d *prometheus.Desc, n uint64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
		}
		if s.Present > 0 {
			gauge(cwnd, s.Cwnd)
			gauge(ssthresh, s.Ssthresh)
			gauge(gap, s.Gap.Seconds())
			gauge(pausedUntil, max(0, float64(s.PausedUntil.UnixMilli())/1000))
			gauge(inFlight, float64(s.InFlight))
			gauge(queued, float64(s.Queued))
			gauge(open, float64(s.Open))
			if s.Share != nil {
				gauge(ofFleet, s.Share.Window)
				gauge(processes, float64(s.Share.Processes))
				gauge(leads, map[bool]float64{true: 1}[s.Share.Leads])
				gauge(heard, max(0, float64(s.Share.Heard.UnixMilli())/1000))
			}
			for _, q := range s.Quotas {
				gauge(quotaLimit, q.Limit, q.Name)
				gauge(quotaLeft, q.Left, q.Name)
				gauge(quotaLost, q.Refused, q.Name)
			}
		}
		for o, n := range s.Answers() {
			counter(attempts, n, s.Name, live.Label(o))
		}
		counter(cuts, s.Cuts, s.Name)
		counter(pauses, s.Pauses, s.Name)
		counter(tooLate, s.TooLate, s.Name)
		counter(aside, s.Aside, s.Name)
		if h := s.Shadow; h.Sent > 0 {
			counter(shadowed, h.Sent, s.Name)
			counter(heldN, h.Held, s.Name)
			counter(refused, h.Refused, s.Name)
			counter(above, h.Above, s.Name)
			to <- prometheus.MustNewConstMetric(heldFor, prometheus.CounterValue, h.Wait.Seconds(), s.Name)
		}
	}
}

// Evicted is an aimd.KeyedConfig.Evicted, for limiters that a Keyed makes and drops between two reads. It
// counts a limiter under its own name (aimd.Config.Name) if it was never read.
func (c *Collector) Evicted(l *aimd.Limiter) { c.tally.Evicted(l) }

type histograms struct {
	wait, duration *prometheus.HistogramVec
	names          live.ByName[series]
}

// series are made once for each name.
type series struct {
	wait      prometheus.Observer
	byOutcome [window.ClientError + 1]prometheus.Observer
}

// NewObserver registers two histograms, of the waits of operations and of the times of attempts. It returns an
// observer for aimd.Config.Observer that fills them, by the limiter's own name (aimd.Config.Name): give the
// limiters of a Keyed their key as Name. One observer is enough for all limiters. It is safe for any number of
// goroutines. The buckets are prometheus.DefBuckets, 5 ms to 10 s. The errors are the registerer's.
func NewObserver(to prometheus.Registerer) (func(aimd.Event), error) {
	h := &histograms{
		wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "aimd_queue_wait_seconds",
			Help: "Time that operations waited for a slot, of those that had to.",
		}, ofLimiter),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "aimd_attempt_duration_seconds",
			Help: "Time from an attempt's slot to its answer, by outcome.",
		}, ofOutcome),
	}
	if err := errors.Join(to.Register(h.wait), to.Register(h.duration)); err != nil {
		return nil, fmt.Errorf("aimdprom: %w", err)
	}
	return h.observe, nil
}

func (h *histograms) observe(e aimd.Event) {
	switch {
	case e.Kind == event.Admitted:
		h.of(e.Name).wait.Observe(e.Wait.Seconds())
	case e.Outcome.Valid():
		h.of(e.Name).byOutcome[e.Outcome].Observe(e.RTT.Seconds())
	}
}

func (h *histograms) of(name string) *series {
	return h.names.Of(name, func(name string) *series {
		s := &series{wait: h.wait.WithLabelValues(name)}
		for o := window.Success; o <= window.ClientError; o++ {
			s.byOutcome[o] = h.duration.WithLabelValues(name, live.Label(o))
		}
		return s
	})
}
