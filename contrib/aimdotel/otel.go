package aimdotel

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/window"
)

// instruments are read when the SDK collects.
type instruments struct {
	cwnd, ssthresh, gap, pausedUntil metric.Float64ObservableGauge
	quotaLimit, quotaLeft            metric.Float64ObservableGauge
	inFlight, queued, open           metric.Int64ObservableUpDownCounter
	attempts, cuts, pauses           metric.Int64ObservableCounter
	tooLate, aside                   metric.Int64ObservableCounter
	shadowed, held, refused, above   metric.Int64ObservableCounter
	heldFor                          metric.Float64ObservableCounter
	quotaLost, share, heard          metric.Float64ObservableGauge
	processes, leads                 metric.Int64ObservableGauge
}

// Register measures the limiters, see the package, until the registration is unregistered. limiters
// yields the present limiters, each with a name, "" for the limiter's own; several goroutines may call it
// at once. live.Of and live.Keyed make such a function. Each
// limiter's lock is taken once, shortly, when the SDK collects. Register all limiters at once: of two
// registrations with limiters of the same name, the SDK may keep one.
//
// An error is one of the meter's. Register panics if limiters is nil. It is safe for any number of
// goroutines.
func Register(limiters func() iter.Seq2[string, *aimd.Limiter], opts ...Option) (*Registration, error) {
	all := live.NewTally(limiters)
	m := meter(opts)
	i, err := newInstruments(m)
	if err != nil {
		return nil, err
	}
	r, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, s := range all.Read() {
			i.observe(o, s)
		}
		return nil
	}, i.cwnd, i.ssthresh, i.gap, i.pausedUntil, i.quotaLimit, i.quotaLeft, i.inFlight, i.queued, i.attempts, i.cuts, i.pauses, i.tooLate, i.aside, i.open,
		i.shadowed, i.held, i.refused, i.above, i.heldFor, i.quotaLost, i.share, i.processes, i.leads, i.heard)
	if err != nil {
		return nil, fmt.Errorf("aimdotel: %w", err)
	}
	return &Registration{r, all}, nil
}

// Registration ends the measuring by Unregister. It is safe for any number of goroutines.
type Registration struct {
	metric.Registration
	tally *live.Tally
}

// Evicted is an aimd.KeyedConfig.Evicted, for limiters that a Keyed makes and drops between two reads. It
// counts a limiter under its own name (aimd.Config.Name) if it was never read.
func (r *Registration) Evicted(l *aimd.Limiter) { r.tally.Evicted(l) }

