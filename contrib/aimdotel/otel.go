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
	m := &making{Meter: meter(opts)}
	i := newInstruments(m)
	r, err := m.register(func(o metric.Observer) {
		for _, s := range all.Read() {
			i.observe(o, s)
		}
	})
	if err != nil {
		return nil, err
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

func newInstruments(m *making) instruments {
	return instruments{
		cwnd:        observable(m, m.Float64ObservableGauge, "aimd.cwnd", "{attempt}", "Congestion window."),
		ssthresh:    observable(m, m.Float64ObservableGauge, "aimd.ssthresh", "{attempt}", "Slow-start threshold."),
		gap:         observable(m, m.Float64ObservableGauge, "aimd.gap", "s", "Shortest time between two sends, 0 for none; below a window of 2 it sets the rate."),
		pausedUntil: observable(m, m.Float64ObservableGauge, "aimd.paused_until", "s", "End of the pause for all, in seconds since 1970; 0 for none."),
		inFlight:    observable(m, m.Int64ObservableUpDownCounter, "aimd.in_flight", "{attempt}", "Attempts sent and not answered."),
		queued:      observable(m, m.Int64ObservableUpDownCounter, "aimd.queued", "{operation}", "Operations that wait for a slot."),
		open:        observable(m, m.Int64ObservableUpDownCounter, "aimd.open", "{answer}", "Answers that stay open outside the window."),
		attempts:    observable(m, m.Int64ObservableCounter, "aimd.attempts", "{attempt}", "Attempts that were answered, by outcome."),
		cuts:        observable(m, m.Int64ObservableCounter, "aimd.cuts", "{cut}", "Bursts of overloads that narrowed the window."),
		pauses:      observable(m, m.Int64ObservableCounter, "aimd.pauses", "{pause}", "Pauses for everybody."),
		tooLate:     observable(m, m.Int64ObservableCounter, "aimd.too_late", "{operation}", "Operations that were not sent before their deadline."),
		aside:       observable(m, m.Int64ObservableCounter, "aimd.aside", "{operation}", "Operations that failed again and again while others succeeded."),
		quotaLimit:  observable(m, m.Float64ObservableGauge, "aimd.quota_limit", "", "Quota of the service, as its answers report it."),
		quotaLeft:   observable(m, m.Float64ObservableGauge, "aimd.quota_left", "", "What is left of the quota."),
		quotaLost:   observable(m, m.Float64ObservableGauge, "aimd.quota_refused", "1", "Share of what was spent of the quota that went to refused requests."),
		shadowed:    observable(m, m.Int64ObservableCounter, "aimd.shadow.attempts", "{attempt}", "Attempts in shadow."),
		held:        observable(m, m.Int64ObservableCounter, "aimd.shadow.held", "{attempt}", "Attempts that would have waited, in shadow."),
		heldFor:     observable(m, m.Float64ObservableCounter, "aimd.shadow.held_time", "s", "Sum of the waits of those, as far as they were known."),
		refused:     observable(m, m.Int64ObservableCounter, "aimd.shadow.refused", "{attempt}", "Refusals and time-outs in shadow."),
		above:       observable(m, m.Int64ObservableCounter, "aimd.shadow.above", "{attempt}", "Refusals and time-outs in shadow of attempts that would have waited."),
		share:       observable(m, m.Float64ObservableGauge, "aimd.share", "{attempt}", "Share of a window that processes have together."),
		processes:   observable(m, m.Int64ObservableGauge, "aimd.share.processes", "{process}", "Processes that have the window together."),
		leads:       observable(m, m.Int64ObservableGauge, "aimd.share.leads", "1", "1 if this process computes the window of all."),
		heard:       observable(m, m.Float64ObservableGauge, "aimd.share.heard", "s", "Time of the last answer of their store, since 1970; 0 for none."),
	}
}

type making struct {
	metric.Meter
	all []metric.Observable
	err error
}

func observable[T metric.Observable, O any](m *making, makes func(string, ...O) (T, error), name, unit, about string) T {
	i, err := makes(name, any(metric.WithUnit(unit)).(O), any(metric.WithDescription(about)).(O))
	m.all, m.err = append(m.all, i), errors.Join(m.err, err)
	return i
}

func (m *making) register(observe func(metric.Observer)) (r metric.Registration, err error) {
	if err = m.err; err == nil {
		r, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error { observe(o); return nil }, m.all...)
	}
	if err != nil {
		return nil, fmt.Errorf("aimdotel: %w", err)
	}
	return r, nil
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
