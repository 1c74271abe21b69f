package aimdprom

import (
	"iter"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aimd-go/aimd/internal/tally"
	"github.com/aimd-go/aimd/limiter"
)

var (
	ofLimiter = []string{"limiter"}
	ofOutcome = []string{"limiter", "outcome"}
	ofQuota   = []string{"limiter", "quota"}

	cwnd = prometheus.NewDesc("aimd_cwnd",
		"Congestion window, in attempts.", ofLimiter, nil)
	ssthresh = prometheus.NewDesc("aimd_ssthresh",
		"Slow-start threshold, in attempts.", ofLimiter, nil)
	gap = prometheus.NewDesc("aimd_gap_seconds",
		"Shortest time between two sends, 0 for none; at a window of 1 it sets the rate.", ofLimiter, nil)
	pausedUntil = prometheus.NewDesc("aimd_paused_until_seconds",
		"End of the pause for all, in seconds since 1970; 0 for none.", ofLimiter, nil)
	quotaLimit = prometheus.NewDesc("aimd_quota_limit",
		"Quota of the service, as its answers report it.", ofQuota, nil)
	quotaLeft = prometheus.NewDesc("aimd_quota_left",
		"What is left of the quota.", ofQuota, nil)
	inFlight = prometheus.NewDesc("aimd_in_flight",
		"Attempts sent and not answered.", ofLimiter, nil)
	queued = prometheus.NewDesc("aimd_queued",
		"Operations that wait for a slot.", ofLimiter, nil)
	attempts = prometheus.NewDesc("aimd_attempts_total",
		"Attempts that were answered, by outcome.", ofOutcome, nil)
	cuts = prometheus.NewDesc("aimd_cuts_total",
		"Bursts of overloads that narrowed the window.", ofLimiter, nil)
	pauses = prometheus.NewDesc("aimd_pauses_total",
		"Pauses for everybody.", ofLimiter, nil)
)

// Collector is a prometheus.Collector of limiters, see the package. It is safe for any number of
// goroutines. Make one with New.
type Collector struct{ tally *tally.Tally }

// New returns a Collector. Each function yields the present limiters, each with a name, "" for the
// limiter's own; several goroutines may call it at once. A limiter that several functions yield counts
// once. live.Of and live.Keyed make such a function, and httplimit.Transport.Limiters is one. New panics if
// a function is nil. A registry takes one Collector, or several with a label each
// (prometheus.WrapRegistererWith).
func New(limiters ...func() iter.Seq2[string, *limiter.Limiter]) *Collector {
	return &Collector{tally.New(limiters...)}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cwnd, ssthresh, gap, pausedUntil, quotaLimit, quotaLeft, inFlight, queued, attempts, cuts, pauses} {
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
			gauge(pausedUntil, s.PausedUntilUnix())
			gauge(inFlight, float64(s.InFlight))
			gauge(queued, float64(s.Queued))
			for _, q := range s.Quotas {
				gauge(quotaLimit, q.Limit, q.Name)
				gauge(quotaLeft, q.Left, q.Name)
			}
		}
		for o, n := range s.Answers() {
			counter(attempts, n, s.Name, tally.Label(o))
		}
		counter(cuts, s.Cuts, s.Name)
		counter(pauses, s.Pauses, s.Name)
	}
}

// Evicted is a limiter.KeyedConfig.Evicted. It counts a limiter that is gone, under its own name
// (aimd.WithName) if it was never read. Without it, limiters that a Keyed makes and drops between two
// reads are not counted.
func (c *Collector) Evicted(l *limiter.Limiter) { c.tally.Evicted(l) }
