package aimdotel

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/aimd-go/aimd/remote"
)

// RegisterRemote measures a remote.Client, see the package, until the registration is unregistered. read is the
// client's method Snapshot, which the SDK calls when it collects. An error is one of the meter's. RegisterRemote
// panics if read is nil. It is safe for any number of goroutines.
func RegisterRemote(read func() remote.Snapshot, opts ...Option) (metric.Registration, error) {
	if read == nil {
		panic("aimdotel: RegisterRemote with nil, want a function")
	}
	m := &making{Meter: meter(opts)}
	looks := observable(m, m.Int64ObservableCounter, "aimd.remote.looks", "{look}", "Looks at the source of documents.")
	failures := observable(m, m.Int64ObservableCounter, "aimd.remote.failures", "{look}", "Looks that failed, or found a document that was refused.")
	version := observable(m, m.Int64ObservableGauge, "aimd.remote.version", "", "Version of the document in force, 0 for none.")
	confirmed := observable(m, m.Float64ObservableGauge, "aimd.remote.confirmed", "s",
		"Time of the last look that found the document in force, in seconds since 1970; 0 for none.")
	return m.register(func(o metric.Observer) {
		s := read()
		of := metric.WithAttributes(sourceKey.String(s.Source))
		o.ObserveInt64(looks, int64(s.Looks), of)
		o.ObserveInt64(failures, int64(s.Failures), of)
		o.ObserveInt64(version, int64(s.Document.Version), of)
		o.ObserveFloat64(confirmed, max(0, float64(s.Confirmed.UnixMilli())/1000), of)
	})
}

const sourceKey = attribute.Key("aimd.remote.source")
