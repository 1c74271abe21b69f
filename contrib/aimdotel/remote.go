package aimdotel

import (
	"context"
	"errors"
	"fmt"

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
	m := meter(opts)
	var errs [5]error
	looks, err := m.Int64ObservableCounter("aimd.remote.looks",
		metric.WithUnit("{look}"), metric.WithDescription("Looks at the source of documents."))
	errs[0] = err
	failures, err := m.Int64ObservableCounter("aimd.remote.failures",
		metric.WithUnit("{look}"), metric.WithDescription("Looks that failed, or found a document that was refused."))
	errs[1] = err
	version, err := m.Int64ObservableGauge("aimd.remote.version",
		metric.WithDescription("Version of the document in force, 0 for none."))
	errs[2] = err
	confirmed, err := m.Float64ObservableGauge("aimd.remote.confirmed",
		metric.WithUnit("s"), metric.WithDescription("Time of the last look that found the document in force, in seconds since 1970; 0 for none."))
	errs[3] = err
	r, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := read()
		of := metric.WithAttributes(sourceKey.String(s.Source))
		o.ObserveInt64(looks, int64(s.Looks), of)
		o.ObserveInt64(failures, int64(s.Failures), of)
		o.ObserveInt64(version, int64(s.Version), of)
		o.ObserveFloat64(confirmed, max(0, float64(s.Confirmed.UnixMilli())/1000), of)
		return nil
	}, looks, failures, version, confirmed)
	errs[4] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("aimdotel: %w", err)
	}
	return r, nil
}

const sourceKey = attribute.Key("aimd.remote.source")
