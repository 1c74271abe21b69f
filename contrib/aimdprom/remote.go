package aimdprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/aimd-go/aimd/remote"
)

var (
	ofSource = []string{"source"}

	remoteLooks     = desc("aimd_remote_looks_total", ofSource, "Looks at the source of documents.")
	remoteFailures  = desc("aimd_remote_failures_total", ofSource, "Looks that failed, or found a document that was refused.")
	remoteVersion   = desc("aimd_remote_version", ofSource, "Version of the document in force, 0 for none.")
	remoteConfirmed = desc("aimd_remote_confirmed_seconds", ofSource, "Time of the last look that found the document in force, in seconds since 1970; 0 for none.")
)

// Remote is a prometheus.Collector of a remote.Client: remote.Client.Snapshot is its function. A document that has not
// come for a day shows as aimd_remote_confirmed_seconds. It is safe for any number of goroutines.
type Remote func() remote.Snapshot

// Describe implements prometheus.Collector.
func (Remote) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{remoteLooks, remoteFailures, remoteVersion, remoteConfirmed} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (r Remote) Collect(to chan<- prometheus.Metric) {
	s := r()
	metric := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
		to <- prometheus.MustNewConstMetric(d, kind, v, s.Source)
	}
	metric(remoteLooks, prometheus.CounterValue, float64(s.Looks))
	metric(remoteFailures, prometheus.CounterValue, float64(s.Failures))
	metric(remoteVersion, prometheus.GaugeValue, float64(s.Document.Version))
	metric(remoteConfirmed, prometheus.GaugeValue, max(0, float64(s.Confirmed.UnixMilli())/1000))
}
