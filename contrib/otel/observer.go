package aimdotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/aimd-go/aimd/internal/tally"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// buckets follow OpenTelemetry's conventions for durations of requests.
var buckets = metric.WithExplicitBucketBoundaries(
	0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)

type observer struct {
	wait, duration metric.Float64Histogram
	names          tally.ByName[attributes]
}

// attributes are made once for each name.
type attributes struct {
	name      []metric.RecordOption
	byOutcome [window.ClientError + 1][]metric.RecordOption
}

// NewObserver returns an observer for aimd.WithObserver that measures how long operations waited and attempts
// took, by the limiter's own name (aimd.WithName). One is enough for all limiters; it is safe for any number
// of goroutines. An error is one of the meter's.
func NewObserver(opts ...Option) (func(limiter.Event), error) {
	m := meter(opts)
	var o observer
	var errs [2]error
	o.wait, errs[0] = m.Float64Histogram("aimd.queue.wait", buckets,
		metric.WithUnit("s"), metric.WithDescription("Time that operations waited for a slot, of those that had to."))
	o.duration, errs[1] = m.Float64Histogram("aimd.attempt.duration", buckets,
		metric.WithUnit("s"), metric.WithDescription("Time from an attempt's slot to its answer, by outcome."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("aimdotel: %w", err)
	}
	return o.observe, nil
}

func (o *observer) observe(e limiter.Event) {
	ctx := context.Background() // an event has no context
	switch {
	case e.Kind == limiter.Admitted:
		o.wait.Record(ctx, e.Wait.Seconds(), o.names.Of(e.Name, newAttributes).name...)
	case e.Kind <= limiter.Steady && e.Outcome.Valid():
		o.duration.Record(ctx, e.RTT.Seconds(), o.names.Of(e.Name, newAttributes).byOutcome[e.Outcome]...)
	}
}

func newAttributes(name string) *attributes {
	options := func(a ...attribute.KeyValue) []metric.RecordOption {
		return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(a...))}
	}
	all := &attributes{name: options(nameKey.String(name))}
	for outcome := window.Success; outcome.Valid(); outcome++ {
		all.byOutcome[outcome] = options(nameKey.String(name), outcomeKey.String(tally.Label(outcome)))
	}
	return all
}
