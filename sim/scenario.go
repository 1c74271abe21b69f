package sim

import (
	"cmp"
	"time"
)

// Scenario is a service, its clients, and the strategies to compare. Only Server and Clients are needed; zero
// fields take the documented default. Run changes nothing in a scenario.
//
// The yaml tags are the names of the fields in scenario files and in a [FieldError].
type Scenario struct {
	// Name is a word without spaces, Title half a line, Claim the sentence that the runs should show.
	Name    string  `yaml:"name"`
	Title   string  `yaml:"title"`
	Claim   string  `yaml:"claim"`
	Server  Server  `yaml:"server"`
	Clients Clients `yaml:"clients"`
	// Strategies are compared; an empty list means all of [Strategies].
	Strategies []Strategy `yaml:"strategies"`
	// Seed is the seed of the first run; the next run has Seed + 1.
	Seed uint64 `yaml:"seed"`
	// Runs is how many runs of each strategy a caller is to make; 0 means 21.
	Runs int `yaml:"runs" in:"0 10000"`
	// Horizon ends a run on virtual time; 0 means 1 h, or 5 min without a number of operations.
	Horizon time.Duration `yaml:"horizon" in:"0 720h"`
	// MaxEvents ends a run after n events; 0 means 20 000 000, or, with a number of operations, 1 000 000 and
	// 200 for each operation.
	MaxEvents int `yaml:"max_events" in:"0 2000000000"`
	// Watch is a part of the run that is measured separately.
	Watch Watch `yaml:"watch"`
	// Regain is the share of the capacity, or of the clients' demand if that is less, that counts as regained
	// after the last change or outage; 0 turns the measure off.
	Regain float64 `yaml:"regain" in:"0 1"`
	// Trace is the time between two samples of the traces; 0 means 100 ms. It doubles while a run lasts longer
	// than 4096 intervals.
	Trace time.Duration `yaml:"trace" in:"1ms 1h"`
	// NoTraces leaves the traces out.
	NoTraces bool `yaml:"-"`
	// Optimum is the Result.Optimum of another strategy with the same seed; 0: Run works it out.
	Optimum time.Duration `yaml:"-"`
	// Stop is asked every 4096 events, and ends the run if it returns true; nil never does.
	Stop func() bool `yaml:"-"`
}

// Watch is a part of a run, from From on: the time after a warm-up, or the seconds after a change. A For of 0
// turns the measure off.
type Watch struct {
	From time.Duration `yaml:"from" in:"0 720h" needs:"for"`
	For  time.Duration `yaml:"for" in:"0 720h"`
}

// on reports whether that time is watched.
func (w Watch) on(now time.Duration) bool { return now >= w.From && now-w.From < w.For }

// WithDefaults returns the scenario with the defaults in place of zeros.
func (s Scenario) WithDefaults() Scenario {
	s.Clients = s.Clients.withDefaults()
	s.Server = s.Server.withDefaults()
	n := s.Clients.total()
	s.Runs = cmp.Or(s.Runs, 21) // odd, so that the median is one of the runs
	if n > 0 {
		s.Horizon = cmp.Or(s.Horizon, time.Hour)
		// Plain backoff makes 60 events for each operation at worst.
		s.MaxEvents = cmp.Or(s.MaxEvents, 1_000_000+200*n)
	}
	s.Horizon = cmp.Or(s.Horizon, 5*time.Minute)
	s.MaxEvents = cmp.Or(s.MaxEvents, 20_000_000)
	s.Trace = cmp.Or(s.Trace, 100*time.Millisecond)
	if len(s.Strategies) == 0 {
		s.Strategies = Strategies()
	}
	return s
}
