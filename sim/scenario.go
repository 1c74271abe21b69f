package sim

import "time"

// Bounds of a scenario, so that every run ends and fits into memory. Our choice.
const (
	// MaxOperations is the most operations in one run.
	MaxOperations = 10_000_000
	// MaxClients is the most clients: with a throttle each, some 800 MB.
	MaxClients = 100_000
	// MaxHorizon is the longest virtual time.
	MaxHorizon = 30 * 24 * time.Hour
	// MaxDuration is the longest single duration.
	MaxDuration = 100 * 365 * 24 * time.Hour
	// MaxRate is the highest rate, a second.
	MaxRate = 1e7
	// MaxSlots is the largest number of slots, workers or places.
	MaxSlots = 10_000_000
)

// Defaults of a scenario.
const (
	// DefaultHorizon ends a run with a number of operations that does not end
	// by itself.
	DefaultHorizon = time.Hour
	// DefaultOpenHorizon ends a run without a number of operations.
	DefaultOpenHorizon = 5 * time.Minute
	// DefaultMaxEvents ends a run: some seconds of a machine's time. With a
	// number of operations it is DefaultFiniteEvents and DefaultEventsEach more for
	// each of them: plain backoff has 60, at the worst, and what needs more than
	// that does not end.
	DefaultMaxEvents    = 20_000_000
	DefaultFiniteEvents = 1_000_000
	DefaultEventsEach   = 200
	// DefaultRuns is how often a scenario is run, each with a seed of its own:
	// 21, so that the median is one of the runs.
	DefaultRuns = 21
	// DefaultTraceInterval is the interval of the traces.
	DefaultTraceInterval = 100 * time.Millisecond
)

// Scenario is a service, its clients, and the strategies to compare. It needs
// no more than Server and Clients; zero fields take the documented default. It
// is a plain value; Run changes nothing in it.
//
// The names in the yaml tags are those that a scenario file uses, and those in
// a [FieldError].
type Scenario struct {
	// Name is a word without spaces: "seed4-operations".
	Name string `yaml:"name"`
	// Title says in half a line what it is about.
	Title string `yaml:"title"`
	// Claim is what the run should show: for ours, the seed's own sentence.
	Claim string `yaml:"claim"`
	// Server is the service.
	Server Server `yaml:"server"`
	// Clients are who asks it, and for how much.
	Clients Clients `yaml:"clients"`
	// Strategies are what is compared; none: all of [Strategies].
	Strategies []Strategy `yaml:"strategies"`
	// Seed is that of the first run; the next has Seed + 1, and so on.
	Seed uint64 `yaml:"seed"`
	// Runs is how many runs there are for each strategy, 1 to 10000; 0 means
	// DefaultRuns. For who runs the scenario; one Run is one of them.
	Runs int `yaml:"runs"`
	// Horizon ends a run on virtual time, up to MaxHorizon; 0 means
	// DefaultHorizon, or DefaultOpenHorizon without a number of operations.
	Horizon time.Duration `yaml:"horizon"`
	// MaxEvents ends a run after so many events, up to 2000000000; 0 means
	// DefaultMaxEvents, or as many as are enough for the operations.
	MaxEvents int `yaml:"max_events"`
	// Warmup is what MeanRate and PeakRate leave out at the start; shorter than
	// the Horizon.
	Warmup time.Duration `yaml:"warmup"`
	// Watch is a part of the run that is measured by itself; the zero value: none.
	Watch Watch `yaml:"watch"`
	// Regain is the share of the capacity, or of what the clients ask for if that
	// is less, that counts as regained after the last change of capacity or the last
	// outage, 0 to 1; 0: it is not measured.
	Regain float64 `yaml:"regain"`
	// Trace says how finely the traces are taken.
	Trace Trace `yaml:"trace"`
	// Stop is asked now and then, and ends a run by true; nil: never.
	Stop func() bool `yaml:"-"`
}

// Trace says how finely the traces are taken.
type Trace struct {
	// Interval is the time from one sample to the next, 1 ms to 1 h; 0 means
	// DefaultTraceInterval. It doubles while a run lasts longer than
	// MaxSamples of it, so that traces stay small.
	Interval time.Duration `yaml:"interval"`
	// Off leaves the traces out.
	Off bool `yaml:"-"`
}

// MaxSamples is the most samples of a trace.
const MaxSamples = 4096

// Validate returns nil, or a FieldErrors with all that is wrong.
func (s Scenario) Validate() error {
	var errs FieldErrors
	s.check(checker{errs: &errs})
	for i, st := range s.Strategies {
		st.check(checker{errs: &errs}.item("strategies", i))
		for j := range i {
			if s.Strategies[j].Name == st.Name {
				errs = append(errs, &FieldError{checker{}.item("strategies", i).join("name"), "there are two that are called " + st.Name})
			}
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// check is Validate without the strategies.
func (s Scenario) check(c checker) {
	s.Server.check(c.in("server"))
	s.Clients.check(c.in("clients"))
	for i, o := range s.Server.Outages {
		if o.Kind == Lost && s.Clients.Timeout == 0 {
			c.in("server").item("outages", i).fail("kind", "lost is not allowed without clients.timeout: an answer that is lost is waited for until then")
		}
	}
	c.count("runs", s.Runs, 0, 10_000)
	c.duration("horizon", s.Horizon, 0, MaxHorizon)
	c.count("max_events", s.MaxEvents, 0, 2_000_000_000)
	c.duration("warmup", s.Warmup, 0, max(0, s.WithDefaults().Horizon-1))
	w := c.in("watch")
	w.duration("from", s.Watch.From, 0, MaxHorizon)
	w.duration("for", s.Watch.For, 0, MaxHorizon)
	if s.Watch.For == 0 && s.Watch.From >= 0 {
		w.unused("for", "from", s.Watch.From)
	}
	c.number("regain", s.Regain, 0, 1)
	if s.Trace.Interval != 0 {
		c.in("trace").duration("interval", s.Trace.Interval, time.Millisecond, time.Hour)
	}
}

// WithDefaults returns the scenario with defaults in the place of zeros: what
// a run goes by.
func (s Scenario) WithDefaults() Scenario {
	s.Clients = s.Clients.withDefaults()
	s.Server = s.Server.withDefaults()
	if s.Runs == 0 {
		s.Runs = DefaultRuns
	}
	if s.Horizon == 0 {
		s.Horizon = DefaultHorizon
		if s.Clients.Operations == 0 {
			s.Horizon = DefaultOpenHorizon
		}
	}
	if s.MaxEvents == 0 {
		s.MaxEvents = DefaultMaxEvents
		if n := s.Clients.total(); n > 0 {
			s.MaxEvents = DefaultFiniteEvents + DefaultEventsEach*n
		}
	}
	if s.Trace.Interval == 0 {
		s.Trace.Interval = DefaultTraceInterval
	}
	if len(s.Strategies) == 0 {
		s.Strategies = Strategies()
	}
	return s
}