func newInstruments(m metric.Meter) (i instruments, err error) {
	var errs [24]error
	i.cwnd, errs[0] = m.Float64ObservableGauge("aimd.cwnd",
		metric.WithUnit("{attempt}"), metric.WithDescription("Congestion window."))
	i.ssthresh, errs[1] = m.Float64ObservableGauge("aimd.ssthresh",
		metric.WithUnit("{attempt}"), metric.WithDescription("Slow-start threshold."))
	i.inFlight, errs[2] = m.Int64ObservableUpDownCounter("aimd.in_flight",
		metric.WithUnit("{attempt}"), metric.WithDescription("Attempts sent and not answered."))
	i.queued, errs[3] = m.Int64ObservableUpDownCounter("aimd.queued",
		metric.WithUnit("{operation}"), metric.WithDescription("Operations that wait for a slot."))
	i.attempts, errs[4] = m.Int64ObservableCounter("aimd.attempts",
		metric.WithUnit("{attempt}"), metric.WithDescription("Attempts that were answered, by outcome."))
	i.cuts, errs[5] = m.Int64ObservableCounter("aimd.cuts",
		metric.WithUnit("{cut}"), metric.WithDescription("Bursts of overloads that narrowed the window."))
	i.pauses, errs[6] = m.Int64ObservableCounter("aimd.pauses",
		metric.WithUnit("{pause}"), metric.WithDescription("Pauses for everybody."))
	i.gap, errs[7] = m.Float64ObservableGauge("aimd.gap",
		metric.WithUnit("s"), metric.WithDescription("Shortest time between two sends, 0 for none; below a window of 2 it sets the rate."))
	i.pausedUntil, errs[8] = m.Float64ObservableGauge("aimd.paused_until",
		metric.WithUnit("s"), metric.WithDescription("End of the pause for all, in seconds since 1970; 0 for none."))
	i.quotaLimit, errs[9] = m.Float64ObservableGauge("aimd.quota_limit",
		metric.WithDescription("Quota of the service, as its answers report it."))
	i.quotaLeft, errs[10] = m.Float64ObservableGauge("aimd.quota_left",
		metric.WithDescription("What is left of the quota."))
	i.tooLate, errs[11] = m.Int64ObservableCounter("aimd.too_late",
		metric.WithUnit("{operation}"), metric.WithDescription("Operations that were not sent before their deadline."))
	i.aside, errs[12] = m.Int64ObservableCounter("aimd.aside",
		metric.WithUnit("{operation}"), metric.WithDescription("Operations that failed again and again while others succeeded."))
	i.open, errs[13] = m.Int64ObservableUpDownCounter("aimd.open",
		metric.WithUnit("{answer}"), metric.WithDescription("Answers that stay open outside the window."))
	i.shadowed, errs[14] = m.Int64ObservableCounter("aimd.shadow.attempts",
		metric.WithUnit("{attempt}"), metric.WithDescription("Attempts in shadow."))
	i.held, errs[15] = m.Int64ObservableCounter("aimd.shadow.held",
		metric.WithUnit("{attempt}"), metric.WithDescription("Attempts that would have waited, in shadow."))
	i.heldFor, errs[16] = m.Float64ObservableCounter("aimd.shadow.held_time",
		metric.WithUnit("s"), metric.WithDescription("Sum of the waits of those, as far as they were known."))
	i.refused, errs[17] = m.Int64ObservableCounter("aimd.shadow.refused",
		metric.WithUnit("{attempt}"), metric.WithDescription("Refusals and time-outs in shadow."))
	i.above, errs[18] = m.Int64ObservableCounter("aimd.shadow.above",
		metric.WithUnit("{attempt}"), metric.WithDescription("Refusals and time-outs in shadow of attempts that would have waited."))
	i.quotaLost, errs[19] = m.Float64ObservableGauge("aimd.quota_refused",
		metric.WithUnit("1"), metric.WithDescription("Share of what was spent of the quota that went to refused requests."))
	i.share, errs[20] = m.Float64ObservableGauge("aimd.share",
		metric.WithUnit("{attempt}"), metric.WithDescription("Share of a window that processes have together."))
	i.processes, errs[21] = m.Int64ObservableGauge("aimd.share.processes",
		metric.WithUnit("{process}"), metric.WithDescription("Processes that have the window together."))
	i.leads, errs[22] = m.Int64ObservableGauge("aimd.share.leads",
		metric.WithUnit("1"), metric.WithDescription("1 if this process computes the window of all."))
	i.heard, errs[23] = m.Float64ObservableGauge("aimd.share.heard",
		metric.WithUnit("s"), metric.WithDescription("Time of the last answer of their store, since 1970; 0 for none."))
	if err := errors.Join(errs[:]...); err != nil {
		return i, fmt.Errorf("aimdotel: %w", err)
	}
	return i, nil
}

