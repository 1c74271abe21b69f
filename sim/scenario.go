package sim

import (
	"errors"
	"time"
)

// Bounds of a scenario, so that every run ends and fits into memory. Our choice.
const (
	maxOperations = 10_000_000
	maxClients    = 100_000 // with a throttle each, some 800 MB
	maxHorizon    = 30 * 24 * time.Hour
	maxDuration   = 100 * 365 * 24 * time.Hour // of a single time
	maxRate       = 1e7                        // a second
	maxSlots      = 10_000_000                 // or workers, or places
)

// Defaults of a scenario.
const (
	defaultHorizon     = time.Hour
	defaultOpenHorizon = 5 * time.Minute // without a number of operations
	// defaultMaxEvents ends a run: some seconds of a machine's time. With a
	// number of operations it is defaultFiniteEvents and defaultEventsEach more for
	// each of them: plain backoff has 60 at worst, and what needs 200 does not end.
	defaultMaxEvents    = 20_000_000
	defaultFiniteEvents = 1_000_000
	defaultEventsEach   = 200
	// defaultRuns is odd, so that the median is one of the runs.
	defaultRuns          = 21
	defaultTraceInterval = 100 * time.Millisecond
)

// Scenario is a service, its clients, and the strategies to compare. It needs
// no more than Server and Clients; zero fields take the documented default. It
// is a plain value; Run changes nothing in it.
//
// The names in the yaml tags are those that a scenario file uses, and those in
// a [FieldError].
type Scenario struct {
	// Name is a word without spaces: "my-service".
	Name string `yaml:"name"`
	// Title says in half a line what it is about.
	Title string `yaml:"title"`
	// Claim is what the run should show: for ours, the text's own sentence.
	Claim string `yaml:"claim"`
	// Server is the service.
	Server Server `yaml:"server"`
	// Clients are what asks it, and for how much.
	Clients Clients `yaml:"clients"`
	// Strategies are what is compared; none: all of [Strategies].
	Strategies []Strategy `yaml:"strategies"`
	// Seed is that of the first run; the next has Seed + 1, and so on.
	Seed uint64 `yaml:"seed"`
	// Runs is how many runs there are for each strategy, 1 to 10000; 0 means
	// 21. For the caller: one call of Run is one of them.
	Runs int `yaml:"runs"`
	// Horizon ends a run on virtual time, up to 30 days; 0 means
	// 1 h, or 5 min without a number of operations.
	Horizon time.Duration `yaml:"horizon"`
	// MaxEvents ends a run after so many events, up to 2000000000; 0 means
	// 20 000 000, or as many as are enough for the operations.
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
	// 100 ms. It doubles while a run lasts longer than 4096 of it, so that traces stay
	// small.
	Interval time.Duration `yaml:"interval"`
	// Off leaves the traces out.
	Off bool `yaml:"-"`
}

// Validate returns nil, or an error that joins a [FieldError] for each field that is
// wrong.
func (s Scenario) Validate() error {
	var errs []error
	s.check(checker{errs: &errs})
	for i, st := range s.Strategies {
		st.check(checker{errs: &errs}.item("strategies", i))
		for j := range i {
			if s.Strategies[j].Name == st.Name {
				errs = append(errs, &FieldError{checker{}.item("strategies", i).join("name"), "there are two that are called " + st.Name})
			}
		}
	}
	return errors.Join(errs...)
}

// check is Validate without the strategies.
func (s Scenario) check(c checker) {
	s.Server.check(c.in("server"))
	s.Clients.check(c.in("clients"))
	for i, o := range s.Server.Outages {
		if o.Kind == lostWord && s.Clients.Timeout == 0 {
			c.in("server").item("outages", i).fail("kind", "lost is not allowed without clients.timeout: an answer that is lost is waited for until then")
		}
	}
	if s.Server.Failures.Lost && s.Clients.Timeout == 0 {
		c.in("server").in("failures").fail("lost", "true is not allowed without clients.timeout: clients wait for a lost answer until then")
	}
	c.count("runs", s.Runs, 0, 10_000)
	c.duration("horizon", s.Horizon, 0, maxHorizon)
	c.count("max_events", s.MaxEvents, 0, 2_000_000_000)
	c.duration("warmup", s.Warmup, 0, max(0, s.WithDefaults().Horizon-1))
	w := c.in("watch")
	w.duration("from", s.Watch.From, 0, maxHorizon)
	w.duration("for", s.Watch.For, 0, maxHorizon)
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
		s.Runs = defaultRuns
	}
	if s.Horizon == 0 {
		s.Horizon = defaultHorizon
		if s.Clients.Operations == 0 {
			s.Horizon = defaultOpenHorizon
		}
	}
	if s.MaxEvents == 0 {
		s.MaxEvents = defaultMaxEvents
		if n := s.Clients.total(); n > 0 {
			s.MaxEvents = defaultFiniteEvents + defaultEventsEach*n
		}
	}
	if s.Trace.Interval == 0 {
		s.Trace.Interval = defaultTraceInterval
	}
	if len(s.Strategies) == 0 {
		s.Strategies = Strategies()
	}
	return s
}
