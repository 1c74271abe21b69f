package aimdprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/aimd-go/aimd/internal/tally"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// Histograms is a prometheus.Collector of how long operations waited and attempts took, see the package.
// It is safe for any number of goroutines and limiters. Make one with NewHistograms.
type Histograms struct {
	wait, duration *prometheus.HistogramVec
	names          tally.ByName[series]
}

// series are made once for each name.
type series struct {
	wait      prometheus.Observer
	byOutcome [window.ClientError + 1]prometheus.Observer
}

// NewHistograms returns empty Histograms. Their buckets are prometheus.DefBuckets, 5 ms to 10 s.
func NewHistograms() *Histograms {
	return &Histograms{
		wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "aimd_queue_wait_seconds",
			Help: "Time that operations waited for a slot, of those that had to.",
		}, ofLimiter),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "aimd_attempt_duration_seconds",
			Help: "Time from an attempt's slot to its answer, by outcome.",
		}, ofOutcome),
	}
}

// Observe is an observer for aimd.WithObserver. It goes by the limiter's own name (aimd.WithName): give
// the limiters of a Keyed their key for a name.
func (h *Histograms) Observe(e limiter.Event) {
	switch {
	case e.Kind == limiter.Admitted:
		h.of(e.Name).wait.Observe(e.Wait.Seconds())
	case e.Kind <= limiter.Steady && e.Outcome.Valid():
		h.of(e.Name).byOutcome[e.Outcome].Observe(e.RTT.Seconds())
	}
}

func (h *Histograms) of(name string) *series {
	return h.names.Of(name, func(name string) *series {
		s := &series{wait: h.wait.WithLabelValues(name)}
		for o := window.Success; o.Valid(); o++ {
			s.byOutcome[o] = h.duration.WithLabelValues(name, tally.Label(o))
		}
		return s
	})
}

// Describe implements prometheus.Collector.
func (h *Histograms) Describe(to chan<- *prometheus.Desc) {
	h.wait.Describe(to)
	h.duration.Describe(to)
}

// Collect implements prometheus.Collector.
func (h *Histograms) Collect(to chan<- prometheus.Metric) {
	h.wait.Collect(to)
	h.duration.Collect(to)
}