func (i *instruments) observe(o metric.Observer, s live.Sum) {
	name := nameKey.String(s.Name)
	of := metric.WithAttributes(name)
	if s.Present > 0 {
		o.ObserveFloat64(i.cwnd, s.Cwnd, of)
		o.ObserveFloat64(i.ssthresh, s.Ssthresh, of)
		o.ObserveFloat64(i.gap, s.Gap.Seconds(), of)
		o.ObserveFloat64(i.pausedUntil, max(0, float64(s.PausedUntil.UnixMilli())/1000), of)
		o.ObserveInt64(i.inFlight, int64(s.InFlight), of)
		o.ObserveInt64(i.queued, int64(s.Queued), of)
		o.ObserveInt64(i.open, int64(s.Open), of)
		if s.Share != nil {
			o.ObserveFloat64(i.share, s.Share.Window, of)
			o.ObserveInt64(i.processes, int64(s.Share.Processes), of)
			o.ObserveInt64(i.leads, map[bool]int64{true: 1}[s.Share.Leads], of)
			o.ObserveFloat64(i.heard, max(0, float64(s.Share.Heard.UnixMilli())/1000), of)
		}
		for _, q := range s.Quotas {
			ofQuota := metric.WithAttributes(name, quotaKey.String(q.Name))
			o.ObserveFloat64(i.quotaLimit, q.Limit, ofQuota)
			o.ObserveFloat64(i.quotaLeft, q.Left, ofQuota)
			o.ObserveFloat64(i.quotaLost, q.Refused, ofQuota)
		}
	}
	for outcome, n := range s.Answers() {
		o.ObserveInt64(i.attempts, int64(n), metric.WithAttributes(name, outcomeKey.String(live.Label(outcome))))
	}
	o.ObserveInt64(i.cuts, int64(s.Cuts), of)
	o.ObserveInt64(i.pauses, int64(s.Pauses), of)
	o.ObserveInt64(i.tooLate, int64(s.TooLate), of)
	o.ObserveInt64(i.aside, int64(s.Aside), of)
	if h := s.Shadow; h.Sent > 0 {
		o.ObserveInt64(i.shadowed, int64(h.Sent), of)
		o.ObserveInt64(i.held, int64(h.Held), of)
		o.ObserveInt64(i.refused, int64(h.Refused), of)
		o.ObserveInt64(i.above, int64(h.Above), of)
		o.ObserveFloat64(i.heldFor, h.Wait.Seconds(), of)
	}
}

const scopeName = "github.com/aimd-go/aimd/contrib/aimdotel"

const (
	nameKey    = attribute.Key("aimd.limiter.name")
	quotaKey   = attribute.Key("aimd.quota")
	outcomeKey = attribute.Key("aimd.outcome")
)

// version is the module's in the program, and the instrumentation scope's; "(devel)" or "" if the program
// was built from a work tree.
var version = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return versionIn(info)
})

func versionIn(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == scopeName {
			return m.Version
		}
	}
	return ""
}

// Option is a setting of Register and NewObserver.
type Option func(*config)

type config struct{ provider metric.MeterProvider }

// WithMeterProvider sets the provider of the meter. The default, also for nil, is otel.GetMeterProvider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(c *config) { c.provider = p }
}

// meter is the module's, from the provider of the options.
func meter(opts []Option) metric.Meter {
	var c config
	for _, o := range opts {
		o(&c)
	}
	if c.provider == nil {
		c.provider = otel.GetMeterProvider()
	}
	return c.provider.Meter(scopeName, metric.WithInstrumentationVersion(version()))
}

// buckets follow OpenTelemetry's conventions for durations of requests.
var buckets = metric.WithExplicitBucketBoundaries(
	0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)

type observer struct {
	wait, duration metric.Float64Histogram
	names          live.ByName[attributes]
}

// attributes are made once for each name.
type attributes struct {
	name      []metric.RecordOption
	byOutcome [window.ClientError + 1][]metric.RecordOption
}

// NewObserver returns an observer for aimd.Config.Observer that measures the waits of operations and the times of
// attempts, by the limiter's own name (aimd.Config.Name). One observer is enough for all limiters. It is safe for
// any number of goroutines. The errors are the meter's.
func NewObserver(opts ...Option) (func(aimd.Event), error) {
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

func (o *observer) observe(e aimd.Event) {
	ctx := context.Background() // an event has no context
	switch {
	case e.Kind == event.Admitted:
		o.wait.Record(ctx, e.Wait.Seconds(), o.names.Of(e.Name, newAttributes).name...)
	case e.Outcome.Valid():
		o.duration.Record(ctx, e.RTT.Seconds(), o.names.Of(e.Name, newAttributes).byOutcome[e.Outcome]...)
	}
}

func newAttributes(name string) *attributes {
	options := func(a ...attribute.KeyValue) []metric.RecordOption {
		return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(a...))}
	}
	all := &attributes{name: options(nameKey.String(name))}
	for outcome := window.Success; outcome <= window.ClientError; outcome++ {
		all.byOutcome[outcome] = options(nameKey.String(name), outcomeKey.String(live.Label(outcome)))
	}
	return all
}
